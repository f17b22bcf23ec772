// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hal/fence.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "base/mutex.h"
#include "hal/object.h"
#include "timeline/semaphore.h"

namespace halyard::inline v0::hal {

class FenceObject final : public RefCounted {
 public:
  static constexpr std::string_view kTypeName = "fence";

  // Entries are only added, so a copy of the points stays valid as long as this object.
  struct Entry {
    Semaphore semaphore;
    std::uint64_t value = 0;
  };

  // `call`: the function's name for messages.
  Status insert(timeline::Semaphore* semaphore, std::uint64_t value, const char* call) {
    if (semaphore == nullptr) {
      return error(StatusCode::kInvalidArgument, "fence: {}: the point has no semaphore", call);
    }
    if (value > timeline::kMaxValue) {
      return error(StatusCode::kInvalidArgument, "fence: {}: {}: value {} above 2^63-1", call,
                   semaphore->describe(), base::number(value));
    }
    Semaphore handle(semaphore);  // taken and dropped outside the lock
    base::LockGuard lock(mutex_);
    for (std::size_t i = 0; i < count_; ++i) {
      Entry& entry = entries_[i];
      if (entry.semaphore == handle) {
        entry.value = std::max(entry.value, value);
        return {};
      }
    }
    if (count_ != 0 && &entries_[0].semaphore.object()->engine() != &semaphore->engine()) {
      return error(StatusCode::kPermissionDenied, "fence: {}: {} is of another runtime than {}",
                   call, semaphore->describe(), entries_[0].semaphore.object()->describe());
    }
    if (count_ == capacity_) HALYARD_RETURN_IF_ERROR(grow());
    entries_[count_++] = {std::move(handle), value};
    return {};
  }

  std::size_t size() noexcept {
    base::LockGuard lock(mutex_);
    return count_;
  }

  std::vector<Point> points() {
    std::vector<Point> points;
    base::LockGuard lock(mutex_);
    points.reserve(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      points.emplace_back(entries_[i].semaphore, entries_[i].value);
    }
    return points;
  }

 private:
  Status grow() {
    const std::size_t capacity = capacity_ == 0 ? 4 : 2 * capacity_;
    std::unique_ptr<Entry[]> larger(new (std::nothrow) Entry[capacity]);
    if (larger == nullptr) {
      return error(StatusCode::kResourceExhausted, "fence: no memory for {} points", capacity);
    }
    std::move(entries_.get(), entries_.get() + count_, larger.get());
    entries_ = std::move(larger);
    capacity_ = capacity;
    return {};
  }

  base::Mutex mutex_;
  std::unique_ptr<Entry[]> entries_;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
};

Result<Fence> Fence::create(Points points) {
  auto* object = new (std::nothrow) FenceObject;
  if (object == nullptr) return Status(StatusCode::kResourceExhausted, "fence: no memory");
  Fence fence = first_handle<Fence>(object);
  for (const Point& point : points) {
    HALYARD_RETURN_IF_ERROR(fence.object()->insert(point.semaphore(), point.value(), "create"));
  }
  return fence;
}

Status Fence::insert(const Point& point) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "insert"));
  return object()->insert(point.semaphore(), point.value(), "insert");
}

Status Fence::extend(const Fence& other) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "extend"));
  HALYARD_RETURN_IF_ERROR(check_handle(other, "extend"));
  for (const Point& point : other.points()) {
    HALYARD_RETURN_IF_ERROR(object()->insert(point.semaphore(), point.value(), "extend"));
  }
  return {};
}

std::size_t Fence::size() const noexcept { return object() ? object()->size() : 0; }

std::vector<Point> Fence::points() const {
  return object() ? object()->points() : std::vector<Point>();
}

Result<bool> Fence::query() const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "query"));
  bool reached = true;
  for (const Point& point : points()) {
    // query() polls the devices' progress; look() reports a reached value before a later failure.
    (void)point.semaphore()->query();
    const auto state = point.semaphore()->value_state(point.value());
    if (state == timeline::Semaphore::ValueState::kFailed) return point.semaphore()->failure();
    reached &= state == timeline::Semaphore::ValueState::kReached;
  }
  return reached;
}

Status Fence::wait(Deadline deadline) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "wait"));
  return wait_all(points(), deadline);
}

Status Fence::signal() const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "signal"));
  Status first;
  for (const Point& point : points()) {
    if (point.semaphore()->value_state(point.value()) == timeline::Semaphore::ValueState::kReached) {
      continue;
    }
    Status status = point.semaphore()->signal(point.value());
    if (first.ok()) first = std::move(status);
  }
  return first;
}

void Fence::fail(const Status& status) const {
  for (const Point& point : points()) point.semaphore()->fail(status);
}

}  // namespace halyard::inline v0::hal
