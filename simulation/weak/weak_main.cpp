// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// halyard-relacy: the races of simulation/explore/explore_scenarios.cpp and
// simulation/weak/weak_scenarios.cpp on a weak memory; and the same with deliberately relaxed
// orders, which a program must detect.
#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/explore/explore_scenarios.h"
#include "simulation/weak/weak_memory.h"

namespace {

namespace sim = halyard::sim;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "timeline/semaphore.cpp" of a path.
std::string_view file_of(const sim::OrderedSite& site) {
  const std::string_view path = site.file;
  const std::size_t library = path.rfind("/src/");
  return library != path.npos ? path.substr(library + 5) : path.substr(path.rfind("simulation/"));
}

std::vector<sim::Scenario> programs() {
  std::vector<sim::Scenario> all(sim::scenarios().begin(), sim::scenarios().end());
  all.insert(all.end(), sim::weak_scenarios().begin(), sim::weak_scenarios().end());
  return all;
}

// The line that describes the failure.
std::string_view summary(std::string_view failure) {
  failure.remove_prefix(failure.find('\n') + 1);
  return failure.substr(0, failure.find('\n'));
}

int run_all(std::string_view filter, std::uint64_t runs) {
  int failed = 0;
  std::uint64_t sum = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (const sim::Scenario& scenario : programs()) {
    if (!contains(scenario.name, filter)) continue;
    const sim::WeakResult result = sim::run_on_weak_memory(scenario.build, {.runs = runs});
    sum += result.runs;
    const bool fine = result.failure.empty();
    fmt::print("{:<36}{:>8} runs{}\n", scenario.name, result.runs, fine ? "" : "  FAILED");
    if (fine) continue;
    ++failed;
    fmt::print("{}\n", result.failure);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  fmt::print("halyard-relacy: {} runs, {} failed, {:.1f} s\n", sum, failed, elapsed.count());
  return failed == 0 ? 0 : 1;
}

using Relaxed = std::function<bool(const sim::OrderedSite&)>;

// Relaxes these orders; returns true if a program detects it.
bool notices(const std::string& name, std::string_view filter, std::uint64_t runs,
             const Relaxed& relaxed) {
  constexpr std::uint64_t kFirstRuns = 100;  // to find out whether they reach the access
  bool reached_by_any = false;
  for (const sim::Scenario& scenario : programs()) {
    if (!contains(scenario.name, filter)) continue;
    bool reached = false;
    const auto watched = [&](const sim::OrderedSite& site) {
      const bool is = relaxed(site);
      reached |= is;
      return is;
    };
    auto result = sim::run_on_weak_memory(scenario.build, {.runs = kFirstRuns, .relaxed = watched});
    if (!reached) continue;
    reached_by_any = true;
    if (result.failure.empty()) {
      result = sim::run_on_weak_memory(scenario.build, {.runs = runs, .relaxed = watched});
    }
    if (result.failure.empty()) continue;
    fmt::print("{:<62} {}, {} runs: {}\n", name, scenario.name, result.runs,
               summary(result.failure));
    return true;
  }
  fmt::print("{:<62} {}\n", name, reached_by_any ? "NOT NOTICED" : "REACHED BY NO PROGRAM");
  return false;
}

// Relaxes every ordered access of the engine in turn.
int sweep(std::uint64_t runs) {
  if (run_all("", runs) != 0) return 1;
  int noticed = 0, all = 0;
  for (std::size_t i = 0; i < sim::ordered_sites().size(); ++i) {
    const sim::OrderedSite site = sim::ordered_sites()[i];
    if (file_of(site).starts_with("simulation/")) continue;
    const auto is_it = [i](const sim::OrderedSite& other) {
      return &other == &sim::ordered_sites()[i];
    };
    ++all;
    noticed +=
        notices(fmt::format("{}:{} {}", file_of(site), site.line, site.access), "", runs, is_it);
    std::fflush(stdout);
  }
  fmt::print("halyard-relacy: {} orders, {} noticed when relaxed\n", all, noticed);
  return 0;
}

// Orders on which a rule depends: all such accesses of a function, and a program that detects their
// absence.
struct Planted {
  const char* rule;
  const char* function;
  const char* access;
  const char* program;
};
constexpr Planted kPlanted[] = {
    {"2: a value is published", "Semaphore::raise(", "compare_exchange", "wait_and_signal"},
    {"2: ... and read", "Semaphore::value_state(", "load", "wait_and_signal"},
    {"2: a failure is in the word", "Semaphore::set_failed(", "or", "wait_and_fail"},
    {"3: a parking thread stores least", "Semaphore::park(", "store", "registration_and_signal"},
    {"3: ... before it reads the word", "Semaphore::park(", "load", "wait_and_signal"},
    {"3: a signalling thread reads least", "Semaphore::advance(", "load",
     "registration_and_signal"},
    {"10: an overtaken retirer reads the role", "Inbox::is_role_taken(", "load",
     "retirement_and_shell"},
    {"10: the retire role is taken", "LaneTracker::try_retire(", "exchange", "full_lane"},
    {"10: ... and given back", "LaneTracker::release_retire_role(", "store", "full_lane"},
    {"15: the role is released", "Inbox::release_role(", "store", "two_submitters"},
    {"15: ... looks at the inbox", "Inbox::has_work(", "load", "two_submitters"},
    {"15: the inbox is filled", "Inbox::push(", "compare_exchange", "two_submitters"},
    {"15: ... looks at the role", "Inbox::is_role_taken(", "load", "two_submitters"},
    {"27: a loss comes with its flag", "Inbox::take_sweep(", "exchange",
     "loss_and_drained_consumer"},
    {"28: a sleeper counts itself", "Parker::park(", "add", "last_producer"},
    {"28: ... and its waker reads", "Parker::wake(", "load", "last_producer"},
    {"a lock is taken", "Mutex::lock(", "compare_exchange", "two_lockers"},
    {"... and given back", "Mutex::unlock(", "exchange", "two_lockers"},
    {"a spin lock is taken", "SpinLock::lock(", "exchange", "two_spinners"},
    {"... and given back", "SpinLock::unlock(", "store", "two_spinners"},
    {"the rest of a chunk is left", "Ring::leave_rest(", "compare_exchange", "rest_of_a_chunk"},
    {"... and claimed", "Ring::claim_chunk(", "compare_exchange", "rest_of_a_chunk"},
    {"a packet, then the sleepers", "full_fence(", "fence", "wait_two_workers"},
    {"the sleepers, then a packet", "fence_after_rmw(", "fence", "lane_issue"},
};

int run_planted(std::uint64_t runs) {
  int missed = 0;
  for (const Planted& planted : kPlanted) {
    const auto is_one = [&planted](const sim::OrderedSite& site) {
      return contains(site.function, planted.function) &&
             std::string_view(site.access) == planted.access;
    };
    const std::string name =
        fmt::format("{} ({} {})", planted.rule, planted.function, planted.access);
    missed += !notices(name, planted.program, runs, is_one);
  }
  fmt::print("halyard-relacy: {} orders relaxed, {} not noticed\n", std::size(kPlanted), missed);
  return missed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs races of the engine on a weak memory, with Relacy."};
  std::uint64_t runs = 20'000;
  std::string filter;
  bool planted = false, each = false;
  app.add_option("--runs", runs, "So many of each program")->capture_default_str();
  auto* const names = app.add_option("--filter", filter, "Those whose names contain this");
  app.add_flag("--planted", planted, "With orders relaxed that rules rest on")->excludes(names);
  app.add_flag("--sweep", each, "With every ordered access relaxed in turn")->excludes(names);
  CLI11_PARSE(app, argc, argv);
  // On one processor workers do not spin. In Relacy, a thread that pauses sees all new values
  // afterwards.
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  (void)::sched_setaffinity(0, sizeof one, &one);
  return each ? sweep(runs) : planted ? run_planted(runs) : run_all(filter, runs);
}
