// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/storage.h"

#include <algorithm>

#include "async/device_state.h"
#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/tensor.h"

namespace halyard::inline v0::async::detail {

template <class F>
void TrackedStorage::for_each_read(F&& call) {
  for (Moment& read : reads_) {
    if (read) call(read);
  }
  for (Moment& read : more_reads_) call(read);
}

void TrackedStorage::add_waits_before(Use use, const TreeTimeline& timeline, WaitList& waits) {
  // Submissions of one timeline are ordered already.
  if (!written_.is_on(timeline)) waits.add(written_);
  if (use == Use::kRead) return;
  if (is_read_unnoted_) waits.set_incomplete();
  for_each_read([&](const Moment& read) {
    if (read.is_on(timeline)) return;
    // A failed read does not fail the write. But a timeline fails at once, while submissions before
    // the failed one may still run.
    if (read.state() == Moment::State::kFailed) {
      waits.add_issued(read.timeline().queue());
    } else {
      waits.add(read);
    }
  });
}

void TrackedStorage::set_write(const Moment& moment) {
  written_ = moment;
  for (Moment& read : reads_) {
    if (read) read = {};
  }
  more_reads_.shrink(0);
  is_read_unnoted_ = false;
}

void TrackedStorage::add_uses(WaitList& waits) {
  if (is_read_unnoted_) waits.set_incomplete();
  waits.add(written_);
  for_each_read([&](const Moment& read) { waits.add(read); });
}

Status TrackedStorage::join_to(Context& context, Use use) {
  Status status = context.join(written_);
  if (use == Use::kRead) return status;
  if (is_read_unnoted_) return no_memory();
  for_each_read([&](const Moment& read) {
    // A failed read does not fail the export; the result of its remaining work is not used.
    if (status.ok() && read.state() != Moment::State::kFailed) status = context.join(read);
  });
  return status;
}

void TrackedStorage::add_read(const Moment& moment) {
  base::LockGuard lock(mutex_);
  Moment* place = nullptr;
  const auto find_place = [&](Moment& read) {
    if (read.is_on_timeline_of(moment) || (place == nullptr && !read)) place = &read;
  };
  std::ranges::for_each(reads_, find_place);
  std::ranges::for_each(more_reads_, find_place);
  if (place == nullptr) {
    const auto is_done = [](const Moment& read) { return read.state() == Moment::State::kReached; };
    const auto left = std::remove_if(more_reads_.begin(), more_reads_.end(), is_done);
    more_reads_.shrink(static_cast<std::size_t>(left - more_reads_.begin()));
    if (const auto read = std::ranges::find_if(reads_, is_done); read != reads_.end())
      place = &*read;
  }
  if (place != nullptr) {
    *place = moment;
  } else if (!more_reads_.push_back(moment)) {
    is_read_unnoted_ = true;
  }
}

QueueRef TrackedStorage::last_queue() const {
  const Device device = device_->handle();
  QueueRef home;
  for (std::size_t i = 0; i < device_->queue_count(); ++i) {
    const QueueState& queue = device_->queue(i);
    if (written_ && written_.timeline().queue() == queue.queue) return device.queue(i);
    if (&queue == home_) home = device.queue(i);
  }
  return home;
}

QueueRef queue_of(const Storage* storage) {
  return storage == nullptr ? QueueRef() : tracked(storage)->last_queue();
}

void OpInputs::add(const StorageRange& memory) {
  if (memory.storage == nullptr || count_ == kMaxInputs) return;
  inputs_[count_++] = {tracked(memory.storage)->last_queue(), memory.length};
}

}  // namespace halyard::inline v0::async::detail
