// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random kernels on the tested target: on a CPU at each level that this machine has, and at each
// optimisation in turn. HALYARD_KERNEL_SEEDS=A..B (or A) replaces the seeds; HALYARD_KERNEL_MATRIX
// set to `all` has each kernel compiled at every optimisation.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel_test_util.h"
#include "kernel/random_kernel.h"
#include "kernel/random_kernel_shrink.h"

namespace halyard::testing::random_kernel {
namespace {

#ifdef HALYARD_TEST_SHADERS
constexpr bool kHasWide = false;
#else
constexpr bool kHasWide = true;
#endif

// The number of kernels in a file: for a single kernel a compiler would spend most of its time on
// the header.
constexpr std::size_t kBatch = 16;
// The fixed seeds, and additional seeds that change every day.
constexpr std::uint64_t kFixed = 16, kDaily = 32;

std::string text_of(const std::vector<Kernel>& kernels) {
  std::string text = kPrelude;
  if (kHasWide) text += kWidePrelude;
  for (const Kernel& kernel : kernels) text += "\n" + print(kernel);
  return text;
}

struct Build {
  std::vector<std::string> targets;
  int optimization;
};

Result<std::vector<std::byte>> compile(const std::vector<Kernel>& kernels, const Build& build) {
  const TextFile file(text_of(kernels));
  return compiler::compile({.source = file.path(),
                            .targets = build.targets,
                            .optimization = build.optimization});
}

bool is_cpu(std::string_view target) {
  return std::ranges::find(kernel::cpu_targets(), target) != kernel::cpu_targets().end();
}

std::unique_ptr<HostKernels> load(std::span<const std::byte> bytes, std::string_view target) {
  kernel::Hyx hyx = kernel::Hyx::parse(bytes, "random kernels").value();
  if (is_cpu(target)) return std::make_unique<CpuKernels>(std::move(hyx), target);
  return load_kernels(std::move(hyx));
}

// The first difference from the model; empty if there is none.
std::string difference(const Kernel& kernel, const HostKernels& kernels) {
  std::vector<Buffer> got = buffers_of(kernel);
  std::vector<Buffer> want = got;
  evaluate(kernel, want);
  std::vector<HostMemory> memory;
  for (Buffer& buffer : got) memory.emplace_back(buffer.bytes);
  const Scalars& s = kernel.scalars;
  struct {
    double g;
    std::uint32_t one, n;
    std::int32_t m;
    float f;
  } const constants{s.d, s.one, s.n, s.m, s.s};
  kernels.run(fmt::format("k{}", kernel.seed), {kernel.groups, 1, 1}, memory,
              kernel.wide ? static_cast<const void*>(&constants) : &constants.one, 1);
  return compare(kernel, got, want);
}

std::vector<Build> builds(std::uint64_t batch) {
  const char* const matrix = std::getenv("HALYARD_KERNEL_MATRIX");
  const bool all = matrix != nullptr && std::string_view(matrix) == "all";
  std::vector<std::string> targets = {tested_target()};
  if (is_cpu(tested_target())) {
    targets.assign(kernel::cpu_targets().begin(), kernel::cpu_targets().end());
  }
  if (!kHasWide) return {{targets, 3}};  // no optimisation by clang
  if (all) return {{targets, 0}, {targets, 1}, {targets, 2}, {targets, 3}};
  // Optimised for every level. The other optimisations are tested for a single level in turn.
  const std::uint64_t turn = batch % (3 * targets.size());
  return {{targets, 3}, {{targets[turn / 3]}, static_cast<int>(turn % 3)}};
}

// Reports the smallest kernel found that still differs.
void report(const Kernel& kernel, const std::string& target, int optimization,
            const std::string& first) {
  std::string last = first;
  const Kernel small = shrink(kernel, [&](const Kernel& candidate) {
    const auto bytes = compile({candidate}, {{target}, optimization});
    if (!bytes.ok()) return false;
    const std::string found = difference(candidate, *load(*bytes, target));
    if (!found.empty()) last = found;
    return !found.empty();
  });
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  ADD_FAILURE() << "seed " << kernel.seed << " for " << target << " -O" << optimization << ": "
                << first << "\nagain: HALYARD_KERNEL_SEEDS=" << kernel.seed
                << " HALYARD_KERNEL_MATRIX=all " << ::testing::internal::GetArgvs()[0]
                << " --gtest_filter=" << test.test_suite_name() << "." << test.name()
                << "\nmade smaller, where " << last << ":\n"
                << text_of({small});
}

void run_batch(const std::vector<Kernel>& kernels, std::uint64_t number) {
  std::set<std::uint64_t> reported;
  for (const Build& build : builds(number)) {
    const auto bytes = compile(kernels, build);
    if (!bytes.ok()) {
      if (kernels.size() == 1) {
        ADD_FAILURE() << "seed " << kernels[0].seed << " does not compile: "
                      << bytes.status().message() << "\n"
                      << text_of(kernels);
        return;
      }
      for (const Kernel& kernel : kernels) run_batch({kernel}, number);
      return;
    }
    for (const std::string& target : build.targets) {
      const auto loaded = load(*bytes, target);
      for (const Kernel& kernel : kernels) {
        if (reported.contains(kernel.seed)) continue;
        const std::string found = difference(kernel, *loaded);
        if (found.empty()) continue;
        reported.insert(kernel.seed);
        report(kernel, target, build.optimization, found);
      }
    }
  }
}

std::vector<std::uint64_t> seeds() {
  std::vector<std::uint64_t> all;
  const auto append = [&](std::uint64_t first, std::uint64_t last) {
    for (; first <= last; ++first) all.push_back(first);
  };
  if (const char* const text = std::getenv("HALYARD_KERNEL_SEEDS"); text != nullptr) {
    const std::string_view range = text;
    const char* const end = text + range.size();
    std::uint64_t first = 1, last = 1;
    std::from_chars(text, end, first);
    const auto dots = range.find("..");
    last = first;
    if (dots != range.npos) std::from_chars(text + dots + 2, end, last);
    append(first, last);
    return all;
  }
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const auto first = static_cast<std::uint64_t>(today.time_since_epoch().count()) * 1'000;
  append(1, kFixed);
  append(first, first + kDaily - 1);
  fmt::print("seeds 1..{} and, of today, {}..{}\n", kFixed, first, first + kDaily - 1);
  return all;
}

TEST(RandomKernels, OnTheTarget_EqualTheModel) {
  std::vector<Kernel> batch;
  std::uint64_t number = 0, count = 0;
  const auto flush = [&] {
    if (batch.empty()) return;
    // Printed first, so that the seeds are known if the process dies.
    fmt::print("seeds {}..{}\n", batch.front().seed, batch.back().seed);
    std::fflush(stdout);
    count += batch.size();
    run_batch(batch, number++);
    batch.clear();
  };
  for (const std::uint64_t seed : seeds()) {
    Kernel kernel = draw(seed);
    if (kernel.wide && !kHasWide) continue;
    batch.push_back(std::move(kernel));
    if (batch.size() == kBatch) flush();
  }
  flush();
  fmt::print("{} random kernels\n", count);
}

}  // namespace
}  // namespace halyard::testing::random_kernel
