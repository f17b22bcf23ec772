// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// EventObject: an event, with the submission that set it last. EventSetter: a submission that sets
// events.
//
// Within a recording the driver implements events. Across recordings the HAL does: a submission
// that sets events also signals a semaphore, its end. A submission whose recording waits for an
// event that it does not set itself waits for that end. So the wait lasts until the set is done
// even if something else signals the user's semaphore, and it fails if the setting submission
// fails.
//
// Lifetime: an event belongs to one device. Handles and recordings of the event keep the device
// open, and submissions end before the device does, so setters may be allocated in its pool. When
// the last handle of the event is dropped the device may close first, so the event also holds a
// reference to the device object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hal/device/device.h"
#include "hal/memory/block_pool.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/event.h"
#include "halyard/hal/semaphore.h"
#include "timeline/semaphore.h"

namespace halyard::inline v0::hal {

// A submission that sets events; shared by all events that it was the last to set.
class EventSetter final : public RefCounted {
 public:
  // `signals` are not validated yet. Returns kResourceExhausted.
  static Result<Ref<EventSetter>> create(QueueObject& queue, Points signals);

  // Whether one of `waits` waits for one of its signals.
  bool waited_on_by(Points waits) const noexcept;
  Point end() const noexcept { return {end_.get(), end_value_}; }

 private:
  EventSetter(QueueObject& queue, HandleRef<timeline::Semaphore> end, Points signals) noexcept;
  void destroy() noexcept override;
  std::span<Point> signals() const noexcept {
    auto* const behind = const_cast<EventSetter*>(this) + 1;
    return {reinterpret_cast<Point*>(behind), signal_count_};
  }

  QueueObject& queue_;
  Block block_;  // holds this object, followed by its signals, each with a reference
  HandleRef<timeline::Semaphore> end_;
  const std::uint64_t end_value_;
  const std::size_t signal_count_;
};

// A change of an event by a submission that is not yet queued or refused.
struct EventChange {
  Ref<EventSetter> had;        // the event's previous setter
  std::uint64_t replaced = 0;  // the number of the change that set it
  std::uint64_t number = 0;    // 0: nothing was changed
  EventChange* next = nullptr;
};

class EventObject final : public RefCounted {
 public:
  static Result<Event> create(DeviceObject& device);

  DeviceObject& device() const noexcept { return *device_; }

  // ---- Under DeviceObject::event_mutex.

  // Null: not set.
  const Ref<EventSetter>& setter() const noexcept { return setter_; }
  // Must be followed by one call of keep() or take_back().
  void change(EventChange& change, const Ref<EventSetter>& setter) noexcept;
  void keep(EventChange& change) noexcept;
  // Undoes a change. Undoing a later change afterwards does not restore it.
  void take_back(EventChange& change) noexcept;

 private:
  explicit EventObject(DeviceObject& device) noexcept : device_(&device), keeps_open_(&device) {}
  void on_last_handle() noexcept override { keeps_open_ = {}; }

  const Ref<DeviceObject> device_;
  HandleRef<DeviceObject> keeps_open_;
  Ref<EventSetter> setter_;
  std::uint64_t current_ = 0;  // the number of the change that set setter_
  std::uint64_t changes_ = 0;
  EventChange* open_ = nullptr;  // neither kept nor taken back
};

// The effect of a recording on an event, for its submissions.
struct EventUse {
  static constexpr std::size_t kNone = ~std::size_t{0};
  enum class After : std::uint8_t { kUnchanged, kSet, kReset };

  EventObject* event = nullptr;     // the recording retains it
  std::size_t first_wait = kNone;   // the command that needs a set of another submission
  After after = After::kUnchanged;  // the last thing done to it
};

}  // namespace halyard::inline v0::hal
