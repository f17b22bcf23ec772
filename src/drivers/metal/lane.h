// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lane: a native queue of a metal device for the timeline engine. It has its own MTLCommandQueue,
// and an MTLSharedEvent whose value is the lane's sequence.
//
//     issue {1}{2}{3}     one command buffer for each submission n: it waits for the edges and for
//                         the lane's value n - 1, does the work, and signals n
//     edge to (lane, n)   encodeWaitForEvent: on that lane's event; the lane may belong to any
//                         device of the process
//     poll()              reads the status of the oldest buffers
//     arm()               notifyListener: (notifier.h)
//
// Command buffers of one queue start in order but may end in any order, so each waits for the
// previous one. Edges are encoded before the work, into the same buffer: a wait holds back only the
// later work of its own buffer.
//
// The event orders work on the device. The host counts statuses instead, because an event's value
// is set before its buffer has ended, and a failed buffer may or may not signal. A lane has reached
// n when the buffers through n have the status Completed and the lanes that they waited for have
// reached their edges. So work that the signal of a failed buffer released is never reported as
// done.
//
// After a fault nothing may wait on the device for ever: once the engine knows of the loss,
// abandon() sets the event from the host, and the buffers in flight run to their end.
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
#include "timeline/lane_end.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::metal {

class Lane final : public timeline::NativeQueue, private Watched {
 public:
  // How long the engine calls abandon() for work that does not end. The system itself stops a
  // command buffer after a few seconds.
  static constexpr Nanoseconds kPatience = 10'000'000'000;

  // `guard` outlives the lane. Returns kResourceExhausted if a Metal object cannot be made.
  static Result<std::unique_ptr<Lane>> create(const ArgumentHeap& heap,
                                              timeline::EntryGuard* guard);
  // Precondition: abandon() has returned kStopped, or nothing was issued.
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
  // State of a submission in flight, besides its operation.
  struct Slot {
    base::Array<Submission> buffers;  // in their order
    std::size_t ended = 0;            // how many have ended, from the front; written by look()
    base::Array<timeline::Edge> edges;
    Arguments arguments;
    Stamping stamping;
    ManagedUses managed;  // empty without DeviceOptions::managed
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
  bool has_reached(std::uint64_t sequence) const noexcept {
    return reached_.load(std::memory_order_acquire) >= sequence;
  }

  // ---- Called by the issuer.
  // The number of command buffers that the issue needs.
  static std::uint32_t buffers_of(const timeline::Issue& issue) noexcept;
  // Encodes the issue into the slot's buffers. On failure the caller clears the slot.
  Status encode(const timeline::Issue& issue, Slot& slot);
  Status encode_work(const timeline::Issue& issue, Slot& slot, Encoder& encoder);
  // Begins the next buffer of the slot, which runs after the previous one.
  Status begin_buffer(Slot& slot, Encoder& encoder);
  void clear(Slot& slot) noexcept;

  // ---- Called by any thread that holds mutex_, except that look() takes it itself and ended()
  // needs no lock.
  std::uint64_t look() noexcept override;
  bool ended() const noexcept override { return end_.begun() || device_.lost(); }
  // True if all buffers of the slot have completed. Loses the device if one has failed.
  bool has_ended(Slot& slot) noexcept;
  // True if the lanes that the slot waited for have reached its edges.
  bool edges_hold(Slot& slot) noexcept;
  void retire(Slot& slot) noexcept;
  // Releases everything that waits for this lane on the device.
  void raise_all() noexcept;

  const ArgumentHeap heap_;
  NativeDevice& device_;  // the heap's
  timeline::EntryGuard* const guard_;
  const timeline::QueueCapabilities capabilities_;
  Retained<id<MTLCommandQueue>> queue_;
  Retained<id<MTLFence>> fence_;        // orders the encoders of each buffer
  Retained<id<MTLSharedEvent>> order_;  // orders the buffers of one submission; made when needed
  Ref<Watch> watch_;                    // with the event
  Slot slots_[kMaxInFlight];

  std::uint64_t order_value_ = 0;           // used by the issuer: the last value for order_
  base::Atomic<std::uint32_t> buffers_{0};  // made, and not known to have ended
  base::Atomic<std::uint64_t> issued_{0};   // written after the buffers were committed
  base::Atomic<std::uint64_t> reached_{0};  // written under mutex_

  base::Mutex mutex_;  // held while statuses are read
  timeline::LaneEnd end_;
};

}  // namespace halyard::inline v0::metal
