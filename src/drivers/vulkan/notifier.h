// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notifier: the thread of a VkDevice that wakes waiters. It sleeps in vkWaitSemaphores until one of
// the lanes that something is armed for has reached the least such sequence, or until it is called:
//
//     armer                                   thread
//     lane's list: sequence, notify           watched := least of the list, for each lane
//     watched > sequence? call() ──────────>  vkWaitSemaphores(any of: lanes, the calling
//     semaphore)
//                                             each lane: read its value, list.advance(value)
//
// Whichever of the two comes second sees the other: armers write the list and then read `watched`,
// the thread writes `watched` and then reads the list.
//
// Where a wait for any of several semaphores would keep a core busy (PhysicalDevice), the thread
// waits for one lane at a time, and begins anew after a time that grows while nothing happens. A
// call, or another lane, is then seen up to kLongestTurn late.
#pragma once

#include <cstdint>

#include "base/array.h"
#include "base/atomic.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "drivers/vulkan/functions.h"
#include "halyard/base/status.h"
#include "timeline/notify_list.h"

namespace halyard::inline v0::vulkan {

class NativeDevice;

class Notifier {
 public:
  // What a lane and the notifier share. Constant but for its atomics.
  class Lane {
   public:
    VkSemaphore semaphore = VK_NULL_HANDLE;
    timeline::NotifyList list;

   private:
    friend class Notifier;
    base::Atomic<std::uint64_t> watched{timeline::NotifyList::kNothing};
  };

  explicit Notifier(NativeDevice& device) noexcept : device_(device) {}
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Creates its semaphore and starts the thread. Once. kResourceExhausted.
  Status start();
  // Ends the thread and waits for that. May be called again, and without start().
  void stop() noexcept;

  // kResourceExhausted.
  Status add(Lane& lane);
  // Returns when the thread does not use the lane any more. Does nothing for one that was not
  // added.
  void remove(Lane& lane) noexcept;

  // NativeQueue::arm of that lane, which was added.
  Status arm(Lane& lane, std::uint64_t sequence, base::Notify& notify) noexcept;

 private:
  static constexpr std::uint64_t kNothing = timeline::NotifyList::kNothing;
  // Nanoseconds. A turn costs 5 us of processor time, which is little of the longest.
  static constexpr std::uint64_t kShortestTurn = 50'000;
  static constexpr std::uint64_t kLongestTurn = 1'000'000;

  static void run(void* self) { static_cast<Notifier*>(self)->serve(); }
  void serve() noexcept;
  // Ends with the call of that number, or when a lane has reached what is armed. False: the device
  // is lost.
  bool wait_once(std::uint64_t next_call) noexcept;
  // What follows a call that failed: memory may come back, and the thread rests before it tries
  // again; any other error is a loss, since nothing says that waits will ever succeed.
  void rest_or_lose(VkResult result) noexcept;
  // Waits for one of semaphores_ to reach its value: of all, or of one lane for a while.
  VkResult wait_for_semaphores() noexcept;
  // The lanes of the round before are used no more.
  void begin_round() noexcept;
  void release_all() noexcept;
  // Has the thread begin anew.
  Status call() noexcept;

  NativeDevice& device_;
  base::Thread thread_;
  VkSemaphore calling_ = VK_NULL_HANDLE;

  base::Mutex call_mutex_;                // held in vkSignalSemaphore: values grow
  base::Atomic<std::uint64_t> calls_{0};  // value of calling_; written under call_mutex_

  base::Mutex mutex_;  // guards lanes_
  base::Array<Lane*> lanes_;
  base::Atomic<bool> stopping_{false};
  base::Atomic<std::uint32_t> rounds_{0};    // begun, under mutex_; for remove()
  base::Atomic<std::uint32_t> removing_{0};  // threads in remove()
  base::Atomic<bool> ended_{false};          // the thread waits no more

  // The thread's.
  base::Array<Lane*> watched_;
  base::Array<VkSemaphore> semaphores_;
  base::Array<std::uint64_t> values_;
  std::uint64_t turn_ = kShortestTurn;  // nanoseconds
  std::uint32_t turns_ = 0;
};

}  // namespace halyard::inline v0::vulkan
