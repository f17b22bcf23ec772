// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notifier: wakes the threads that wait for a device's lanes, by an MTLSharedEventListener. Its
// blocks run on a thread of Metal:
//
//     arming thread                           listener's thread, at `value`
//     list.arm(sequence, notify)              lane.look(): reads statuses, list.advance(reached)
//     watched > least? watched := least,      watched := nothing
//     notifyListener:atValue:block:           list.least() armed meanwhile? watch it
//
// No wake-up is lost: arming threads write the list and then read `watched`, and the block writes
// `watched` and then reads the list, so whichever is second sees the other's write.
//
// The event shows that the work of a command buffer is done. The buffer's status, which the driver
// counts, may follow a little later, so the block polls it for a while.
//
// Metal cannot cancel a block, which may run at any time. So the block and its lane share a Watch,
// and the lane detaches from it before its destruction.
#pragma once

#import <Metal/Metal.h>

#include <cstdint>

#include "base/array.h"
#include "base/atomic.h"
#include "base/mutex.h"
#include "drivers/metal/retained.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/base/status.h"
#include "timeline/notify_list.h"

namespace halyard::inline v0::metal {

// The interface of a lane for its blocks.
class Watched {
 public:
  // Reads the statuses of the lane's command buffers and returns the sequence reached. Any thread.
  virtual std::uint64_t look() noexcept = 0;
  // True if the lane is lost or abandoned: its sequence does not change any more.
  virtual bool ended() const noexcept = 0;

 protected:
  ~Watched() = default;
};

class Watch final : public RefCounted {
 public:
  // The sequences of `lane` are values of `event`. `lane` outlives detach().
  Watch(Watched& lane, Retained<id<MTLSharedEvent>> event, MTLSharedEventListener* listener)
      : event_(std::move(event)), listener_(listener), lane_(&lane) {}

  id<MTLSharedEvent> event() const noexcept { return event_.get(); }
  timeline::NotifyList& list() noexcept { return list_; }

  // Implements NativeQueue::arm() on a device that is not lost.
  void arm(std::uint64_t sequence, base::Notify& notify) noexcept;
  // Returns once no block uses the lane or will use it. Sets the event to the values that blocks
  // wait for, because Metal keeps the blocks and the event until then. Called once. Precondition:
  // nothing on the device waits for the event.
  void detach() noexcept;

 private:
  ~Watch() override;
  // Makes Metal call fired() at `value` or earlier, unless a block for such a value is already
  // pending.
  void watch(std::uint64_t value) noexcept;
  void fired(std::uint64_t value) noexcept;

  Retained<id<MTLSharedEvent>> event_;
  MTLSharedEventListener* const listener_;  // the notifier's
  timeline::NotifyList list_;
  base::Atomic<std::uint64_t> watched_{timeline::NotifyList::kNothing};

  base::Mutex mutex_;                     // guards the rest
  std::uint64_t most_ = 0;                // the largest value with a block
  Watched* lane_;                         // null after detach()
  base::Atomic<std::uint32_t> users_{0};  // blocks that use lane_
};

class Notifier {
 public:
  Notifier() noexcept = default;
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Makes the listener. Called once. Returns kResourceExhausted if Metal makes none.
  Status start();
  void stop() noexcept { listener_.reset(); }

  // Returns kResourceExhausted if there is no memory for the watch.
  Result<Ref<Watch>> add(Watched& lane, Retained<id<MTLSharedEvent>> event);
  void remove(const Watch& watch) noexcept;
  // After the loss of the device, notifies all waiters early; a woken waiter polls and sees the
  // loss. Metal would not do this reliably: a value that the host sets does not always run the
  // blocks that wait for it.
  void release_all() noexcept;

 private:
  Retained<MTLSharedEventListener*> listener_;
  base::Mutex mutex_;  // guards watches_
  base::Array<Ref<Watch>> watches_;
};

}  // namespace halyard::inline v0::metal
