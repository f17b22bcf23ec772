// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/storage.h"

#include <algorithm>

#include "async/device_state.h"
#include "halyard/async/operation.h"

namespace halyard::inline v0::async::detail {

namespace {

// Trees use a tensor again and again: of the same timeline only the value changes.
void put(Moment& place, const Moment& moment) {
  if (place.timeline != moment.timeline) place.timeline = moment.timeline;
  place.value = moment.value;
}

}  // namespace

template <class F>
void TrackedStorage::for_each_read(F&& call) {
  for (Moment& read : reads_) {
    if (read.timeline) call(read);
  }
  for (Moment& read : more_reads_) call(read);
}

void TrackedStorage::before(Use use, const Timeline& timeline, Waits& waits) {
  // The values of one timeline wait for each other.
  if (written_.timeline.get() != &timeline) waits.add(written_);
  if (use == Use::kRead) return;
  if (is_read_unnoted_) waits.set_incomplete();
  for_each_read([&](const Moment& read) {
    if (read.timeline.get() == &timeline) return;
    // A reader's fault is none of the writer's. But a timeline fails at once, and a submission in
    // front of what failed may still run.
    if (progress_of(read) == Progress::kFailed) {
      waits.add_issued(timeline_of(read).queue());
    } else {
      waits.add(read);
    }
  });
}

void TrackedStorage::set_write(const Moment& moment) {
  put(written_, moment);
  for (Moment& read : reads_) {
    if (read.timeline) read = {};
  }
  more_reads_.shrink(0);
  is_read_unnoted_ = false;
}

void TrackedStorage::add_uses(Waits& waits) {
  if (is_read_unnoted_) waits.set_incomplete();
  waits.add(written_);
  for_each_read([&](const Moment& read) { waits.add(read); });
}

Status TrackedStorage::join_to(Context& context, Use use) {
  Status status = context.join(written_);
  if (use == Use::kRead) return status;
  if (is_read_unnoted_) return no_memory();
  for_each_read([&](const Moment& read) {
    // A reader's fault is none of the writer's; what of it still runs reads for nobody.
    if (status.ok() && progress_of(read) != Progress::kFailed) status = context.join(read);
  });
  return status;
}

void TrackedStorage::add_read(const Moment& moment) {
  base::LockGuard lock(mutex_);
  Moment* place = nullptr;
  const auto consider = [&](Moment& read) {
    if (read.timeline == moment.timeline || (place == nullptr && !read.timeline)) place = &read;
  };
  std::ranges::for_each(reads_, consider);
  std::ranges::for_each(more_reads_, consider);
  if (place == nullptr) {
    const auto over = [](const Moment& read) { return progress_of(read) == Progress::kReached; };
    const auto left = std::remove_if(more_reads_.begin(), more_reads_.end(), over);
    more_reads_.shrink(static_cast<std::size_t>(left - more_reads_.begin()));
    if (const auto read = std::ranges::find_if(reads_, over); read != reads_.end()) place = &*read;
  }
  if (place != nullptr) {
    put(*place, moment);
  } else if (!more_reads_.push_back(moment)) {
    is_read_unnoted_ = true;
  }
}

QueueRef TrackedStorage::last_queue() const {
  const Device device = device_->handle();
  QueueRef home;
  for (std::size_t i = 0; i < device_->queue_count(); ++i) {
    const QueueState& queue = device_->queue(i);
    if (written_.timeline && timeline_of(written_).queue() == queue.queue) return device.queue(i);
    if (&queue == home_) home = device.queue(i);
  }
  return home;
}

QueueRef queue_of(const Storage* storage) {
  return storage == nullptr ? QueueRef() : tracked(storage)->last_queue();
}

void OpInputs::add(const StorageRange& memory) {
  if (memory.storage == nullptr || count_ == kMost) return;
  inputs_[count_++] = {tracked(memory.storage)->last_queue(), memory.length};
}

}  // namespace halyard::inline v0::async::detail
