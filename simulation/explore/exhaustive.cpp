// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/explore/exhaustive.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "simulation/explore/explore_scenarios.h"
#include "simulation/explore/explorer.h"
#include "simulation/operations/operations.h"

namespace halyard::inline v0::sim {
namespace {

// The report of a child process to its parent, in shared memory.
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

std::vector<OperationProgram> all_up_to(int most, bool both) {
  std::vector<OperationProgram> all;
  for (int count = 1; count <= most; ++count) {
    for (OperationProgram& program : all_programs(count, both)) all.push_back(std::move(program));
  }
  return all;
}
std::vector<OperationProgram> up_to_3() { return all_up_to(3, false); }
std::vector<OperationProgram> up_to_2_of_both() { return all_up_to(2, true); }
std::vector<OperationProgram> up_to_3_of_both() { return all_up_to(3, true); }
template <int queues, int length, int count>
std::vector<OperationProgram> drawn() {
  return drawn_programs(1, count, queues, length);
}
std::vector<OperationProgram> deep_up_to_2() { return deep(all_up_to(2, true)); }
std::vector<OperationProgram> deep_up_to_3() { return deep(all_up_to(3, false)); }
template <int queues, int length, int count>
std::vector<OperationProgram> deep_drawn() {
  return deep(drawn_programs(1, count, queues, length));
}
// The first program of each of these seeds.
template <int queues, int length, std::uint64_t... seeds>
std::vector<OperationProgram> first_of() {
  std::vector<OperationProgram> all;
  (all.push_back(drawn_programs(seeds, 1, queues, length)[0]), ...);
  return all;
}

constexpr OperationOptions kFaults{.looks = false, .faults = true};
constexpr OperationOptions kReached{.native_edges = false};
constexpr OperationOptions kNoLooks{.looks = false};
constexpr OperationOptions kParts{.looks = false, .max_in_flight = 2};
constexpr OperationOptions kPartsAndFaults{.looks = false, .faults = true, .max_in_flight = 2};
constexpr OperationOptions kReachedNoLooks{.native_edges = false, .looks = false};

// Programs of equal size differ a thousandfold in the number of states. Listed seeds are those of
// the first 40 that have all kinds of waits and take at most a few seconds.
constexpr Operations kOperations[] = {
    {"operations_up_to_3", &up_to_3_of_both, {}},
    {"operations_up_to_3_reached", &up_to_3_of_both, kReached},
    {"operations_up_to_3_and_faults", &up_to_3, kFaults},
    {"operations_up_to_2_and_faults", &up_to_2_of_both, kFaults},
    {"operations_1x4_and_faults", &drawn<1, 4, 500>, kFaults},
    {"operations_2x3_and_faults", &drawn<2, 3, 50>, kFaults},
    {"operations_3x2_and_faults", &drawn<3, 2, 80>, kFaults},
    {"operations_2x4_and_faults", &drawn<2, 4, 10>, kFaults},
    {"operations_3x3_and_faults", &first_of<3, 3, 3, 9, 11>, kFaults},
    {"operations_up_to_3_in_parts", &deep_up_to_3, kParts},
    {"operations_up_to_2_in_parts_and_faults", &deep_up_to_2, kPartsAndFaults},
    {"operations_2x2_in_parts_and_faults", &deep_drawn<2, 2, 20>, kPartsAndFaults},
    {"operations_3x4", &first_of<3, 4, 14, 18, 21, 25, 26, 29>, kNoLooks},
    {"operations_3x4_reached", &first_of<3, 4, 14, 18, 25, 29>, kReachedNoLooks},
    {"operations_3x4_and_faults", &first_of<3, 4, 3, 37>, kFaults},
};

// Returns true if it succeeded.
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
