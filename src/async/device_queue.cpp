// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/device_queue.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/format.h"

namespace halyard::inline v0::async::detail {

// Its own queue: what is waited for when a timeline has failed is nobody else's.
Result<Ref<DeviceQueue>> DeviceQueue::create(hal::Device device, std::vector<std::string> folders) {
  HALYARD_ASSIGN_OR_RETURN(hal::Queue queue, device.create_queue({.name = "async"}));
  HALYARD_ASSIGN_OR_RETURN(hal::Semaphore semaphore, device.create_semaphore(0, "async"));
  auto* const object = new DeviceQueue(std::move(device), std::move(queue), std::move(folders));
  object->timeline_.store(&object->timelines_.emplace_back(std::move(semaphore), 0),
                          std::memory_order_relaxed);
  return Ref<DeviceQueue>::adopt(object);
}

DeviceQueue::DeviceQueue(hal::Device device, hal::Queue queue, std::vector<std::string> folders)
    : device_(std::move(device)), queue_(std::move(queue)), folders_(std::move(folders)) {}

DeviceQueue::~DeviceQueue() {
  while (free_ != nullptr) delete std::exchange(free_, free_->next_);
}

Result<Timeline*> DeviceQueue::timeline() {
  Timeline* current = timeline_.load(std::memory_order_acquire);
  if (current->semaphore().query().ok()) [[likely]]
    return current;
  HALYARD_RETURN_IF_ERROR(device_.status());
  HALYARD_RETURN_IF_ERROR(queue_.wait_idle());
  // Tickets that others still take of the failed one have values of this one too. Nothing that
  // they are for runs, and nobody is given it.
  const std::uint64_t first = current->last();
  HALYARD_ASSIGN_OR_RETURN(hal::Semaphore semaphore, device_.create_semaphore(first, "async"));
  base::LockGuard lock(mutex_);
  if (timeline_.load(std::memory_order_relaxed) == current) {
    timeline_.store(&timelines_.emplace_back(std::move(semaphore), first),
                    std::memory_order_release);
  }
  return timeline_.load(std::memory_order_relaxed);
}

Status DeviceQueue::reached(std::uint64_t value, const Timeline& now) {
  if (value > now.first()) [[likely]]
    return {};
  const Timeline* of = nullptr;
  {
    base::LockGuard lock(mutex_);
    for (const Timeline& timeline : timelines_) {
      if (timeline.first() < value) of = &timeline;
    }
  }
  return of == nullptr ? Status() : of->semaphore().wait(value, kNow);
}

Status DeviceQueue::check_use(const Storage* storage, const Timeline& now, std::string_view user) {
  if (storage == nullptr) {
    return error(StatusCode::kInvalidArgument, "{}: a tensor that was moved from", user);
  }
  if (storage->queue_.get() != this) {
    return error(StatusCode::kInvalidArgument, "{} on {}: a tensor of another device", user,
                 device_.info().uri);
  }
  return reached(storage->written_, now);
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
  storage->written_ = ticket;
  return storage;
}

// The last reference has gone: whatever uses the memory has been submitted, and so stands in front
// in the chain, or has ended with a timeline that failed.
void DeviceQueue::give_back(Storage& storage) noexcept {
  const hal::Buffer buffer = std::exchange(storage.buffer_, {});
  Timeline& now = *timeline_.load(std::memory_order_acquire);
  // Memory that was perhaps never there is not to fail the timeline: it returns when the host has
  // learnt that the last submission with it has ended. So does what is refused here.
  if (buffer && reached(storage.written_, now).ok()) {
    (void)submit(now, [&](const hal::Queue& queue, const hal::SubmitInfo& info) {
      return queue.deallocate(buffer, info);
    });
  }
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
