// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inbox: ready submissions and requests that other threads leave for the issuer of a queue, and the
// word of the issuer role (issuer.h).
//
// A thread first leaves something here. Then it takes the role, or schedules the queue; if it finds
// the role taken it does nothing. The holder looks here again after it has released the role (rule
// 15). These accesses are seq_cst, so one of the two sees the other.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "timeline/submission.h"

namespace halyard::inline v0::timeline {

class Inbox {
 public:
  // IssuerRole calls these.
  bool take_role() noexcept { return !role_.exchange(true, std::memory_order_seq_cst); }
  void release_role() noexcept { role_.store(false, std::memory_order_seq_cst); }
  bool is_role_taken() const noexcept { return role_.load(std::memory_order_seq_cst); }

  // By the thread that has released the role: true if something was left meanwhile.
  bool has_work() const noexcept {
    return newest_.load(std::memory_order_seq_cst) != nullptr ||
           marks_.load(std::memory_order_seq_cst) != 0 || sweep_.load(std::memory_order_seq_cst) ||
           retry_.load(std::memory_order_seq_cst);
  }

  // Ready submissions, in a lock-free list.
  void push(Submission& submission) noexcept {
    add_to_backlog();
    Submission* head = newest_.load(std::memory_order_relaxed);
    do {
      submission.next = head;
    } while (!newest_.compare_exchange_weak(head, &submission, std::memory_order_seq_cst,
                                            std::memory_order_relaxed));
  }
  bool has_submissions(std::memory_order order = std::memory_order_relaxed) const noexcept {
    return newest_.load(order) != nullptr;
  }
  // By the issuer: all of them, the newest first; or null.
  Submission* take_submissions() noexcept {
    return has_submissions() ? newest_.exchange(nullptr, std::memory_order_seq_cst) : nullptr;
  }

  // How many submissions are ready and not issued: in here, or with the issuer, which counts those
  // that it puts back.
  std::uint32_t backlog(std::memory_order order) const noexcept { return backlog_.load(order); }
  void add_to_backlog() noexcept { backlog_.fetch_add(1, std::memory_order_relaxed); }
  void take_from_backlog() noexcept { backlog_.fetch_sub(1, std::memory_order_seq_cst); }

  // Markers at the end of the lane, for those whose bits these are (Queue::request_mark).
  void want_marks(std::uint64_t bits) noexcept { marks_.fetch_or(bits, std::memory_order_seq_cst); }
  std::uint64_t take_marks() noexcept {
    if (marks_.load(std::memory_order_seq_cst) == 0) return 0;
    return marks_.exchange(0, std::memory_order_seq_cst);
  }

  // A device was lost: a check for waits on it.
  void want_sweep() noexcept { sweep_.store(true, std::memory_order_seq_cst); }
  bool wants_sweep() const noexcept { return sweep_.load(std::memory_order_relaxed); }
  // An exchange acquires what each thread that set the flag wrote before.
  void take_sweep() noexcept { (void)sweep_.exchange(false, std::memory_order_seq_cst); }

  // Gates may open for held submissions, or a marker was recorded.
  void want_retry() noexcept { retry_.store(true, std::memory_order_seq_cst); }
  bool wants_retry() const noexcept { return retry_.load(std::memory_order_relaxed); }
  void take_retry() noexcept { (void)retry_.exchange(false, std::memory_order_seq_cst); }

 private:
  alignas(64) base::Atomic<bool> role_{false};
  base::Atomic<bool> sweep_{false};
  base::Atomic<bool> retry_{false};
  base::Atomic<std::uint32_t> backlog_{0};
  base::Atomic<Submission*> newest_{nullptr};
  base::Atomic<std::uint64_t> marks_{0};
};

}  // namespace halyard::inline v0::timeline
