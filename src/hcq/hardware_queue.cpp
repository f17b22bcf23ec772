// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hcq/hardware_queue.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/format.h"

namespace halyard::inline v0::hcq {

Result<std::unique_ptr<HardwareQueue>> HardwareQueue::create(
    QueueRing& ring, QueueEncoder& encoder, std::unique_ptr<detail::Timeline> timeline,
    const std::function<std::unique_ptr<WordList::BlockMemory>()>& memory,
    const HardwareQueueLimits& limits) {
  std::unique_ptr<HardwareQueue> queue(new (std::nothrow)
                                           HardwareQueue(ring, std::move(timeline), limits));
  if (queue == nullptr) return error(StatusCode::kResourceExhausted, "queue: no memory");
  for (std::size_t i = 0; i < limits.in_flight; ++i) {
    auto fence = std::make_unique<Fence>();
    fence->commands.add({.kind = detail::CommandKind::kSignal});
    fence->commands.set_signal(queue->timeline_->last().signal);
    HALYARD_ASSIGN_OR_RETURN(fence->words, EncodedList::create(fence->commands, encoder, memory()));
    fence->commands.bound = fence->words;
    queue->fences_.push_back(std::move(fence));
  }
  return queue;
}

Status HardwareQueue::submit(Ref<EncodedList> list) {
  base::LockGuard lock(mutex_);
  if (closed_) return error(StatusCode::kUnavailable, "queue: its device is closed");
  retire();
  feed();
  if (backlog_.size() == limits_.backlog) {
    return error(StatusCode::kResourceExhausted, "queue: {} lists are waiting", backlog_.size());
  }
  backlog_.push_back(std::move(list));
  feed();
  return {};
}

void HardwareQueue::advance() {
  base::LockGuard lock(mutex_);
  retire();
  feed();
}

void HardwareQueue::close() {
  base::LockGuard lock(mutex_);
  closed_ = true;
  backlog_.resize(pushed_ == 0 ? 0 : 1);
}

void HardwareQueue::retire() {
  for (; in_flight_ != 0 && fences_[first_]->done.reached(); --in_flight_) {
    fences_[first_]->list = {};
    first_ = (first_ + 1) % fences_.size();
  }
}

void HardwareQueue::feed() {
  while (!backlog_.empty() && in_flight_ < fences_.size()) {
    Fence& fence = *fences_[(first_ + in_flight_) % fences_.size()];
    const std::span<const DeviceSpan> segments = backlog_.front()->segments().subspan(pushed_);
    const std::span<const DeviceSpan> last = fence.words->segments();
    const std::size_t room = ring_.room();
    if (segments.size() + last.size() > room) {
      // As much as fits: a list may be longer than the ring.
      const std::size_t count = std::min(segments.size(), room);
      if (count != 0) ring_.push(segments.first(count));
      pushed_ += count;
      return;
    }
    set(fence);
    entries_.assign(segments.begin(), segments.end());
    entries_.insert(entries_.end(), last.begin(), last.end());
    ring_.push(entries_);
    fence.list = std::move(backlog_.front());
    backlog_.pop_front();
    pushed_ = 0;
    ++in_flight_;
  }
}

// Gives the fence the next point.
void HardwareQueue::set(Fence& fence) {
  {
    base::LockGuard turn(timeline_->submit_mutex);
    fence.done = timeline_->next();
    timeline_->take(fence.done);
  }
  fence.commands.commands[0].object = Ref<RefCounted>(fence.done.signal.object());
  fence.commands.note(0, detail::kObject);
  fence.commands.change(0, detail::kValue, fence.done.value);
  fence.words->update(fence.commands, 0, 1);
  fence.commands.changes_written();
}

}  // namespace halyard::inline v0::hcq
