// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lane: a queue of a metal device for the timeline engine: an MTLCommandQueue of its own, and an
// MTLSharedEvent whose value is the lane's sequence.
//
//     issue {1}{2}{3}     a command buffer each: waits for its edges and for the lane's value n -
//     1,
//                         work, a signal of n
//     edge to (lane, n)   encodeWaitForEvent: of that lane's event, of any device of the process
//     poll()              status of the oldest buffers
//     arm()               notifyListener: (notifier.h)
//
// Command buffers of one queue start in order and may end in any, so each waits for the one before.
// Edges are encoded before the work, into the same buffer: a wait in a buffer of its own holds back
// the later work of that buffer alone.
//
// The event is for the device. The host counts statuses: an event's value is there before its
// buffer is over, and a buffer that fails may signal or not. A lane has reached n when the statuses
// through n are Completed and the lanes that n waited for have reached its edges: what was let go
// by the signal of a buffer that failed is never reported as done.
//
// After a fault nothing may be waiting on the device for ever: abandon() sets the event by hand,
// once the engine knows of the loss, and what is in flight runs to its end.
#pragma once

#import <Metal/Metal.h>

#include <cstdint>
#include <memory>

#include "base/array.h"
#include "base/atomic.h"
#include "base/mutex.h"
#include "drivers/metal/allocator.h"
#include "drivers/metal/encoder.h"
#include "drivers/metal/managed.h"
#include "drivers/metal/native_device.h"
#include "drivers/metal/notifier.h"
#include "drivers/metal/stamping.h"
#include "drivers/metal/submission.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::metal {

class Lane final : public timeline::NativeQueue, private Watched {
 public:
  // For how long abandon() is asked for work that does not end. The system stops a command buffer
  // after some seconds.
  static constexpr Nanoseconds kPatience = 10'000'000'000;

  // `guard` outlives the lane. kResourceExhausted.
  static Result<std::unique_ptr<Lane>> create(const ArgumentHeap& heap,
                                              timeline::EntryGuard* guard);
  // Precondition: abandon() has answered kStopped, or nothing was issued.
  ~Lane() override;

  const timeline::QueueCapabilities& capabilities() const noexcept override {
    return capabilities_;
  }
  timeline::EntryGuard* entry_guard() const noexcept override { return guard_; }
  timeline::IssueResult issue(std::span<const timeline::Issue> batch,
                              timeline::Doorbell doorbell) noexcept override;
  timeline::Progress poll() noexcept override;
  Status probe() noexcept override;
  Status arm(std::uint64_t sequence, base::Notify& notify) noexcept override;
  timeline::Abandoned abandon(const Status& cause, Nanoseconds waited) noexcept override;

 private:
  // What a submission in flight has besides its operation.
  struct Slot {
    base::Array<Submission> buffers;  // in their order
    std::size_t ended = 0;            // of them, from the front; by look()
    base::Array<timeline::Edge> edges;
    Arguments arguments;
    Stamping stamping;
    ManagedUses managed;  // of a device with DeviceOptions::managed
  };

  Lane(const ArgumentHeap& heap, timeline::EntryGuard* guard) noexcept
      : heap_(heap),
        device_(heap.device()),
        guard_(guard),
        capabilities_{.marks_every_submission = true,
                      .max_in_flight = kMaxInFlight,
                      .poll_time = heap.device().options().poll_time} {}
  Status open();

  Slot& slot(std::uint64_t sequence) noexcept { return slots_[sequence % kMaxInFlight]; }
  bool abandoned() const noexcept { return abandoned_.load(std::memory_order_seq_cst); }
  bool has_reached(std::uint64_t sequence) const noexcept {
    return reached_.load(std::memory_order_acquire) >= sequence;
  }

  // ---- The issuer's.
  // How many command buffers it takes.
  static std::uint32_t buffers_of(const timeline::Issue& issue) noexcept;
  // Encodes it into the slot's buffers. Of one that fails the slot is to be cleared.
  Status encode(const timeline::Issue& issue, Slot& slot);
  Status encode_work(const timeline::Issue& issue, Slot& slot, Encoder& encoder);
  // The next buffer of the slot, ordered after the one before.
  Status begin_buffer(Slot& slot, Encoder& encoder);
  void clear(Slot& slot) noexcept;

  // ---- By any thread, one at a time: whoever has mutex_.
  std::uint64_t look() noexcept override;
  bool ended() const noexcept override { return abandoned() || device_.lost(); }
  // Whether the buffers of a slot have ended well. Loses the device if one has failed.
  bool has_ended(Slot& slot) noexcept;
  // Whether the lanes that it waited for have reached its edges.
  bool edges_hold(Slot& slot) noexcept;
  void retire(Slot& slot) noexcept;
  // Has whatever waits for this lane on the device go on.
  void raise_all() noexcept;

  const ArgumentHeap heap_;
  NativeDevice& device_;  // the heap's
  timeline::EntryGuard* const guard_;
  const timeline::QueueCapabilities capabilities_;
  Retained<id<MTLCommandQueue>> queue_;
  Retained<id<MTLFence>> fence_;        // orders the encoders of each of its buffers
  Retained<id<MTLSharedEvent>> order_;  // orders the buffers of one submission; made when needed
  Ref<Watch> watch_;                    // with the event
  Slot slots_[kMaxInFlight];

  std::uint64_t order_value_ = 0;           // the issuer's: last value that order_ is to get
  base::Atomic<std::uint32_t> buffers_{0};  // in flight: made, and not known to have ended
  base::Atomic<std::uint64_t> issued_{0};   // written after the buffers were committed
  base::Atomic<std::uint64_t> reached_{0};  // written under mutex_

  base::Mutex mutex_;  // held while statuses are read
  base::Atomic<bool> abandoned_{false};
  Status cause_;                                              // written before abandoned_
  timeline::Abandoned end_ = timeline::Abandoned::kStopping;  // what abandon() has found
};

}  // namespace halyard::inline v0::metal
