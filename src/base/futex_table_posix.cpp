// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/futex_table.h"

#include <pthread.h>

#include <cerrno>
#include <cstddef>

#include "base/native_call.h"
#include "base/timed_condition.h"

namespace halyard::inline v0::base {
namespace {

HALYARD_CALL_SITE(kWait, "futex.wait", ENOMEM, Failing::kCode);
HALYARD_CALL_SITE(kSleep, "futex.sleep", 0, Failing::kCode,
                  "pthread_cond_timedwait(3) fails only after its time, or for invalid arguments");
HALYARD_CALL_SITE(kWake, "futex.wake", 0, Failing::kCode,
                  "pthread_cond_signal(3) fails only for an invalid condition variable");

// A thread in futex_table_wait(), on its own stack. Guarded by the mutex of its bucket.
struct Sleeper {
  const void* address;
  Sleeper* next = nullptr;
  bool woken = false;  // and in no list any more
  pthread_cond_t condition;
};

struct alignas(64) Bucket {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  Sleeper* first = nullptr;
  Sleeper* last = nullptr;
};

class BucketLock {
 public:
  explicit BucketLock(Bucket& bucket) noexcept : bucket_(bucket) {
    pthread_mutex_lock(&bucket_.mutex);
  }
  ~BucketLock() { pthread_mutex_unlock(&bucket_.mutex); }
  BucketLock(const BucketLock&) = delete;
  BucketLock& operator=(const BucketLock&) = delete;

 private:
  Bucket& bucket_;
};

// Words that share a bucket only make the search longer.
constexpr std::size_t kBucketBits = 7;

Bucket& bucket_of(const void* address) noexcept {
  // Initialized before any code runs, and never destroyed: threads may sleep while the program
  // ends.
  static constinit Bucket buckets[1u << kBucketBits];
  // The multiplier is 2^64 divided by the golden ratio (Knuth, TAOCP 3, 6.4).
  const std::uint64_t hash = reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15u;
  return buckets[hash >> (64 - kBucketBits)];
}

void push_back(Bucket& bucket, Sleeper& sleeper) noexcept {
  (bucket.last != nullptr ? bucket.last->next : bucket.first) = &sleeper;
  bucket.last = &sleeper;
}

// Takes the sleeper after `previous`, or the first one, out of its list.
void erase_after(Bucket& bucket, Sleeper* previous) noexcept {
  Sleeper*& link = previous != nullptr ? previous->next : bucket.first;
  if (bucket.last == link) bucket.last = previous;
  link = link->next;
}

void erase(Bucket& bucket, const Sleeper& sleeper) noexcept {
  Sleeper* previous = nullptr;
  for (Sleeper* it = bucket.first; it != &sleeper; it = it->next) previous = it;
  erase_after(bucket, previous);
}

}  // namespace

bool futex_table_wait(const Atomic<std::uint32_t>& word, std::uint32_t expected,
                      Nanoseconds deadline) noexcept {
  const auto may_go_on = [&] {
    return deadline == Deadline::kForeverTime || Clock::steady().now() < deadline;
  };
  Sleeper sleeper{.address = &word, .condition = {}};
  // If there is no memory for a condition variable, the caller polls until its deadline.
  if (native_call(kWait, [&] { return TimedCondition::create(sleeper.condition); }) != 0) {
    return may_go_on();
  }
  bool woken = true;
  {
    Bucket& bucket = bucket_of(&word);
    BucketLock lock(bucket);
    // The caller's announcement is visible before its word is read, as with futex(2): a thread that
    // changes the word and then sees no announced sleeper has changed it before this load.
    full_fence();
    if (word.load(std::memory_order_seq_cst) == expected) {
      push_back(bucket, sleeper);
      int code = 0;
      native_call(kSleep, [&] {
        while (!sleeper.woken && code == 0) {
          code = TimedCondition::wait(sleeper.condition, bucket.mutex, deadline);
        }
        return code;
      });
      woken = sleeper.woken;
      if (!woken) erase(bucket, sleeper);
    }
  }
  // No thread uses it: a waker signals it under the bucket's mutex.
  pthread_cond_destroy(&sleeper.condition);
  return woken || may_go_on();
}

void futex_table_wake(const Atomic<std::uint32_t>& word, int count) noexcept {
  Bucket& bucket = bucket_of(&word);
  BucketLock lock(bucket);
  Sleeper* previous = nullptr;
  for (Sleeper* it = bucket.first; it != nullptr && count > 0;) {
    Sleeper& sleeper = *it;
    it = sleeper.next;
    if (sleeper.address != &word) {
      previous = &sleeper;
      continue;
    }
    erase_after(bucket, previous);
    sleeper.woken = true;
    --count;
    native_call(kWake, [&] { return pthread_cond_signal(&sleeper.condition); });
  }
}

}  // namespace halyard::inline v0::base
