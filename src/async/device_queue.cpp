// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/device_queue.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/format.h"

namespace halyard::inline v0::async::detail {

Result<Ref<DeviceQueue>> DeviceQueue::create(hal::Device device, std::vector<std::string> folders) {
  auto queue = Ref<DeviceQueue>::adopt(new DeviceQueue(std::move(device), std::move(folders)));
  HALYARD_ASSIGN_OR_RETURN(hal::Semaphore semaphore,
                           queue->device_.create_semaphore(0, "async timeline"));
  queue->timeline_ = &queue->timelines_.emplace_back(std::move(semaphore), 0);
  return queue;
}

DeviceQueue::DeviceQueue(hal::Device device, std::vector<std::string> folders)
    : device_(std::move(device)), queue_(device_.queue()), folders_(std::move(folders)) {}

DeviceQueue::~DeviceQueue() {
  while (free_ != nullptr) delete std::exchange(free_, free_->next_);
}

Result<Timeline*> DeviceQueue::timeline() {
  Timeline* current = timeline_.load(std::memory_order_acquire);
  if (current->semaphore().query().ok()) [[likely]]
    return current;
  HALYARD_RETURN_IF_ERROR(device_.status());
  // Tickets that others still take of the failed one have values of this one too. Nothing that
  // they are for runs, and nobody is given it.
  const std::uint64_t first = current->last();
  HALYARD_ASSIGN_OR_RETURN(hal::Semaphore semaphore,
                           device_.create_semaphore(first, "async timeline"));
  base::LockGuard lock(mutex_);
  if (timeline_.load(std::memory_order_relaxed) == current) {
    timeline_.store(&timelines_.emplace_back(std::move(semaphore), first),
                    std::memory_order_release);
  }
  return timeline_.load(std::memory_order_relaxed);
}

Status DeviceQueue::check_use(const Storage* storage, const Timeline& now, std::string_view user) {
  if (storage == nullptr) {
    return error(StatusCode::kInvalidArgument, "{}: a tensor that was moved from", user);
  }
  if (storage->queue_.get() != this) {
    return error(StatusCode::kInvalidArgument, "{} on {}: a tensor of another device", user,
                 device_.info().uri);
  }
  const std::uint64_t used = storage->used_.load(std::memory_order_relaxed);
  if (used > now.first()) [[likely]]
    return {};
  const Timeline* last = nullptr;
  {
    base::LockGuard lock(mutex_);
    for (const Timeline& timeline : timelines_) {
      if (timeline.first() < used) last = &timeline;
    }
  }
  return last == nullptr ? Status() : last->semaphore().wait(used, kNow);
}

Storage* DeviceQueue::new_storage() noexcept {
  {
    base::LockGuard lock(mutex_);
    if (free_ != nullptr) {
      Storage* const storage = std::exchange(free_, free_->next_);
      storage->retain();  // it has the one reference of a new object again
      return storage;
    }
  }
  return new (std::nothrow) Storage();
}

Result<Ref<Storage>> DeviceQueue::allocate(Timeline& timeline, std::uint64_t size,
                                           hal::MemoryType memory) {
  auto storage = Ref<Storage>::adopt(new_storage());
  if (!storage) return Status(StatusCode::kResourceExhausted, "no memory for a tensor");
  storage->queue_ = Ref<RefCounted>(this);
  HALYARD_ASSIGN_OR_RETURN(
      const std::uint64_t ticket,
      submit(timeline, [&](const hal::Queue& queue, const hal::SubmitInfo& info) -> Status {
        HALYARD_ASSIGN_OR_RETURN(
            storage->buffer_,
            queue.allocate(device_.default_pool(memory), {.size = size, .memory = memory}, info));
        return {};
      }));
  mark_written(*storage, ticket);
  return storage;
}

void DeviceQueue::mark_read(Storage& storage, std::uint64_t ticket) noexcept {
  std::uint64_t used = storage.used_.load(std::memory_order_relaxed);
  while (used < ticket &&
         !storage.used_.compare_exchange_weak(used, ticket, std::memory_order_relaxed)) {
  }
}

void DeviceQueue::mark_written(Storage& storage, std::uint64_t ticket) noexcept {
  storage.written_ = ticket;
  mark_read(storage, ticket);
}

// The last reference has gone: whatever was submitted with the memory has its ticket.
void DeviceQueue::give_back(Storage& storage) noexcept {
  const hal::Buffer buffer = std::exchange(storage.buffer_, {});
  Timeline& now = *timeline_.load(std::memory_order_acquire);
  // Behind its last use, which is on this timeline. Else, or if this is refused, the memory returns
  // when the host has learnt that the last submission with it has ended (Queue::deallocate).
  if (buffer && storage.used_.load(std::memory_order_relaxed) > now.first()) {
    (void)submit(now, [&](const hal::Queue& queue, const hal::SubmitInfo& info) {
      return queue.deallocate(buffer, info);
    });
  }
  storage.written_ = 0;
  storage.used_.store(0, std::memory_order_relaxed);
  base::LockGuard lock(mutex_);
  storage.next_ = std::exchange(free_, &storage);
}

void Storage::destroy() noexcept {
  // The queue may go with its last storage, and takes this one along.
  const Ref<RefCounted> queue = std::exchange(queue_, {});
  if (queue) {
    static_cast<DeviceQueue&>(*queue).give_back(*this);
  } else {
    delete this;
  }
}

}  // namespace halyard::inline v0::async::detail
