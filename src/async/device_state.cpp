// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/device_state.h"

#include <new>
#include <utility>

#include "base/format.h"

namespace halyard::inline v0::async::detail {

// Creates separate queues, because a write after a failed read waits for all work of its queue.
Result<Ref<DeviceState>> DeviceState::create(DeviceInfo info, std::vector<std::string> folders) {
  auto state = Ref<DeviceState>::adopt(new DeviceState(std::move(info), std::move(folders)));
  for (std::size_t i = 0; i < state->info_.queues; ++i) {
    HALYARD_ASSIGN_OR_RETURN(state->queues_.emplace_back().queue,
                             state->device_.create_queue({.name = "async"}));
  }
  return state;
}

DeviceState::DeviceState(DeviceInfo info, std::vector<std::string> folders)
    : info_(std::move(info)), device_(info_.devices[info_.index]), folders_(std::move(folders)) {}

DeviceState::~DeviceState() {
  while (free_ != nullptr) delete std::exchange(free_, free_->next_);
}

Result<Ref<TreeTimeline>> DeviceState::acquire_timeline(QueueState& queue) {
  Ref<TreeTimeline> timeline = queue.timelines.acquire();
  if (!timeline) {
    HALYARD_ASSIGN_OR_RETURN(hal::Semaphore semaphore, device_.create_semaphore(0, "async"));
    timeline = Ref<TreeTimeline>::adopt(new (std::nothrow)
                                            TreeTimeline(std::move(semaphore), queue.queue));
    if (!timeline) return no_memory();
  }
  return timeline;
}

Result<Ref<TrackedStorage>> DeviceState::create_storage(QueueState* home) {
  TrackedStorage* object = nullptr;
  {
    base::LockGuard lock(mutex_);
    object = free_;
    if (object != nullptr) free_ = object->next_;
  }
  if (object != nullptr) {
    object->retain();  // one reference, as a new object has
  } else {
    object = new (std::nothrow) TrackedStorage();
    if (object == nullptr) return no_memory();
  }
  auto storage = Ref<TrackedStorage>::adopt(object);
  storage->home_ = home;
  storage->is_slot_ = home == nullptr;
  storage->is_adopted_ = false;
  storage->device_ = this;
  retain();
  return storage;
}

Result<Ref<TrackedStorage>> DeviceState::allocate(QueueState& queue, const hal::Pool& pool,
                                                  const hal::BufferInfo& buffer,
                                                  const hal::SubmitInfo& info) {
  HALYARD_ASSIGN_OR_RETURN(Ref<TrackedStorage> storage, create_storage(&queue));
  HALYARD_ASSIGN_OR_RETURN(storage->buffer_, queue.queue.allocate(pool, buffer, info));
  return storage;
}

Result<Ref<TrackedStorage>> DeviceState::create_slot() { return create_storage(nullptr); }

Result<Ref<TrackedStorage>> DeviceState::adopt(QueueState& queue, hal::Buffer buffer) {
  HALYARD_ASSIGN_OR_RETURN(Ref<TrackedStorage> storage, create_storage(&queue));
  storage->buffer_ = std::move(buffer);
  storage->is_adopted_ = true;
  return storage;
}

void DeviceState::reclaim(TrackedStorage& storage) noexcept {
  if (const hal::Buffer buffer = std::exchange(storage.buffer_, {})) {
    WaitList waits;
    storage.add_uses(waits);
    // Fails without effect if a use has failed. In that case, as for an adopted buffer or if the
    // list of waits is incomplete, the memory returns when the last submission that uses it ends.
    if (waits.is_complete() && !storage.is_adopted_) {
      (void)storage.home_->queue.deallocate(buffer, {.wait = waits.points()});
    }
  }
  storage.note_use(Use::kWrite, {});
  base::LockGuard lock(mutex_);
  storage.next_ = std::exchange(free_, &storage);
}

void TrackedStorage::destroy() noexcept {
  // This may be the last reference to the device, whose destructor then deletes this.
  const auto device = Ref<DeviceState>::adopt(std::exchange(device_, nullptr));
  device->reclaim(*this);
}

}  // namespace halyard::inline v0::async::detail
