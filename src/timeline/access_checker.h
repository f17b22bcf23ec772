// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AccessChecker: the checking mode (`?check=1`). Finds two submissions that access the same memory,
// one of which writes, and that nothing orders.
//
// It uses only declared order, not the order in which work happened to run: waits, signals, and the
// ends that the host has observed. So a missing wait is found on every run and on every driver,
// however fast the device is.
//
//     submit ── every wait has its signaller? ── yes ──> ordered: a clock; compared; recorded
//                         │ no                              ▲
//                         └──> deferred until it is issued ─┘   then every signaller is known
//
//   - A submission is ordered after the submission with the smallest sufficient signal of each of
//     its waits (as rule 9 chooses promises), and after all that any host thread has seen reached
//     by then: by a wait, a query, a callback, a host call, wait_idle. Threads of the host are taken
//     to be ordered among themselves.
//   - Neither completion nor the order of submissions orders anything by itself.
//   - Work from outside of the engine (a native event, an imported stream) is taken to be ordered
//     after everything before it.
//
// A submission that is refused, fails or is cancelled accesses nothing. Work whose end the host has
// observed is settled: it comes before all work that is still to be ordered, and its record is
// removed.
//
// All functions are safe from any thread, call nothing outside and hold a lock of their own only for
// themselves. They allocate; without memory the process ends, as this is a tool for development.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "halyard/base/status.h"
#include "timeline/access_table.h"
#include "timeline/order_clock.h"

namespace halyard::inline v0::timeline {

class Queue;
class Semaphore;
class Submission;
struct SignalNode;
struct WaitNode;

// The accesses of a submission, and its place in the order. Made by the submitter
// (Submission::declare), otherwise by the checker.
struct AccessRecord {
  std::vector<Access> accesses;
  // Ordered after everything before it: something outside of the engine may order it.
  bool is_external = false;

  // The checker's:
  struct Place;
  std::shared_ptr<Place> place;  // once it is ordered
};

class AccessChecker {
 public:
  AccessChecker() = default;
  AccessChecker(const AccessChecker&) = delete;
  AccessChecker& operator=(const AccessChecker&) = delete;

  // A submission with these merged waits and signals is about to be accepted. kFailedPrecondition,
  // with both names: it is not ordered after work that it conflicts with. Makes its record if it has
  // none.
  Status submit(Submission& submission, std::span<const WaitNode> waits,
                std::span<const SignalNode> signals);
  // The same of a deferred one, which is about to be issued. Ok of any other.
  Status issue(Submission& submission, std::span<const WaitNode> waits,
               std::span<const SignalNode> signals);
  // It has ended, or was refused. Destroys its record.
  void end(Submission& submission, bool is_complete) noexcept;

  // Called when a host call starts: its program may tell all threads that the waits are reached.
  void note_started(Submission& submission);
  // The host is about to signal `value`.
  void note_signal(const Semaphore& semaphore, std::uint64_t value);
  // The host knows that `value` is reached.
  void note_reached(const Semaphore& semaphore, std::uint64_t value);
  // The host knows that all work of the queue has ended.
  void note_idle(const Queue& queue);
  void forget(const Semaphore& semaphore) noexcept;

 private:
  using Place = AccessRecord::Place;
  // The signals of one semaphore, by value.
  struct Signals {
    std::uint64_t settled = 0;  // the signallers up to here are
    std::map<std::uint64_t, std::shared_ptr<const OrderClock>> signallers;
  };

  bool is_settled(const OrderEvent& event) const noexcept {
    return event.chain < seen_.size() && event.index <= seen_[event.chain];
  }
  bool is_settled(const Place& place) const noexcept;
  void see(const OrderClock& clock);
  Signals& signals_of(const Semaphore& semaphore);
  // Adds to `clock` the events that the waits order the submission after. False: a signaller is not
  // known yet.
  bool join_waits(std::span<const WaitNode> waits, AccessRecord& record, OrderClock& clock);
  // Compares and records the submission, which is ordered after `clock`.
  Status order(Submission& submission, OrderClock clock, std::span<const SignalNode> signals);

  base::Mutex mutex_;  // guards all
  OrderChains chains_;
  std::vector<std::uint64_t> seen_;  // how far the host has seen each chain end
  std::unordered_map<std::uint64_t, Signals> semaphores_;  // by id
  std::unordered_map<const Queue*, OrderClock> queues_;    // all that was ordered on each
  AccessTable<std::shared_ptr<Place>> accesses_;
  static constexpr std::size_t kLeastSweep = 1024;  // entries of the table
  std::size_t sweep_at_ = kLeastSweep;
};

}  // namespace halyard::inline v0::timeline
