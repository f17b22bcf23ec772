// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TrackedStorage: a tensor's memory and its last uses: the moment of the last write and, for each
// timeline, the moment of the last read since. They determine all edges between trees, queues and
// devices:
//
//   a read    waits for the write                                       RAW
//   a write   waits for the write and the reads, and replaces them      WAW, WAR
//   the free  as a write
//
// Each timeline with reads in flight has one entry, so the list does not grow with use. If a read
// cannot be noted for lack of memory, no submission can be ordered after all reads any more. Then
// the tensor can be read but not written, and its memory returns without a submission
// (DeviceState::reclaim).
#pragma once

#include <array>

#include "async/tree_timeline.h"
#include "base/array.h"
#include "base/mutex.h"
#include "halyard/async/context.h"
#include "halyard/async/detail/storage.h"

namespace halyard::inline v0::async::detail {

class DeviceState;
struct QueueState;

enum class Use : bool { kRead, kWrite };

class TrackedStorage final : public Storage {
 public:
  const DeviceState* device() const noexcept { return device_; }
  // Whether it has no memory: it is a placeholder for the array of each replay (tree_recording.h).
  bool is_slot() const noexcept { return is_slot_; }
  // The queue of its device that wrote it last, otherwise the queue that allocated it.
  QueueRef last_queue() const;

  // Adds to `waits` the moments before which `timeline` must not use it. Only the single owner
  // writes; several threads may read at once.
  void add_waits_before(Use use, const TreeTimeline& timeline, WaitList& waits);
  // Notes a use that ends at `moment`.
  void note_use(Use use, const Moment& moment) {
    use == Use::kRead ? add_read(moment) : set_write(moment);
  }
  // Adds all noted uses to `waits`. Called by the last owner.
  void add_uses(WaitList& waits);
  // Joins to `context` the uses that must be complete before the host may use it.
  Status join_to(Context& context, Use use);

 private:
  friend class DeviceState;
  // Number of timelines that can read a tensor at the same time without an allocation.
  static constexpr std::size_t kInlineReads = 3;

  TrackedStorage() = default;
  ~TrackedStorage() override = default;
  void destroy() noexcept override;  // returns it to its device; never blocks
  void add_read(const Moment& moment);
  void set_write(const Moment& moment);
  template <class F>
  void for_each_read(F&& call);

  DeviceState* device_ = nullptr;  // holds a reference
  QueueState* home_ = nullptr;     // the queue that allocated it; null for a slot
  bool is_slot_ = false;
  bool is_adopted_ = false;  // the storage must not deallocate its buffer
  Moment written_;
  base::Mutex mutex_;  // guards the lists of reads against concurrent reads
  std::array<Moment, kInlineReads> reads_;
  base::Array<Moment> more_reads_;
  bool is_read_unnoted_ = false;
  TrackedStorage* next_ = nullptr;  // in the device's free list
};

inline TrackedStorage* tracked(Storage* storage) noexcept {
  return static_cast<TrackedStorage*>(storage);
}
inline const TrackedStorage* tracked(const Storage* storage) noexcept {
  return static_cast<const TrackedStorage*>(storage);
}

}  // namespace halyard::inline v0::async::detail
