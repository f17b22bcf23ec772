// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "machine.h"
#include "report.h"
#include "world.h"
#if defined(HALYARD_BENCH_VULKAN)
#include "vulkan_raw.h"
#endif

namespace halyard::bench {
namespace {

constexpr int kRepetitions = 30;
constexpr int kQuickRepetitions = 10;

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto& part : {submit_rows(), round_trip_rows(), chain_rows(), dag_rows(),
                           parked_rows(), timeline_rows(), bandwidth_rows(), async_rows(),
                           replay_rows(), allocation_rows(), cold_rows(), matmul_rows()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
#if defined(HALYARD_BENCH_CUDA)
  for (const Row& row : cuda_rows()) rows.push_back(row);
  for (const Row& row : gpu_rows()) rows.push_back(row);
#endif
#if defined(HALYARD_BENCH_HIP)
  for (const Row& row : hip_rows()) rows.push_back(row);
#endif
#if defined(HALYARD_BENCH_VULKAN)
  for (const Row& row : vulkan_rows()) rows.push_back(row);
#endif
  return rows;
}

struct Options {
  std::vector<std::string> filters;
  int repetitions = 0;
  bool quick = false;
  bool list = false;
  std::string json;
};

// The device of the rows V1 to V8, if any of them is to run.
void add_vulkan([[maybe_unused]] const std::vector<Row>& rows, Machine& machine) {
#if defined(HALYARD_BENCH_VULKAN)
  const auto is_vulkan = [](const Row& row) { return row.id.starts_with('V'); };
  if (!std::any_of(rows.begin(), rows.end(), is_vulkan)) return;
  machine.facts.emplace_back("Vulkan", describe_vulkan());
#else
  machine.facts.emplace_back("Vulkan", "not in this build: there are no rows V1 to V8");
#endif
}

int run(const Options& options) {
  std::vector<Row> rows = all_rows();
  std::erase_if(rows, [&](const Row& row) {
    return !options.filters.empty() &&
           std::none_of(options.filters.begin(), options.filters.end(), [&](const auto& filter) {
             return row.id.find(filter) != std::string_view::npos;
           });
  });
  if (rows.empty()) throw std::runtime_error("no row has such a name (see --list)");
  if (options.list) {
    for (const Row& row : rows) fmt::print("{:<22} {}\n", row.id, row.measures);
    return 0;
  }

  // Without threads of its own lavapipe runs kernels in the thread that submits them, which is the
  // fastest for small ones. Other drivers do not read it.
  (void)setenv("LP_NUM_THREADS", "0", /*overwrite=*/0);
  World world(options.quick);
  Machine machine = describe_machine();
  machine.facts.emplace_back("peers", world.peers_text());
  add_vulkan(rows, machine);
  machine.facts.emplace_back("two-thread scaling", fmt::format("{:.2f}", two_thread_scaling()));
  const int default_repetitions = options.quick ? kQuickRepetitions : kRepetitions;
  const int repetitions = options.repetitions != 0 ? options.repetitions : default_repetitions;
  machine.facts.emplace_back("repetitions", fmt::format("{}", repetitions));
  for (const auto& [name, value] : machine.facts) fmt::print("{}: {}\n", name, value);
  fmt::print("\n{}", table_head());

  std::vector<RowResult> results;
  for (const Row& row : rows) {
    results.push_back(measure(row, world, repetitions));
    fmt::print("{}", table_line(results.back()));
    std::fflush(stdout);
  }
  machine.facts.emplace_back("two-thread scaling at the end",
                             fmt::format("{:.2f}", two_thread_scaling()));
  fmt::print("\n{}: {}\n", machine.facts.back().first, machine.facts.back().second);
  for (const RowResult& result : results) fmt::print("\n{}", details(result));
  if (!options.json.empty()) write_json(options.json, machine, results);
  return std::any_of(results.begin(), results.end(), [](const auto& row) { return row.failed; });
}

}  // namespace
}  // namespace halyard::bench

int main(int argc, char** argv) {
  CLI::App app(
      "Measures Halyard beside the limit of the machine and its peers. Without options: "
      "every row, in about a minute.",
      "halyard-bench");
  halyard::bench::Options options;
  app.add_option("--filter", options.filters, "Only rows whose name contains this; repeatable");
  app.add_option("--repetitions", options.repetitions, "Turns of each arm (default 30)")
      ->check(CLI::Range(1, 10'000));
  app.add_flag("--quick", options.quick, "10 shorter turns: in seconds, and less certain");
  app.add_flag("--list", options.list, "Names the rows and what they measure");
  app.add_option("--json", options.json, "Writes everything, with the raw samples, to this file");
  try {
    app.parse(argc, argv);
    return halyard::bench::run(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "halyard-bench: {}\n", error.what());
    return 1;
  }
}
