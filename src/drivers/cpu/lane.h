// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lane: a queue of the cpu device for the timeline engine: one ring, whose packets write the lane's
// sequence. A submission is one packet, and one more for each edge it waits on.
//
// A submission issued without a doorbell runs when a thread calls help(), or when the next doorbell
// rings. A waiter that stops helping before its sequence is reached calls arm(), which rings the
// doorbell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/atomic.h"
#include "base/mutex.h"
#include "drivers/cpu/ring.h"
#include "drivers/cpu/ring_group.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"
#include "hcq/signal_object.h"
#include "timeline/lane_end.h"
#include "timeline/native_queue.h"
#include "timeline/notify_list.h"

namespace halyard::inline v0::cpu {

inline constexpr std::uint32_t kMaxInFlight = 1024;  // submissions in a lane

class Lane final : public timeline::NativeQueue, private base::Notify, private RingFaults {
 public:
  // `group` outlives the lane. Returns kResourceExhausted.
  static Result<std::unique_ptr<Lane>> create(RingGroup& group, RingPriority priority);
  // Drops pending submissions. Precondition: no thread serves the group any more.
  ~Lane() override;

  const timeline::QueueCapabilities& capabilities() const noexcept override;
  timeline::IssueResult issue(std::span<const timeline::Issue> batch,
                              timeline::Doorbell doorbell) noexcept override;
  timeline::Progress poll() noexcept override;
  Status probe() noexcept override;
  Status arm(std::uint64_t sequence, base::Notify& notify) noexcept override;
  bool help(std::uint64_t sequence) noexcept override;
  timeline::Abandoned abandon(const Status& cause, Nanoseconds waited) noexcept override;
  // Whether abandon() has left work running. Then its threads, its group and the lane must stay.
  bool still_running() const noexcept { return end_.still_running(); }

 private:
  explicit Lane(RingGroup& group) noexcept : group_(group) {}
  void push(const hal::Operation& operation, std::uint64_t sequence) noexcept;
  void push_traced(const timeline::Issue& issue) noexcept;
  void wake_if_left() noexcept;
  void notify() noexcept override { follow_armed(); }
  void fault(const Status& cause) noexcept override;
  void follow_armed() noexcept;
  Status push_waits(std::span<const timeline::Edge> waits) noexcept;

  // Read by the issuer and by helpers for each submission; rarely written.
  RingGroup& group_;
  std::unique_ptr<Ring> ring_;
  timeline::LaneEnd end_;

  hcq::SignalObject sequence_{0};  // the device's line: it writes it for each submission

  base::Atomic<std::uint64_t> rung_{0};  // the issuer's: the last sequence a doorbell was rung for

  timeline::NotifyList armed_;
  base::Mutex follow_mutex_;
  hcq::SignalObject::Waiter least_armed_{*this};  // of sequence_, for the least armed sequence
};

}  // namespace halyard::inline v0::cpu
