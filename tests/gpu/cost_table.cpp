// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu/cost_table.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>

#include "base/format.h"

namespace halyard::testing::cuda {

void CostTable::group(std::string_view name) {
  fmt::print("\n### {}\n\n| what | median | p99 | unit |\n|---|---|---|---|\n", name);
}

void CostTable::line(std::string_view what, std::string_view unit,
                     const std::function<std::vector<double>()>& measure) {
  try {
    std::vector<double> samples = measure();
    if (samples.empty()) throw std::runtime_error("no sample");
    std::ranges::sort(samples);
    const auto at = [&](double part) {
      return samples[static_cast<std::size_t>(part * static_cast<double>(samples.size() - 1))];
    };
    fmt::print("| {} | {:.4g} | {:.4g} | {} |\n", what, at(0.5), at(0.99), unit);
  } catch (const std::exception& exception) {
    fmt::print("| {} | - | - | {} |\n", what, exception.what());
  }
  std::fflush(stdout);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<double> time_each(std::size_t count, std::size_t burst,
                              const std::function<void()>& call,
                              const std::function<void()>& between) {
  std::vector<double> samples;
  samples.reserve(count);
  // The first burst warms up.
  for (std::size_t done = 0; done < count + burst; done += burst) {
    for (std::size_t i = 0; i < burst; ++i) {
      const double start = now();
      call();
      if (done != 0) samples.push_back((now() - start) * 1e6);
    }
    between();
  }
  return samples;
}

}  // namespace halyard::testing::cuda
