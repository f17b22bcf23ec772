// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TrackedStorage: a tensor's memory, and what it was last used by: the moment of its last write,
// and of the last read of each timeline since. From these come all edges between trees, queues and
// devices:
//
//   a read    waits for the write                                       RAW
//   a write   waits for the write and the reads, and replaces them      WAW, WAR
//   the free  as a write
//
// There is one read per timeline that is under way, so the list does not grow with use. Where there
// is no memory to note a read, nothing can be ordered behind all of them any more: the tensor can
// be read, but not written, and its memory returns without a submission (DeviceState::give_back).
#pragma once

#include <array>

#include "async/timeline.h"
#include "base/array.h"
#include "base/mutex.h"
#include "halyard/async/context.h"

namespace halyard::inline v0::async::detail {

class DeviceState;
struct QueueState;

enum class Use : bool { kRead, kWrite };

class TrackedStorage final : public Storage {
 public:
  const DeviceState* device() const noexcept { return device_; }
  // Without memory: it stands for what each replay of a recording brings (recording.h).
  bool is_slot() const noexcept { return is_slot_; }
  // Of its last write, where that was on its device; else where it was allocated.
  QueueRef last_queue() const;

  // Adds to `waits` what has to be done before `timeline` uses it. Writes are by the only owner; a
  // read may be beside others.
  void before(Use use, const Timeline& timeline, Waits& waits);
  // It is used, and that is done at `moment`.
  void after(Use use, const Moment& moment) {
    use == Use::kRead ? add_read(moment) : set_write(moment);
  }
  // By its last owner.
  void add_uses(Waits& waits);
  // Who awaits `context` awaits that the host may use it so.
  Status join_to(Context& context, Use use);

 private:
  friend class DeviceState;
  // Trees that read one tensor at a time, beyond which a list is allocated.
  static constexpr std::size_t kInlineReads = 3;

  TrackedStorage() = default;
  ~TrackedStorage() override = default;
  void destroy() noexcept override;  // back to its device; blocks for nothing
  void add_read(const Moment& moment);
  void set_write(const Moment& moment);
  template <class F>
  void for_each_read(F&& call);

  DeviceState* device_ = nullptr;  // counted
  QueueState* home_ = nullptr;     // where it was allocated; of a slot nowhere
  bool is_slot_ = false;
  Moment written_;
  base::Mutex mutex_;  // guards the reads against each other
  std::array<Moment, kInlineReads> reads_;
  base::Array<Moment> more_reads_;
  bool is_read_unnoted_ = false;
  TrackedStorage* next_ = nullptr;  // while it is free
};

inline TrackedStorage* tracked(Storage* storage) noexcept {
  return static_cast<TrackedStorage*>(storage);
}
inline const TrackedStorage* tracked(const Storage* storage) noexcept {
  return static_cast<const TrackedStorage*>(storage);
}

}  // namespace halyard::inline v0::async::detail
