// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SubmissionPool: the memory of a queue's submissions. It grows by a slab at a time, and shrinks
// only as it ends. From any thread.
#pragma once

#include <cstddef>

#include "base/build.h"
#include "base/spin_lock.h"
#include "timeline/submission.h"

namespace halyard::inline v0::timeline {

class SubmissionPool {
 public:
  explicit SubmissionPool(Queue& queue) noexcept : queue_(queue) {}
  ~SubmissionPool();
  SubmissionPool(const SubmissionPool&) = delete;
  SubmissionPool& operator=(const SubmissionPool&) = delete;

  // Returns an empty submission of the queue, with a single reference. Null: no memory.
  Submission* allocate() noexcept;
  // The thread that dropped its last reference calls this.
  void recycle(Submission& submission) noexcept;

 private:
  struct Slab {
    static constexpr std::size_t kSize = base::kSmallBounds ? 4 : 64;
    Submission submissions[kSize];
    Slab* next = nullptr;
  };
  bool grow() noexcept;

  Queue& queue_;
  base::SpinLock lock_;  // guards the rest
  Submission* free_ = nullptr;
  Slab* slabs_ = nullptr;
};

}  // namespace halyard::inline v0::timeline
