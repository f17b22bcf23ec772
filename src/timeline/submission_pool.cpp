// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/submission_pool.h"

#include <new>
#include <utility>

namespace halyard::inline v0::timeline {

SubmissionPool::~SubmissionPool() {
  while (slabs_ != nullptr) delete std::exchange(slabs_, slabs_->next);
}

Submission* SubmissionPool::allocate() noexcept {
  for (;;) {
    lock_.lock();
    Submission* const submission = free_;
    if (submission != nullptr) free_ = submission->next;
    lock_.unlock();
    if (submission != nullptr) {
      submission->references_.store(1, std::memory_order_relaxed);
      return submission;
    }
    if (!grow()) return nullptr;
  }
}

bool SubmissionPool::grow() noexcept {
  Slab* const slab = new (std::nothrow) Slab;
  if (slab == nullptr) return false;
  for (std::size_t i = 0; i < Slab::kSize; ++i) {
    slab->submissions[i].queue_ = &queue_;
    slab->submissions[i].next = i + 1 < Slab::kSize ? &slab->submissions[i + 1] : nullptr;
  }
  lock_.lock();
  slab->submissions[Slab::kSize - 1].next = free_;
  free_ = slab->submissions;
  slab->next = std::exchange(slabs_, slab);
  lock_.unlock();
  return true;
}

void SubmissionPool::recycle(Submission& submission) noexcept {
  submission.reset();
  lock_.lock();
  submission.next = free_;
  free_ = &submission;
  lock_.unlock();
}

}  // namespace halyard::inline v0::timeline
