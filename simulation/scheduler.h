// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scheduler: the only thread of a simulation. Simulated threads are fibers; the seed decides which
// of them runs next at each schedule point (every access to a base::Atomic, every lock, futex and
// start or end of a thread), so that a seed replays exactly.
//
//   uniform   at random distances any thread that can run is next, with equal chances
//   pct       each thread has a random priority, the highest runs; at `depth` random points the
//             running one falls below all others (Burckhardt et al., "A Randomized Scheduler with
//             Probabilistic Guarantees of Finding Bugs", ASPLOS 2010)
//
// Time is virtual: it advances by kPointTime per schedule point and jumps to the next deadline when
// no thread can run; if `hasty`, it occasionally jumps while some can.
//
// A failing run reports and exits the process at once, without unwinding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/base/clock.h"
#include "simulation/fiber.h"
#include "simulation/random.h"

namespace halyard::inline v0::timeline {
class WorkList;
}

namespace halyard::inline v0::sim {

class Scheduler {
 public:
  enum class Policy : std::uint8_t { kUniform, kPct };
  struct Options {
    std::uint64_t seed = 0;
    Policy policy = Policy::kUniform;
    std::uint32_t mean_distance = 8;  // uniform: schedule points between decisions
    std::uint32_t depth = 3;          // pct: the number of falls
    std::uint32_t length = 5'000;     // pct: the number of points among which falls are drawn
    bool hasty = false;               // deadlines may pass while threads could run
    bool spurious = false;            // waits on futexes end early, weak exchanges fail
    bool trace = false;               // print what happens
    // If all threads sleep and the first deadline is further away, a wake-up was lost.
    Nanoseconds longest_idle = Deadline::kForeverTime;
  };
  // More schedule points than any sound run needs.
  static constexpr std::uint64_t kMostPoints = 5'000'000;
  static constexpr Nanoseconds kPointTime = 20;
  static constexpr Nanoseconds kBegin = 1'000'000'000;

  explicit Scheduler(const Options& options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // The running scheduler, or null.
  static Scheduler* current() noexcept { return current_; }

  // Runs body(argument) as the first thread, until it and all others have ended.
  void run(void (*body)(void* argument), void* argument);

  // --- by simulated threads ---------------------------------------------------------------------

  class Thread;
  Thread& start(std::string_view name, void (*body)(void*), void* argument);
  void join(Thread& thread);
  bool try_join(Thread& thread);
  std::uint64_t this_thread() const noexcept;
  std::string_view this_name() const noexcept;

  // Sleeps on `address` until it is woken; returns false if `deadline` passes first. May wake
  // early.
  bool sleep(const void* address, Nanoseconds deadline);
  void wake(const void* address, int count);
  // Lets time pass for this thread.
  void sleep_for(Nanoseconds duration);
  // Lets other threads run first; of those, spinning threads run last.
  void pause();
  void decide();

  Nanoseconds now() const noexcept;
  // For all random choices other than that of the next thread.
  Random& random() noexcept { return random_; }

  bool spurious() noexcept { return options_.spurious && choices_.one_in(16); }

  bool tracing() const noexcept { return options_.trace; }
  void trace(std::string_view text);
  [[noreturn]] void fail(std::string_view what);
  // Returns a text that fail() appends. May be null.
  std::string (*describe)() = nullptr;
  // Called at each point at which another thread may run. Takes no simulated time, and may read
  // every base::Atomic.
  void (*step)() = nullptr;

  // --- afterwards -------------------------------------------------------------------------------

  // A hash of all decisions.
  std::uint64_t schedule() const noexcept { return schedule_; }
  std::uint64_t points() const noexcept;

 private:
  static void enter(void* thread);
  void end_of_thread();
  void switch_to(Thread& next);
  Thread* choose();
  void make_runnable(Thread& thread);
  void expire();
  std::uint64_t distance();
  void count_points() noexcept;
  [[noreturn]] static void end_of_report();

  static constinit Scheduler* current_;

  const Options options_;
  Random random_;
  Random choices_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Thread*> runnable_;  // including the running thread
  std::vector<Thread*> sleeping_;
  Thread* running_ = nullptr;
  Fiber main_;
  std::int64_t granted_ = 0;  // schedule points until the next decision, when it was granted
  std::uint64_t points_ = 0;
  std::vector<std::uint64_t> falls_;  // pct: the points at which the running thread falls
  std::uint64_t lowest_ = 0;          // pct: the lowest priority given so far, counted down
  bool failing_ = false;
  Nanoseconds jumped_ = kBegin;
  std::uint64_t schedule_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace halyard::inline v0::sim
