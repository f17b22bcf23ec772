// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// halyard-sim: the engine, the hal and the drivers under a seeded scheduler. Seeds run in child
// processes, so that a crash is counted and the other seeds still run.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "simulation/explore/exhaustive.h"
#include "simulation/explore/explorer.h"
#include "simulation/poison.h"
#include "simulation/simulate.h"
#include "simulation/world/plan.h"

namespace {

namespace sim = halyard::sim;

// Every `step`th seed from the first to the last.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t step = 1;

  std::uint64_t count() const { return first > last ? 0 : (last - first) / step + 1; }
};

// Those that are over one driver: every `step`th, if it is built in.
std::optional<Range> over(Range range, bool (*is_one)(std::uint64_t), std::uint64_t step) {
  for (std::uint64_t tries = step; !is_one(range.first); ++range.first) {
    if (tries-- == 0) return std::nullopt;
  }
  range.step = step;
  return range;
}

std::optional<Range> parse_range(const std::string& text) {
  Range range;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec != std::errc() || std::string_view(first.ptr, 2) != "..") return std::nullopt;
  const auto last = std::from_chars(first.ptr + 2, end, range.last);
  const bool whole = last.ec == std::errc() && last.ptr == end && range.first <= range.last;
  return whole ? std::optional(range) : std::nullopt;
}

[[noreturn]] void fail(std::uint64_t seed, const char* what) {
  std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed), what);
  std::_Exit(1);
}

// Runs a seed and checks that it leaks nothing. Pools that keep memory for reuse are full after the
// first run, so a seed that leaves memory allocated is repeated.
sim::SeedResult simulate(std::uint64_t seed, bool trace) {
  sim::SeedResult result;
  for (int turn = 0;; ++turn) {
    const std::int64_t before = sim::live_blocks();
    result = sim::simulate(seed, trace && turn == 0);
    const std::int64_t left = sim::live_blocks() - before;
    if (!sim::release_freed()) fail(seed, "freed memory was written to");
    if (left <= 0 || result.may_keep) return result;
    if (turn == 2) fail(seed, "memory leaks");
  }
}

// The progress that a child reports to its parent, in shared memory.
struct Progress {
  std::uint64_t done = 0;  // seeds of the range that succeeded or failed
  std::uint64_t submissions = 0;
  std::uint64_t faults = 0;
  std::uint64_t points = 0;
};

template <class T>
T* share(std::size_t count) {
  void* const memory = ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("halyard-sim: mmap");
    std::exit(2);
  }
  return static_cast<T*>(memory);
}

int run_range(const Range& range) {
  const std::uint64_t count = range.count();
  Progress& progress = *share<Progress>(1);
  auto* const schedules = share<std::uint64_t>(count);
  std::vector<std::uint64_t> failed;
  const auto begin = std::chrono::steady_clock::now();
  std::fflush(stdout);
  while (progress.done < count) {
    const pid_t child = ::fork();
    if (child < 0) {
      std::perror("halyard-sim: fork");
      return 2;
    }
    if (child == 0) {
      for (; progress.done < count; ++progress.done) {
        const sim::SeedResult result = simulate(range.first + progress.done * range.step, false);
        schedules[progress.done] = result.schedule;
        progress.submissions += result.submissions;
        progress.faults += result.faults;
        progress.points += result.points;
      }
      std::_Exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    const std::uint64_t seed = range.first + progress.done++ * range.step;
    failed.push_back(seed);
    if (WIFSIGNALED(status)) {
      fmt::print(stderr, "seed {}: ended by signal {}\n", seed, WTERMSIG(status));
    }
    fmt::print(stderr, "seed {} failed; replay it: halyard-sim --seed {}\n", seed, seed);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  std::sort(schedules, schedules + count);
  const auto distinct =
      static_cast<std::uint64_t>(std::unique(schedules, schedules + count) - schedules);
  fmt::print(
      "halyard-sim: {} seeds, {} distinct schedules, {} submissions, {} faults, {} failed, "
      "{:.1f} s\n",
      count, distinct - (failed.empty() ? 0 : 1), progress.submissions, progress.faults,
      failed.size(), elapsed.count());
  return failed.empty() ? 0 : 1;
}

void look_for_writes_after_free() {
  sim::expect(sim::release_freed(), "freed memory was written to");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs the engine, the hal and the drivers under a seeded scheduler."};
  std::string seeds = "1..1000";
  std::optional<std::uint64_t> seed;
  app.add_option("--seeds", seeds, "These seeds, A..B")->capture_default_str();
  app.add_option("--seed", seed, "This one, with a trace of what happens");
  bool cuda = false;
  auto* const cuda_flag =
      app.add_flag("--cuda", cuda, "Of the seeds, those over cuda:// only: every 22nd");
  bool hip = false;
  auto* const hip_flag =
      app.add_flag("--hip", hip, "Of the seeds, those over hip:// only: every 66th")
          ->excludes(cuda_flag);
  bool metal = false;
  app.add_flag("--metal", metal, "Of the seeds, those over metal:// only: every 22nd")
      ->excludes(cuda_flag)
      ->excludes(hip_flag);
  bool exhaustive = false;
  sim::ExhaustiveOptions all{.after_run = &look_for_writes_after_free};
  auto* const flag = app.add_flag("--exhaustive", exhaustive, "Small programs, in every order");
  app.add_option("--filter", all.filter, "Those whose names contain this")->needs(flag);
  app.add_option("--schedule", all.schedule, "Replays one, step by step")->needs(flag);
  CLI11_PARSE(app, argc, argv);
  if (exhaustive) return sim::run_exhaustive(all);
  if (seed) {
    const sim::SeedResult result = simulate(*seed, true);
    fmt::print("seed {}: schedule {:016x}, {} schedule points, {} submissions, {} faults\n", *seed,
               result.schedule, result.points, result.submissions, result.faults);
    return 0;
  }
  std::optional<Range> range = parse_range(seeds);
  if (!range) {
    fmt::print(stderr, "halyard-sim: --seeds {}: not A..B\n", seeds);
    return 2;
  }
  using sim::Plan;
  if (cuda) range = over(*range, &Plan::is_over_cuda, Plan::kCudaEvery);
  if (hip) range = over(*range, &Plan::is_over_hip, Plan::kHipEvery);
  if (metal) range = over(*range, &Plan::is_over_metal, Plan::kMetalEvery);
  if (!range) {
    fmt::print(stderr, "halyard-sim: built without that driver\n");
    return 2;
  }
  return run_range(*range);
}
