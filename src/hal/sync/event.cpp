// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/sync/event.h"

#include <algorithm>
#include <memory>
#include <new>

#include "hal/object.h"
#include "hal/queue/queue.h"
#include "hal/recording/command_buffer.h"
#include "timeline/submission.h"

namespace halyard::inline v0::hal {

// ---- EventSetter

static_assert(sizeof(EventSetter) % alignof(Point) == 0, "its signals follow it");

Result<Ref<EventSetter>> EventSetter::create(QueueObject& queue, Points signals) {
  HALYARD_ASSIGN_OR_RETURN(HandleRef<timeline::Semaphore> end, queue.take_semaphore());
  Block block;
  HALYARD_RETURN_IF_ERROR(
      queue.allocate_block(sizeof(EventSetter) + signals.size() * sizeof(Point), block));
  auto* setter = ::new (block.data()) EventSetter(queue, std::move(end), signals);
  setter->block_ = std::move(block);
  return Ref<EventSetter>::adopt(setter);
}

EventSetter::EventSetter(QueueObject& queue, HandleRef<timeline::Semaphore> end,
                         Points signals) noexcept
    : queue_(queue),
      end_(std::move(end)),
      end_value_(end_->value() + 1),
      signal_count_(signals.size()) {
  std::ranges::uninitialized_copy(signals, this->signals());
  for (const Point& signal : signals) {
    if (signal.semaphore() != nullptr) signal.semaphore()->retain();
  }
}

void EventSetter::destroy() noexcept {
  for (const Point& signal : signals()) {
    if (signal.semaphore() != nullptr) signal.semaphore()->release();
  }
  // Otherwise the semaphore has failed, or a submission may still wait for it.
  if (end_->value_state(end_value_) == timeline::Semaphore::ValueState::kReached) {
    queue_.give_back(std::move(end_));
  }
  const Block block = std::move(block_);
  this->~EventSetter();
}

bool EventSetter::waited_on_by(Points waits) const noexcept {
  for (const Point& signal : signals()) {
    for (const Point& wait : waits) {
      if (wait.semaphore() == signal.semaphore() && wait.value() >= signal.value()) return true;
    }
  }
  return false;
}

// ---- EventObject

Result<Event> EventObject::create(DeviceObject& device) {
  auto* object = new (std::nothrow) EventObject(device);
  if (object == nullptr) {
    return error(StatusCode::kResourceExhausted, "device {}: no memory for an event object",
                 device.name());
  }
  return first_handle<Event>(object);
}

void EventObject::change(EventChange& change, const Ref<EventSetter>& setter) noexcept {
  change.had = std::exchange(setter_, setter);
  change.number = ++changes_;
  change.replaced = std::exchange(current_, change.number);
  change.next = std::exchange(open_, &change);
}

void EventObject::keep(EventChange& change) noexcept {
  EventChange** at = &open_;
  while (*at != &change) at = &(*at)->next;
  *at = change.next;
}

// Moves dropped references to `change`, because setters must not be destroyed under the lock.
void EventObject::take_back(EventChange& change) noexcept {
  keep(change);
  if (current_ == change.number) {
    std::swap(setter_, change.had);
    current_ = change.replaced;
    return;
  }
  // At most one change replaced this one; once it is kept, the state before it is no longer needed.
  for (EventChange* later = open_; later != nullptr; later = later->next) {
    if (later->replaced != change.number) continue;
    std::swap(later->had, change.had);
    later->replaced = change.replaced;
  }
}

// ---- Submissions

namespace {

// Finds the ends that the submission must wait for. Returns kFailedPrecondition if an event is not
// set, or `waits` has no signal of the setting submission.
Status find_ends(std::span<const EventUse> uses, Points waits, Point*& ends) {
  for (const EventUse& use : uses) {
    if (use.first_wait == EventUse::kNone) continue;
    const EventSetter* const setter = use.event->setter().get();
    if (setter == nullptr) {
      return error(StatusCode::kFailedPrecondition,
                   "command {} (wait_event): no submission has set the event, or one has reset it",
                   use.first_wait);
    }
    if (!setter->waited_on_by(waits)) {
      return error(StatusCode::kFailedPrecondition,
                   "command {} (wait_event): this submission does not wait on the one that sets "
                   "the event",
                   use.first_wait);
    }
    *ends++ = setter->end();
  }
  return {};
}

}  // namespace

Status QueueObject::send_with_events(timeline::Submission& submission,
                                     const CommandBufferObject& recording, Ref<EventSetter>& kept,
                                     const SubmitInfo& info, timeline::LanePoint* issued) {
  using After = EventUse::After;
  const std::span<const EventUse> uses = recording.events();
  const auto refuse = [&](const Status& status) {
    queue_->discard(submission);
    return refused(status, "execute");
  };
  // Waits, an end for each event, signals, and the submission's own end.
  const std::size_t point_count = info.wait.size() + uses.size() + info.signal.size() + 1;
  static_assert(alignof(EventChange) <= alignof(Point));
  Block block;
  Status status =
      allocate_block(point_count * sizeof(Point) + uses.size() * sizeof(EventChange), block);
  Ref<EventSetter> setter;
  if (status.ok() &&
      std::ranges::any_of(uses, [](const EventUse& use) { return use.after == After::kSet; })) {
    Result<Ref<EventSetter>> created = EventSetter::create(*this, info.signal);
    status = created.status();
    if (created.ok()) setter = *std::move(created);
  }
  if (!status.ok()) return refuse(status);

  auto* const waits = reinterpret_cast<Point*>(block.data());
  Point* waits_end = std::uninitialized_copy(info.wait.begin(), info.wait.end(), waits);
  auto* const changes = reinterpret_cast<EventChange*>(waits + point_count);
  {
    // Events change before the submission, because a thread that sees it complete may at once
    // submit work that waits for its events.
    base::LockGuard lock(device_.event_mutex());
    status = find_ends(uses, info.wait, waits_end);
    if (status.ok()) {
      for (std::size_t i = 0; i < uses.size(); ++i) {
        // The change also retains the end that the submission waits for.
        EventChange& change = *::new (&changes[i]) EventChange{uses[i].event->setter()};
        if (uses[i].after == After::kUnchanged) continue;
        uses[i].event->change(change, uses[i].after == After::kSet ? setter : Ref<EventSetter>());
      }
    }
  }
  if (!status.ok()) return refuse(status);

  Point* const signals = waits_end;
  Point* signals_end = std::uninitialized_copy(info.signal.begin(), info.signal.end(), signals);
  if (setter) *signals_end++ = setter->end();
  kept = setter;
  SubmitInfo with_ends = info;
  with_ends.wait = Points(waits, static_cast<std::size_t>(waits_end - waits));
  with_ends.signal = Points(signals, static_cast<std::size_t>(signals_end - signals));
  status = send(submission, with_ends, issued);
  {
    base::LockGuard lock(device_.event_mutex());
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (changes[i].number == 0) continue;
      status.ok() ? uses[i].event->keep(changes[i]) : uses[i].event->take_back(changes[i]);
    }
  }
  // Another submission may already wait for this set: make it fail with the same error.
  if (!status.ok() && setter) setter->end().semaphore()->fail(status);
  std::destroy_n(changes, uses.size());
  return status;
}

}  // namespace halyard::inline v0::hal
