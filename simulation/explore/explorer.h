// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explorer: runs a small program of a few threads in every order that can make a difference, while
// simulation/scheduler.h draws a single order. Threads are fibers, as there. Each is stopped before
// its next access to shared memory; a step is that access and all code up to the next access.
//
//   full      stateless search with dynamic partial-order reduction (Flanagan & Godefroid, "Dynamic
//             Partial-Order Reduction for Model Checking Software", POPL 2005) and sleep sets
//             (Godefroid, "Partial-Order Methods", LNCS 1032, 1996). Two steps are dependent if
//             they access one address and one of them writes; orders that differ in independent
//             steps only are run once.
//   bounded   every schedule with at most so many preemptions (Musuvathi & Qadeer, "Iterative
//             Context Bounding", PLDI 2007), without reduction. Incomplete. A turn of a spin loop
//             while other threads could run counts as a preemption.
//
// Time does not advance; the passing of a sleeping thread's deadline is a step of that thread,
// which is possible at once. A thread that pauses in a spin loop runs again once another thread has
// written to memory that the loop has read, because earlier turns would read the same values. A
// held lock disables the threads that want it. Neither weak memory nor reference counts are
// explored.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/base/clock.h"
#include "simulation/explore/program.h"
#include "simulation/fiber.h"
#include "simulation/simulated_atomic.h"

namespace halyard::inline v0::sim {

// Which thread made each step.
struct Schedule {
  static constexpr std::uint32_t kMostSteps = 4096;  // more than any sound run needs
  std::uint32_t length = 0;
  std::array<std::uint8_t, kMostSteps> threads;

  // "0x17,1,0x3": thread 0 makes 17 steps, thread 1 a single step, thread 0 makes 3 steps.
  std::string text() const;
  // Returns false if `text` has another form.
  bool parse(std::string_view text);
};

class Explorer {
 public:
  static constexpr std::size_t kMostThreads = 6;

  struct Options {
    int preemptions = kUnbounded;
    void (*after_run)() = nullptr;  // checks for leftovers of a run
    Schedule* record = nullptr;     // the schedule of the current run, kept up to date
    // Runs only this schedule, printed step by step. After its end, a thread runs as long as it
    // can.
    const Schedule* replay = nullptr;
  };
  struct Result {
    std::uint64_t executions = 0;
    std::uint64_t states = 0;     // nodes of the search: distinct beginnings of a schedule
    std::uint64_t redundant = 0;  // runs that proved equivalent to another
    std::uint64_t longest = 0;    // steps
  };

  Explorer(void (*build)(Program&), const Options& options);
  ~Explorer();
  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;

  // Runs all orders. If a run fails, by fail(), a deadlock, or because it does not end, reports it
  // on standard error and ends the process with status 1.
  Result run();

  // The Explorer whose thread runs, or null. It is null while programs are built, checked or
  // destroyed.
  static Explorer* current() noexcept { return current_; }

  // Returns a text that fail() appends. May be null.
  static std::string (*describe)();

  // --- by explored threads (base_seams.cpp) -----------------------------------------------------

  enum class Kind : std::uint8_t { kRead, kWrite, kSleep, kWake, kTimeout };
  // Announces the next access; returns when it is this thread's turn to make it.
  void access(const void* address, Kind kind, const void* where);
  void delay_next_access(const void* address, base::Holds holds, std::uint64_t value) noexcept;
  void pause() noexcept;
  // Returns false if `deadline` passed first. Sleepers wake in the order in which they fell asleep.
  bool sleep(const void* address, Nanoseconds deadline);
  void wake(const void* address, int count) noexcept;
  Nanoseconds now() const noexcept;  // of this thread
  std::uint64_t this_thread() const noexcept;

 private:
  friend void fail(std::string_view what);
  struct Thread;
  struct Node;
  using Mask = std::uint8_t;
  using Steps = std::array<std::uint32_t, kMostThreads>;  // a vector clock
  struct Touched;

  static void enter(void* thread);
  bool bounded() const noexcept { return options_.preemptions != kUnbounded; }
  bool reduces() const noexcept { return !bounded() && !redundant_ && options_.replay == nullptr; }
  void run_once();
  bool backtrack();
  void announce(Thread& self);
  void go_on(bool last);
  Thread* choose();
  Mask enabled_threads() const noexcept;
  int pick(Node& node) const noexcept;
  Mask unforced(Mask enabled) const noexcept;
  int preferred(Mask among) const noexcept;
  void take_step(Thread& self);
  void order_step(Thread& self);
  void look_for_dead_stack(const Thread& self) const;
  void stir_others(Thread& self);
  void add_backtrack(std::uint32_t step, const Thread& self);
  Touched& touched(const void* address);
  void print_step(const Thread& self);

  static constinit Explorer* current_;

  void (*const build_)(Program&);
  const Options options_;
  Result result_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::size_t thread_count_ = 0;  // of this program
  Fiber main_;
  Thread* running_ = nullptr;
  bool starting_ = false;

  std::vector<Node> nodes_;  // the state before each step
  std::uint32_t steps_ = 0;  // of this run
  Thread* last_ = nullptr;   // made the last step
  Mask free_ = 0;            // could have made it without a preemption
  Mask next_sleep_ = 0;      // the sleep set of the state after the last step
  int next_preemptions_ = 0;
  bool redundant_ = false;  // this run only has to end
  std::vector<Touched> touched_;
  std::uint32_t run_number_ = 0;
};

}  // namespace halyard::inline v0::sim
