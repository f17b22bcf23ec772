// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notifier: wakes waiters of a device's lanes, by an MTLSharedEventListener, whose thread is
// Metal's:
//
//     armer                                   listener's thread, at `value`
//     list.arm(sequence, notify)              lane.look(): reads statuses, list.advance(reached)
//     watched > least? watched := least,      watched := nothing
//     notifyListener:atValue:block:           list.least() armed meanwhile? watch it
//
// Whichever of the two comes second sees the other: armers write the list and then read `watched`,
// the block writes `watched` and then reads the list.
//
// The event says that the work of a command buffer is done; the status of the buffer, by which the
// driver counts, may say so a little later. So the block looks again for a while.
//
// A block that was given to Metal cannot be taken back and may run at any time. It shares a Watch
// with its lane, which detaches from it before it ends.
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

// A lane as its blocks see it.
class Watched {
 public:
  // How far the lane is, by the statuses of its command buffers. Any thread.
  virtual std::uint64_t look() noexcept = 0;
  // True: it is lost, or abandoned; nothing will change any more.
  virtual bool ended() const noexcept = 0;

 protected:
  ~Watched() = default;
};

class Watch final : public RefCounted {
 public:
  // Whose sequences are values of `event`. `lane` outlives detach().
  Watch(Watched& lane, Retained<id<MTLSharedEvent>> event, MTLSharedEventListener* listener)
      : event_(std::move(event)), listener_(listener), lane_(&lane) {}

  id<MTLSharedEvent> event() const noexcept { return event_.get(); }
  timeline::NotifyList& list() noexcept { return list_; }

  // NativeQueue::arm of a device that is not lost.
  void arm(std::uint64_t sequence, base::Notify& notify) noexcept;
  // Returns when no block uses the lane, and none will. Sets the event to what blocks wait for, as
  // Metal keeps them and the event until then. Once. Precondition: nothing on the device waits for
  // the event.
  void detach() noexcept;

 private:
  ~Watch() override;
  // Has Metal call fired() at `value`, or earlier, if it will not already.
  void watch(std::uint64_t value) noexcept;
  void fired(std::uint64_t value) noexcept;

  Retained<id<MTLSharedEvent>> event_;
  MTLSharedEventListener* const listener_;  // the notifier's
  timeline::NotifyList list_;
  base::Atomic<std::uint64_t> watched_{timeline::NotifyList::kNothing};

  base::Mutex mutex_;                     // guards the rest
  std::uint64_t most_ = 0;                // the largest value that Metal was given a block for
  Watched* lane_;                         // null: detached
  base::Atomic<std::uint32_t> users_{0};  // blocks that use it
};

class Notifier {
 public:
  Notifier() noexcept = default;
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Makes the listener. Once. kResourceExhausted.
  Status start();
  void stop() noexcept { listener_.reset(); }

  // kResourceExhausted.
  Result<Ref<Watch>> add(Watched& lane, Retained<id<MTLSharedEvent>> event);
  void remove(const Watch& watch) noexcept;
  // The device is lost: notifies all, early. A woken waiter polls and sees the loss. Not left to
  // Metal: a value that the host sets does not always run what waits for it.
  void release_all() noexcept;

 private:
  Retained<MTLSharedEventListener*> listener_;
  base::Mutex mutex_;  // guards watches_
  base::Array<Ref<Watch>> watches_;
};

}  // namespace halyard::inline v0::metal
