// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exhaustive.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "sim/explore_scenarios.h"
#include "sim/explorer.h"
#include "sim/operations.h"

namespace halyard::inline v0::sim {
namespace {

// What a child tells its parent; shared memory.
struct Told {
  Explorer::Result result;
  OperationResult operations;
  Schedule schedule;
};

struct Operations {
  const char* name;
  std::vector<OperationProgram> (*programs)();
  OperationOptions options;
};

std::vector<OperationProgram> small() {
  std::vector<OperationProgram> all;
  for (const int count : {1, 2, 3}) {
    for (OperationProgram& program : all_programs(count)) all.push_back(std::move(program));
  }
  return all;
}
std::vector<OperationProgram> three_by_four() { return drawn_programs(1, 2, 3, 4); }
std::vector<OperationProgram> one_of_them() { return drawn_programs(1, 1, 3, 4); }
std::vector<OperationProgram> three_by_two() { return drawn_programs(2, 40, 3, 2); }

constexpr Operations kOperations[] = {
    {"operations_up_to_3", &small, {}},
    {"operations_up_to_3_reached", &small, {.native_edges = false}},
    {"operations_up_to_3_and_faults", &small, {.looks = false, .faults = true}},
    {"operations_3x2_and_faults", &three_by_two, {.looks = false, .faults = true}},
    {"operations_3x4", &three_by_four, {.looks = false}},
    {"operations_3x4_reached", &one_of_them, {.native_edges = false, .looks = false}},
};

// True if it ended well.
template <class F>
bool in_child(F&& body) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) {
    std::perror("halyard-sim: fork");
    std::exit(2);
  }
  if (child == 0) {
    body();
    std::fflush(stdout);
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) fmt::print(stderr, "  ended by signal {}\n", WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool replay(const Scenario& scenario, const Schedule& schedule, void (*after_run)()) {
  fmt::print("{}, schedule {}:\n", scenario.name, schedule.text());
  return in_child(
      [&] { (void)Explorer(scenario.build, {.after_run = after_run, .replay = &schedule}).run(); });
}

std::string reach(const Scenario& scenario) {
  if (scenario.preemptions == kUnbounded) return "full";
  return fmt::format("bounded: {} preemptions", scenario.preemptions);
}

}  // namespace

int run_exhaustive(const ExhaustiveOptions& options) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  void* const memory =
      ::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("halyard-sim: mmap");
    return 2;
  }
  Told& told = *static_cast<Told*>(memory);
  if (!told.schedule.parse(options.schedule)) {
    fmt::print(stderr, "halyard-sim: --schedule {}: not a schedule\n", options.schedule);
    return 2;
  }
  const auto begin = Clock::now();
  std::size_t count = 0, failed = 0;
  Explorer::Result sum;
  const auto chosen = [&](std::string_view name) {
    return name.find(options.filter) != std::string_view::npos;
  };
  for (const Scenario& scenario : scenarios()) {
    if (!chosen(scenario.name)) continue;
    ++count;
    if (!options.schedule.empty()) {
      failed += replay(scenario, told.schedule, options.after_run) ? 0 : 1;
      continue;
    }
    told = {};
    const auto from = Clock::now();
    const bool well = in_child([&] {
      told.result = Explorer(scenario.build, {.preemptions = scenario.preemptions,
                                              .after_run = options.after_run,
                                              .record = &told.schedule})
                        .run();
    });
    if (!well) {
      ++failed;
      fmt::print("{}: FAILED\n", scenario.name);
      const Schedule schedule = told.schedule;
      (void)replay(scenario, schedule, options.after_run);
      fmt::print("replay it: halyard-sim --exhaustive --filter {} --schedule {}\n", scenario.name,
                 schedule.text());
      continue;
    }
    const Explorer::Result& result = told.result;
    sum.executions += result.executions;
    sum.states += result.states;
    fmt::print("{:<36} {:>9} executions {:>9} states  {:<24} {:>6.2f} s\n", scenario.name,
               result.executions, result.states, reach(scenario),
               Seconds(Clock::now() - from).count());
    std::fflush(stdout);
  }
  for (const Operations& operations : kOperations) {
    if (!options.schedule.empty() || !chosen(operations.name)) continue;
    ++count;
    told = {};
    const auto from = Clock::now();
    const bool well = in_child([&] {
      for (const OperationProgram& program : operations.programs()) {
        explore_operations(program, operations.options, told.operations);
        if (options.after_run != nullptr) options.after_run();
      }
    });
    failed += well ? 0 : 1;
    const OperationResult& result = told.operations;
    sum.executions += result.executions;
    sum.states += result.states;
    if (!well) fmt::print("{}: FAILED in program {}\n", operations.name, result.programs);
    fmt::print("{:<36} {:>9} executions {:>9} states  {:<24} {:>6.2f} s\n", operations.name,
               result.executions, result.states, fmt::format("full: {} programs", result.programs),
               Seconds(Clock::now() - from).count());
    std::fflush(stdout);
  }
  fmt::print("halyard-sim: {} scenarios, {} executions, {} states, {} failed, {:.1f} s\n", count,
             sum.executions, sum.states, failed, Seconds(Clock::now() - begin).count());
  return count != 0 && failed == 0 ? 0 : 1;
}

}  // namespace halyard::inline v0::sim
