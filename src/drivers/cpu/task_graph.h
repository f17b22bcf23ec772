// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TaskGraph: calls ordered by a graph, which several threads run together.
//
//   Ring::start_tasks ──> seats ──> any thread: own deque, then roots, then another's deque
//                                       │
//                                       └─ a completed task makes successors ready: the first of
//                                          them runs next, the others go to the deque
//
// Built once, run often, one run at a time (begin, end). A thread that works on a run occupies a
// seat. It leaves the seat when it finds no work; a thread takes it again when there is some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/atomic.h"
#include "drivers/cpu/run_choice.h"
#include "drivers/cpu/work_stealing_deque.h"
#include "halyard/base/clock.h"
#include "halyard/base/result.h"
#include "halyard/hcq/cpu.h"

namespace halyard::inline v0::cpu {

class Ring;

struct Task {
  hcq::Kernel kernel = nullptr;    // called for one workgroup; null: see argument
  void* const* buffers = nullptr;  // of the kernel
  const void* argument = nullptr;  // the kernel's constants, or RunPiece's; both null: no work
  std::uint32_t piece = 0;         // of `pieces`
  std::uint32_t pieces = 1;
};

// Task `after` runs when `before` is complete.
struct TaskEdge {
  std::uint32_t before;
  std::uint32_t after;  // > before
};

class TaskGraph {
 public:
  // Runs a task without a kernel. `context` is the argument of begin().
  using RunPiece = void (*)(const Task& task, const void* context);

  static constexpr unsigned kMaxSeats = 64;

  // At most `threads` threads work on it at once. Errors: kResourceExhausted.
  static Result<std::unique_ptr<TaskGraph>> create(std::span<const Task> tasks,
                                                   std::span<const TaskEdge> edges,
                                                   unsigned threads, RunPiece run_piece);

  // ---- A run, for the thread that holds the ring's role.

  RunChoice::How choose() noexcept { return choice_.next(); }

  // False if another ring runs it now. If true, Ring::start_tasks() and end() follow.
  bool begin(const void* context) noexcept;
  void end() noexcept;

  // The same for a run in order, which the ring executes and the graph only times.
  bool begin_in_order() noexcept;
  void end_in_order() noexcept;

  // ---- Seats, for Ring.

  unsigned seats() const noexcept { return seat_count_; }

  enum class Exit : std::uint8_t {
    kComplete,  // this thread ran the last task; one thread per run returns this
    kOver,      // the run is complete, or the ring closes
    kIdle,      // it found no work; there may be some again
    kSpent,     // the thread stopped early; there may be more work
  };
  // Takes a free seat and works. Leaves when a ring of higher priority has work or, if `brief`,
  // after 20 us, but not before one task is done.
  Exit work(Ring& ring, bool brief) noexcept;

 private:
  static constexpr std::uint32_t kNone = WorkStealingDeque::kNone;
  static constexpr std::uint32_t kInlineSuccessors = 4;

  struct alignas(64) Node {
    Task task;
    base::Atomic<std::uint32_t> pending;  // incomplete predecessors; reset when it reaches 0
    std::uint32_t predecessors;
    std::uint32_t successor_count;
    std::uint32_t successors[kInlineSuccessors];  // if more: [0] is an index of successors_
    std::uint32_t next;                           // in Seat::overflow
  };
  static_assert(sizeof(Node) == 64 || !base::kAtomicsAreWords);

  // Owned by the thread that occupies it, except for what thieves steal.
  struct alignas(64) Seat {
    WorkStealingDeque deque;
    std::uint32_t overflow = kNone;  // list of the tasks that did not fit the deque
    std::uint32_t root = 0, root_end = 0;
  };

  TaskGraph(RunPiece run_piece, unsigned seats) noexcept
      : run_piece_(run_piece), seat_count_(seats) {}

  void run(const Task& task) noexcept;
  void prefetch_successors(const Node& node) const noexcept;
  std::uint32_t follow(Node& node, Seat& seat, Ring& ring) noexcept;
  void push(Seat& seat, std::uint32_t task, Ring& ring) noexcept;
  std::uint32_t take(Seat& seat, std::uint32_t root_batch) noexcept;
  std::uint32_t steal(unsigned thief) noexcept;
  std::uint32_t search(unsigned index, Ring& ring) noexcept;
  bool flush(std::uint32_t done, Nanoseconds time) noexcept;
  std::uint32_t surplus(const Seat& seat) const noexcept;
  unsigned take_seat() noexcept;
  void leave(unsigned index, bool with_work) noexcept;

  const RunPiece run_piece_;
  const unsigned seat_count_;
  std::uint32_t task_count_ = 0;
  std::uint32_t root_count_ = 0;
  std::unique_ptr<Node[]> nodes_;
  std::unique_ptr<std::uint32_t[]> successors_;
  std::unique_ptr<std::uint32_t[]> roots_;  // tasks without predecessor
  std::unique_ptr<Seat[]> seats_;
  RunChoice choice_;
  base::Atomic<bool> running_{false};

  // State of a run.
  Nanoseconds began_ = 0;
  const void* context_ = nullptr;
  alignas(64) base::Atomic<std::uint32_t> next_root_{0};
  alignas(64) base::Atomic<std::uint32_t> remaining_{0};  // still counts unreported ones
  base::Atomic<std::int64_t> busy_{0};                    // nanoseconds of all threads
  base::Atomic<bool> complete_{false};
  // One bit for each seat: it is free; it was left with tasks, some of them invisible to thieves.
  alignas(64) base::Atomic<std::uint64_t> free_seats_{0};
  base::Atomic<std::uint64_t> left_with_work_{0};
};

}  // namespace halyard::inline v0::cpu
