// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/task_graph.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>

#include "base/format.h"
#include "drivers/cpu/ring.h"
#include "drivers/cpu/ring_group.h"

namespace halyard::inline v0::cpu {
namespace {

// The clock (30 ns) is read after about this much work.
constexpr Nanoseconds kClockInterval = 2'000;
constexpr std::uint32_t kMaxTasksPerReading = 64;

// A thread with other duties (Exit::kSpent) works this long; as Slice::kTime.
constexpr Nanoseconds kBrief = 20'000;

// A thread without work checks all deques this often before it leaves its seat: about 2 us.
constexpr int kSearches = 40;
constexpr int kPausesPerSearch = 4;

}  // namespace

Result<std::unique_ptr<TaskGraph>> TaskGraph::create(std::span<const Task> tasks,
                                                     std::span<const TaskEdge> edges,
                                                     unsigned threads, RunPiece run_piece) {
  const Status no_memory =
      error(StatusCode::kResourceExhausted, "no memory for a graph of {} tasks and {} edges",
            tasks.size(), edges.size());
  const unsigned seats = std::clamp(threads, 1u, kMaxSeats);
  std::unique_ptr<TaskGraph> graph(new (std::nothrow) TaskGraph(run_piece, seats));
  if (graph == nullptr) return no_memory;
  graph->nodes_.reset(new (std::nothrow) Node[tasks.size()]());
  graph->successors_.reset(new (std::nothrow) std::uint32_t[edges.size()]);
  graph->roots_.reset(new (std::nothrow) std::uint32_t[tasks.size()]);
  graph->seats_.reset(new (std::nothrow) Seat[seats]);
  if (!graph->nodes_ || !graph->successors_ || !graph->roots_ || !graph->seats_) return no_memory;
  Node* const nodes = graph->nodes_.get();
  graph->task_count_ = static_cast<std::uint32_t>(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) nodes[i].task = tasks[i];
  for (const TaskEdge& edge : edges) {
    assert(edge.before < edge.after && edge.after < tasks.size());
    ++nodes[edge.before].successor_count;
    ++nodes[edge.after].predecessors;
  }
  std::uint32_t listed = 0;
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    Node& node = nodes[i];
    node.pending.store(node.predecessors, std::memory_order_relaxed);
    if (node.predecessors == 0) graph->roots_[graph->root_count_++] = i;
    node.next = 0;  // counts the successors stored so far
    if (node.successor_count <= kInlineSuccessors) continue;
    node.successors[0] = listed;
    listed += node.successor_count;
  }
  for (const TaskEdge& edge : edges) {
    Node& node = nodes[edge.before];
    std::uint32_t* const successors = node.successor_count <= kInlineSuccessors
                                          ? node.successors
                                          : &graph->successors_[node.successors[0]];
    successors[node.next++] = edge.after;
  }
  graph->free_seats_.store(~std::uint64_t{0} >> (kMaxSeats - seats), std::memory_order_relaxed);
  return graph;
}

bool TaskGraph::begin_in_order() noexcept {
  if (running_.load(std::memory_order_relaxed) ||
      running_.exchange(true, std::memory_order_acquire)) {
    return false;
  }
  began_ = Clock::steady().now();
  return true;
}

void TaskGraph::end_in_order() noexcept {
  choice_.ran_in_order(Clock::steady().now() - began_);
  running_.store(false, std::memory_order_release);
}

bool TaskGraph::begin(const void* context) noexcept {
  if (!begin_in_order()) return false;
  context_ = context;
  next_root_.store(0, std::memory_order_relaxed);
  remaining_.store(task_count_, std::memory_order_relaxed);
  busy_.store(0, std::memory_order_relaxed);
  complete_.store(false, std::memory_order_relaxed);
  return true;
}

void TaskGraph::end() noexcept {
  choice_.ran_shared(Clock::steady().now() - began_,
                     busy_.load(std::memory_order_relaxed) / task_count_);
  running_.store(false, std::memory_order_release);
}

TaskGraph::Exit TaskGraph::work(Ring& ring, bool brief) noexcept {
  RingGroup& group = ring.group();
  const unsigned index = take_seat();
  Seat& seat = seats_[index];
  const Nanoseconds entered = Clock::steady().now();
  Nanoseconds since = entered;
  std::uint32_t done = 0;  // tasks since then that remaining_ still counts
  std::uint32_t next_reading = 1;
  std::uint32_t per_reading = 1;
  std::uint32_t task = kNone;
  for (;;) {
    if (task == kNone) task = take(seat, per_reading);
    if (task == kNone) task = steal(index);
    if (task == kNone) {
      if (flush(done, Clock::steady().now() - since)) {
        leave(index, false);
        return Exit::kComplete;
      }
      task = search(index, ring);
      if (task == kNone) {
        leave(index, false);
        const bool over = complete_.load(std::memory_order_acquire) || ring.closing();
        return over ? Exit::kOver : Exit::kIdle;
      }
      since = Clock::steady().now();
      done = 0;
      next_reading = 1;
    }
    Node& node = nodes_[task];
    prefetch_successors(node);
    run(node.task);
    task = follow(node, seat, ring);
    if (++done < next_reading) continue;

    const Nanoseconds now = Clock::steady().now();
    const Nanoseconds average = std::max<Nanoseconds>((now - since) / done, 1);
    per_reading = static_cast<std::uint32_t>(
        std::clamp<Nanoseconds>(kClockInterval / average, 1, kMaxTasksPerReading));
    next_reading = done + per_reading;
    if (group.may_wake()) {
      // Other threads wake up while this one continues, and then share the remaining tasks.
      const std::uint32_t left = remaining_.load(std::memory_order_relaxed) - done;
      if (average * left > 2 * kWorthWaking) {
        group.wake(std::min<unsigned>(surplus(seat), seat_count_ - 1));
      }
    }
    const bool closing = ring.closing();
    const bool spent = (brief && now - entered >= kBrief) || group.any_ready_above(ring.priority());
    if (!closing && !spent) continue;
    // The tasks left in this seat go to thieves, and to the next thread that takes the seat.
    if (task != kNone) push(seat, task, ring);
    const bool complete = flush(done, now - since);
    leave(index, true);
    if (complete) return Exit::kComplete;
    return closing ? Exit::kOver : Exit::kSpent;
  }
}

void TaskGraph::run(const Task& task) noexcept {
  static constexpr Workgroup kOnly{{0, 0, 0}, {1, 1, 1}};
  if (task.kernel != nullptr) {
    task.kernel(&kOnly, task.buffers, task.argument);
  } else if (task.argument != nullptr) {
    run_piece_(task, context_);
  }
}

// Brings the successors into the cache while the task runs. Ready tasks run depth first, so the
// successors are seldom close to recent tasks in memory.
void TaskGraph::prefetch_successors(const Node& node) const noexcept {
  if (node.successor_count > kInlineSuccessors) return;
  for (std::uint32_t i = 0; i < node.successor_count; ++i) {
    __builtin_prefetch(&nodes_[node.successors[i]], /*rw=*/1);
  }
}

// Returns the task to run next, if a successor is ready.
std::uint32_t TaskGraph::follow(Node& node, Seat& seat, Ring& ring) noexcept {
  const std::uint32_t* const successors = node.successor_count <= kInlineSuccessors
                                              ? node.successors
                                              : &successors_[node.successors[0]];
  std::uint32_t first = kNone;
  for (std::uint32_t i = 0; i < node.successor_count; ++i) {
    Node& successor = nodes_[successors[i]];
    if (successor.predecessors != 1) {
      // If one predecessor is pending it is this task: no other thread accesses the successor
      // before it has run.
      if (successor.pending.load(std::memory_order_acquire) != 1 &&
          successor.pending.fetch_sub(1, std::memory_order_acq_rel) != 1) {
        __builtin_prefetch(successor.task.buffers);  // runs soon
        continue;
      }
      successor.pending.store(successor.predecessors, std::memory_order_relaxed);
    }
    if (first == kNone) {
      first = successors[i];
    } else {
      push(seat, successors[i], ring);
    }
  }
  return first;
}

void TaskGraph::push(Seat& seat, std::uint32_t task, Ring& ring) noexcept {
  if (!seat.deque.push(task)) {
    nodes_[task].next = seat.overflow;
    seat.overflow = task;
  }
  ring.recall_idle();
}

// Returns a task of the seat itself, otherwise takes some of the roots.
std::uint32_t TaskGraph::take(Seat& seat, std::uint32_t root_batch) noexcept {
  std::uint32_t task = seat.deque.pop();
  if (task != kNone) return task;
  if (seat.overflow != kNone) {
    task = seat.overflow;
    seat.overflow = nodes_[task].next;
    while (seat.overflow != kNone && seat.deque.push(seat.overflow)) {
      seat.overflow = nodes_[seat.overflow].next;
    }
    return task;
  }
  if (seat.root == seat.root_end) {
    const std::uint32_t taken = next_root_.load(std::memory_order_relaxed);
    if (taken >= root_count_) return kNone;
    const std::uint32_t fair = (root_count_ - taken) / (4 * seat_count_);
    const std::uint32_t batch = std::clamp(fair, 1u, root_batch);
    seat.root = std::min(next_root_.fetch_add(batch, std::memory_order_relaxed), root_count_);
    seat.root_end = std::min(seat.root + batch, root_count_);
    if (seat.root == seat.root_end) return kNone;
  }
  return roots_[seat.root++];
}

std::uint32_t TaskGraph::steal(unsigned thief) noexcept {
  for (unsigned i = 1; i < seat_count_; ++i) {
    Seat& seat = seats_[(thief + i) % seat_count_];
    if (seat.deque.size() <= 0) continue;
    if (const std::uint32_t task = seat.deque.steal(); task != kNone) return task;
  }
  return kNone;
}

std::uint32_t TaskGraph::search(unsigned index, Ring& ring) noexcept {
  for (int i = 0; i < kSearches; ++i) {
    if (complete_.load(std::memory_order_acquire) || ring.closing()) return kNone;
    for (int pause = 0; pause < kPausesPerSearch; ++pause) base::spin_pause();
    if (const std::uint32_t task = steal(index); task != kNone) return task;
  }
  return kNone;
}

// Adds a thread's completed tasks to those of the run. True if they include the last one.
bool TaskGraph::flush(std::uint32_t done, Nanoseconds time) noexcept {
  if (done == 0) return false;
  busy_.fetch_add(time, std::memory_order_relaxed);
  if (remaining_.fetch_sub(done, std::memory_order_acq_rel) != done) return false;
  complete_.store(true, std::memory_order_release);
  return true;
}

// Number of tasks that other threads could run.
std::uint32_t TaskGraph::surplus(const Seat& seat) const noexcept {
  const std::uint32_t taken = next_root_.load(std::memory_order_relaxed);
  return (taken < root_count_ ? root_count_ - taken : 0) +
         static_cast<std::uint32_t>(std::max<std::int64_t>(seat.deque.size(), 0));
}

// Prefers a seat that was left with work, so that every task is found.
unsigned TaskGraph::take_seat() noexcept {
  std::uint64_t free = free_seats_.load(std::memory_order_acquire);
  for (;;) {
    assert(free != 0);
    const std::uint64_t left = free & left_with_work_.load(std::memory_order_relaxed);
    const int index = std::countr_zero(left != 0 ? left : free);
    const std::uint64_t bit = std::uint64_t{1} << index;
    if (free_seats_.compare_exchange_weak(free, free & ~bit, std::memory_order_acquire)) {
      if (left != 0) left_with_work_.fetch_and(~bit, std::memory_order_relaxed);
      return static_cast<unsigned>(index);
    }
  }
}

void TaskGraph::leave(unsigned index, bool with_work) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << index;
  if (with_work) left_with_work_.fetch_or(bit, std::memory_order_relaxed);
  free_seats_.fetch_or(bit, std::memory_order_release);
}

}  // namespace halyard::inline v0::cpu
