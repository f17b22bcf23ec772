// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LaneTracker: one native queue and the submissions in it.
//
//     entries   1   2   3   4   5   6   7
//                       ^           ^   ^
//                  retired   published   issued
//
// The issuer writes the entry, hands it to the native queue, publishes its promises, then moves
// `published`. The retirer holds the retire role; it completes entries that the native queue has
// passed, never beyond `published`. If the device was faster than the issuer, the retirer sets
// `overtaken`, and the issuer retires after it has released its own role (rule 10).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "base/atomic.h"
#include "halyard/base/ref.h"
#include "timeline/lane_point.h"
#include "timeline/markers.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::timeline {

class Engine;
class Queue;
class Submission;

class LaneTracker {
 public:
  // Null: no memory.
  static LaneTracker* create(Queue& queue, NativeQueue& native) noexcept;
  ~LaneTracker();

  // False when another thread is retiring this lane now. The caller opens an EffectScope. `visit`
  // stays entered if nothing had ended.
  bool try_retire(Visit& visit) noexcept;
  bool try_retire() noexcept {
    Visit visit;
    return try_retire(visit);
  }
  // True if the device was faster than the issuer, which asks once it has released its own role,
  // and then retires what no other thread has.
  bool overtaken() const noexcept { return overtaken_.load(std::memory_order_seq_cst); }
  void retire_overtaken(Visit& visit) noexcept;
  // It is full: work is held back until notify_room().
  bool is_busy() const noexcept { return busy_.load(std::memory_order_seq_cst); }

  Markers& markers() noexcept { return markers_; }

  // Offers the calling thread's time to the device (NativeQueue::help), and has the lane marked.
  // False: there is nothing to run now, and nothing new to see.
  // The caller keeps the lane pinned, or its queue alive.
  bool help(std::uint64_t sequence, Visit& visit) noexcept;
  bool help(std::uint64_t sequence) noexcept {
    Visit visit;
    return help(sequence, visit);
  }

  // Has the completion shell retire this lane when it reaches `sequence`.
  void watch(std::uint64_t sequence) noexcept;

  // Watches the lanes that its first submission waits for natively, and notes the time if there is
  // one. Without a waiter of their own their loss would not be seen (rule 23). By the shell.
  void watch_edges(Nanoseconds now) noexcept;

  std::uint64_t retired() const noexcept { return retired_.load(std::memory_order_acquire); }
  std::uint64_t published() const noexcept { return published_.load(std::memory_order_acquire); }

  // In this order: what will not complete is dead before it is retired.
  bool is_complete(std::uint64_t sequence) const noexcept {
    return retired() >= sequence && !is_dead(sequence);
  }
  // True if `sequence` will not complete: its device is lost, or it comes after a dead wait.
  bool is_dead(std::uint64_t sequence) const noexcept {
    return sequence >= dead_from_.load(std::memory_order_acquire);
  }

  // True only if an entry waits for `at`, or for more of its lane.
  bool waited_for(const LanePoint& at) const noexcept;

  // QueueCapabilities::poll_time.
  Nanoseconds poll_time() const noexcept { return poll_time_; }

  // While pinned, the native queue stays open.
  void pin() noexcept { pins_.fetch_add(1, std::memory_order_relaxed); }
  void unpin() noexcept { pins_.fetch_sub(1, std::memory_order_release); }

  // Abandons the native queue, unless that has been done. Until it has stopped or given up the
  // completion shell asks, and the lane is not quiet.
  void close(const Status& cause) noexcept;
  // No thread is inside the lane, and the completion shell does not watch it.
  bool quiet() const noexcept {
    return pins_.load(std::memory_order_acquire) == 0 && !watched_.load(std::memory_order_acquire);
  }

  // Every call to the driver goes through this; edges name native_queue().
  Entered<NativeQueue> native() const noexcept { return {native_, guard_.get()}; }
  NativeQueue* native_for(std::span<const Issue> batch, Visit& visit) const noexcept {
    const auto needs = [this](const Issue& issue) { return native_.needs_guard(issue); };
    if (guard_ != nullptr && std::ranges::any_of(batch, needs)) {
      visit.enter(guard_.get(), Calls::kEnqueue);
    }
    return &native_;
  }
  NativeQueue* native(Visit& visit, Calls calls = Calls::kAny) const noexcept {
    visit.enter(guard_.get(), calls);
    return &native_;
  }
  NativeQueue& native_queue() const noexcept { return native_; }
  Queue& queue() const noexcept { return queue_; }

 private:
  LaneTracker(Queue& queue, NativeQueue& native) noexcept;

  friend class Engine;
  friend class Issuer;

  struct Entry {
    Submission* submission = nullptr;
    std::uint64_t depth = 0;  // native commands issued to this lane, this entry's included
    bool is_part = false;     // further entries of its submission follow: it does not end with this
    base::Atomic<bool> wanted{false};  // the completion shell must see this one end
  };
  Entry& entry(std::uint64_t sequence) noexcept { return entries_[sequence & mask_]; }
  // Native commands in flight, as any thread may ask; the issuer's own count is free_depth().
  std::uint64_t depth_in_flight() const noexcept {
    return published_depth_.load(std::memory_order_relaxed) -
           retired_depth_.load(std::memory_order_relaxed);
  }
  // By the issuer: how many native commands more the lane takes.
  std::uint64_t free_depth() const noexcept {
    return limit_ - (issued_depth_ - retired_depth_.load(std::memory_order_seq_cst));
  }
  // By the issuer: the first sequence with which at most `left` native commands remain in flight.
  std::uint64_t sequence_leaving(std::uint64_t left) const noexcept;

  // By the issuer: from here on a retirer may end the entry at `sequence`.
  void publish(std::uint64_t sequence) noexcept {
    published_depth_.store(entry(sequence).depth, std::memory_order_relaxed);
    published_.store(sequence, std::memory_order_release);
  }
  void retire_in_role(Visit& visit) noexcept;  // and releases the role
  void notify_room() noexcept;       // after the depth was lowered: schedules a busy queue
  void take_retire_role() noexcept;  // spins; holders do not block
  void release_retire_role() noexcept { retire_role_.store(false, std::memory_order_release); }
  // Under the retire role. Polls, unless the lane is known to have passed `enough`, completes what
  // has passed, returns the fault, if any.
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};
  Status advance(Visit& visit, std::uint64_t enough = kAll) noexcept;
  Status advance() noexcept {
    Visit visit;
    return advance(visit);
  }
  void set_retired(std::uint64_t sequence) noexcept;
  // Under the retire role, with everything through `before` complete: whether all work of other
  // lanes that the next entry waits for is complete, too. Completes as much of that work as it can.
  bool edges_are_complete(std::uint64_t before, Visit& visit) noexcept;
  bool complete_to(std::uint64_t sequence, bool passed, Visit& visit) noexcept;
  void release_held(std::uint64_t sequence) noexcept;
  // Under the retire role. The first asks the native queue to stop, or whether it has stopped. The
  // second then releases the held objects, leaks them, or has the shell ask again.
  void abandon(const Status& cause) noexcept;
  void release_abandoned() noexcept;
  bool stopping() const noexcept {
    return abandoned_.load(std::memory_order_seq_cst) == Abandoned::kStopping;
  }
  // Called by the completion shell for a lane that is stopping. False: it is still, or another
  // thread has the role.
  bool try_stop() noexcept;
  void keep_in_flight(std::uint64_t first, std::uint64_t last) noexcept;
  bool quarantined() const noexcept {
    return quarantined_from_.load(std::memory_order_acquire) != kAlive;
  }
  // The last sequence of a quarantined lane before the dead wait, or before its device's loss.
  std::uint64_t in_front() const noexcept { return dead_from_.load(std::memory_order_acquire) - 1; }
  // Precondition: `sequence` is dead.
  Status why_dead(std::uint64_t sequence) const noexcept;
  // Under the issuer role: remembers which lanes of its own device the last entry waits for.
  void note_waits(const Submission& submission) noexcept;
  void note_wait(const LanePoint& other) noexcept;

  Queue& queue_;
  NativeQueue& native_;
  const Ref<EntryGuard> guard_;  // may be null
  std::unique_ptr<Entry[]> entries_;
  const std::uint64_t mask_;
  const std::uint32_t limit_;
  const Nanoseconds poll_time_;

  // Written under the issuer role.
  std::uint64_t issued_ = 0;
  std::uint64_t issued_depth_ = 0;
  base::Atomic<std::uint64_t> published_{0};
  base::Atomic<std::uint64_t> published_depth_{0};
  Markers markers_;
  // Enough for the two queues of every device; waits for further lanes replace older ones.
  LanePoint waited_[2];

  alignas(64) base::Atomic<bool> retire_role_{false};
  base::Atomic<std::uint64_t> retired_{0};
  base::Atomic<std::uint64_t> retired_depth_{0};
  base::Atomic<bool> overtaken_{false};
  // While it is set no work is issued. It is lowered, and the queue is kicked, once no more than
  // `room_at_` native commands are in flight. That is stored before the flag.
  base::Atomic<bool> busy_{false};
  base::Atomic<std::uint64_t> room_at_{0};
  // Sequence retired when the native queue last refused work; kNotRefused while the in-flight limit
  // is the reason.
  static constexpr std::uint64_t kNotRefused = ~std::uint64_t{0};
  base::Atomic<std::uint64_t> refused_at_{kNotRefused};
  std::uint64_t passed_ = 0;  // under the retire role: how far the native queue is known to be
  base::Atomic<bool> unsure_{false};  // it has passed what edges_are_complete() holds up
  base::Atomic<std::uint32_t> pins_{0};

  // From this sequence on nothing completes: the device is lost, or a wait is dead. It only
  // decreases.
  static constexpr std::uint64_t kAlive = ~std::uint64_t{0};
  base::Atomic<std::uint64_t> dead_from_{kAlive};
  // From this sequence on entries failed because of a dead wait; those after `kept_until_` keep
  // their payloads (rule 27), and so do those of a lane that stops (rule 26). Both are written
  // before dead_from_.
  base::Atomic<std::uint64_t> quarantined_from_{kAlive};
  Status quarantine_cause_;  // the first one, written before quarantined_from_
  std::uint64_t kept_until_ = 0;
  bool closed_ = false;  // the native queue was abandoned, with this answer
  base::Atomic<Abandoned> abandoned_{Abandoned::kStopped};
  Nanoseconds closed_at_ = 0;

  // Used by the completion shell.
  base::Atomic<std::uint64_t> watch_target_{0};
  base::Atomic<bool> watched_{false};
  LaneTracker* next_watched_ = nullptr;
  std::uint64_t armed_ = 0;
  std::uint64_t last_retired_ = 0;
  Nanoseconds last_progress_ = 0;
  Nanoseconds waited_at_ = 0;  // when it was last seen to wait for another lane
};

}  // namespace halyard::inline v0::timeline
