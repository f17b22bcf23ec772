// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/notifier.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/error_name.h"
#include "base/format.h"
#include "base/futex.h"
#include "drivers/vulkan/native_device.h"
#include "drivers/vulkan/timeline_semaphore.h"

namespace halyard::inline v0::vulkan {
namespace {

// Of a lane, before the thread is called to watch it: 3 us on lavapipe, about what the call takes.
constexpr int kPolls = 32;
// In nanoseconds. A call that fails for want of memory is noticed after that.
constexpr std::uint64_t kLongestSleep = 250'000'000;
constexpr std::uint64_t kRest = 1'000'000;

}  // namespace

Status Notifier::start() {
  HALYARD_RETURN_IF_ERROR(create_timeline(device_, calling_));
  if (const int code = thread_.start("hy-vulkan", run, this); code != 0) {
    return Status(StatusCode::kResourceExhausted,
                  "vulkan: the thread that wakes waiters could not be started",
                  base::error_name(code));
  }
  return {};
}

void Notifier::stop() noexcept {
  if (thread_.started()) {
    stopping_.store(true, std::memory_order_seq_cst);
    (void)call();
    thread_.join();
  }
  if (calling_ != VK_NULL_HANDLE) {
    device_.vk().vkDestroySemaphore(device_.handle(), calling_, nullptr);
    calling_ = VK_NULL_HANDLE;
  }
}

Status Notifier::add(Lane& lane) {
  base::LockGuard lock(mutex_);
  if (lanes_.push_back(&lane)) return {};
  return error(StatusCode::kResourceExhausted, "vulkan: no memory for a lane");
}

void Notifier::remove(Lane& lane) noexcept {
  std::uint32_t round;
  {
    base::LockGuard lock(mutex_);
    Lane** const found = std::ranges::find(lanes_, &lane);
    if (found == lanes_.end()) return;
    *found = lanes_.back();
    lanes_.shrink(lanes_.size() - 1);
    round = rounds_.load(std::memory_order_seq_cst);
  }
  removing_.fetch_add(1, std::memory_order_seq_cst);
  (void)call();
  while (!ended_.load(std::memory_order_seq_cst) &&
         rounds_.load(std::memory_order_seq_cst) == round) {
    base::futex_wait(rounds_, round, Deadline::kForeverTime);
  }
  removing_.fetch_sub(1, std::memory_order_relaxed);
}

Status Notifier::arm(Lane& lane, std::uint64_t sequence, base::Notify& notify) noexcept {
  lane.list.arm(sequence, notify);
  HALYARD_RETURN_IF_ERROR(device_.loss());
  const std::uint64_t least = lane.list.least();
  if (least == kNothing || lane.watched.load(std::memory_order_seq_cst) <= least) return {};
  for (int i = 0; i < kPolls; ++i) {
    std::uint64_t value = 0;
    Status status = device_.check(
        device_.vk().vkGetSemaphoreCounterValue(device_.handle(), lane.semaphore, &value),
        "vkGetSemaphoreCounterValue");
    if (status.code() == StatusCode::kDeviceLost) return status;
    if (!status.ok()) break;  // no memory to read it: the thread tries again
    lane.list.advance(value);
    if (value >= sequence) return {};
    base::spin_pause();
  }
  Status status = call();
  if (status.code() != StatusCode::kResourceExhausted) return status;
  notify.notify();  // early: the waiter checks again
  return {};
}

Status Notifier::call() noexcept {
  base::LockGuard lock(call_mutex_);
  const std::uint64_t value = calls_.load(std::memory_order_relaxed) + 1;
  VkSemaphoreSignalInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
  info.semaphore = calling_;
  info.value = value;
  Status status =
      device_.check(device_.vk().vkSignalSemaphore(device_.handle(), &info), "vkSignalSemaphore");
  if (status.ok()) calls_.store(value, std::memory_order_seq_cst);
  return status;
}

void Notifier::serve() noexcept {
  for (;;) {
    // Before all that a call() may be about is read: one that comes later ends the wait.
    const std::uint64_t next_call = calls_.load(std::memory_order_seq_cst) + 1;
    if (stopping_.load(std::memory_order_seq_cst) || !wait_once(next_call)) break;
  }
  release_all();
  ended_.store(true, std::memory_order_seq_cst);
  begin_round();
}

void Notifier::begin_round() noexcept {
  rounds_.fetch_add(1, std::memory_order_seq_cst);
  if (removing_.load(std::memory_order_seq_cst) != 0) base::futex_wake(rounds_, INT_MAX);
}

bool Notifier::wait_once(std::uint64_t next_call) noexcept {
  watched_.shrink(0);
  semaphores_.shrink(0);
  values_.shrink(0);
  {
    base::LockGuard lock(mutex_);
    begin_round();
    // Without memory for all lanes a waiter checks again by itself after 10 ms (rule 23).
    bool enough = semaphores_.push_back(calling_) && values_.push_back(next_call) &&
                  watched_.push_back(nullptr);
    for (Lane* const lane : lanes_) {
      std::uint64_t least;
      do {
        least = lane->list.least();
        lane->watched.store(least, std::memory_order_seq_cst);
      } while (lane->list.least() < least);
      if (least == kNothing) continue;
      enough = enough && watched_.push_back(lane) && semaphores_.push_back(lane->semaphore) &&
               values_.push_back(least);
    }
  }
  VkResult failed = VK_SUCCESS;
  const auto note = [&](VkResult result) {
    if (result != VK_SUCCESS && result != VK_TIMEOUT) failed = result;
    return result == VK_SUCCESS;
  };
  (void)note(wait_for_semaphores());
  // Also after a wait that failed: then this is a poll.
  const std::size_t count = std::min({watched_.size(), semaphores_.size(), values_.size()});
  for (std::size_t i = 1; i < count; ++i) {
    std::uint64_t value = 0;
    // A lane that remove() waits for is still there.
    if (note(device_.vk().vkGetSemaphoreCounterValue(device_.handle(), semaphores_[i], &value))) {
      watched_[i]->list.advance(value);
    }
  }
  if (failed != VK_SUCCESS) rest_or_lose(failed);
  return !device_.lost();
}

void Notifier::rest_or_lose(VkResult result) noexcept {
  if (result != VK_ERROR_OUT_OF_HOST_MEMORY && result != VK_ERROR_OUT_OF_DEVICE_MEMORY) {
    device_.lose(result);
    return;
  }
  const std::uint32_t round = rounds_.load(std::memory_order_relaxed);  // this thread's alone
  base::futex_wait(rounds_, round, Clock::steady().now() + kRest);
}

VkResult Notifier::wait_for_semaphores() noexcept {
  VkSemaphoreWaitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.flags = VK_SEMAPHORE_WAIT_ANY_BIT;
  info.semaphoreCount =
      static_cast<std::uint32_t>(std::min({watched_.size(), semaphores_.size(), values_.size()}));
  if (info.semaphoreCount == 0) return VK_ERROR_OUT_OF_HOST_MEMORY;  // not even for calling_
  info.pSemaphores = semaphores_.data();
  info.pValues = values_.data();
  std::uint64_t timeout = kLongestSleep;
  if (info.semaphoreCount > 1 && !device_.physical().sleeps_for_any) {
    const std::uint32_t lane = 1 + turns_++ % (info.semaphoreCount - 1);
    info.flags = 0;
    info.semaphoreCount = 1;
    info.pSemaphores += lane;
    info.pValues += lane;
    timeout = turn_;
  }
  const VkResult result = device_.vk().vkWaitSemaphores(device_.handle(), &info, timeout);
  turn_ = result == VK_TIMEOUT ? std::min(turn_ + turn_ / 8, kLongestTurn) : kShortestTurn;
  return result;
}

// Early, which is allowed: a woken waiter polls and sees the loss.
void Notifier::release_all() noexcept {
  base::LockGuard lock(mutex_);
  for (Lane* const lane : lanes_) lane->list.advance(kNothing - 1);
}

}  // namespace halyard::inline v0::vulkan
