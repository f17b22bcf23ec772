// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lane: a queue of the serial device for the timeline engine: one thread, and the submissions that
// it runs in the order of their issue.
//
//     issuer                        thread                                 pollers, armers
//     slot 1, 2, 3; issued_ := 3    edges of 1, operation 1                poll(): sequence_
//     wake(parker_)  ────────────>  sequence_ := 1; any armed for 1? ──>   notify()
//
// The thread waits for an edge as any waiter does: it arms the other lane with its own parker. So
// the wait involves neither a host thread nor the engine.
#pragma once

#include <cstdint>
#include <memory>

#include "base/atomic.h"
#include "base/mutex.h"
#include "base/parker.h"
#include "base/thread.h"
#include "hal/memory/arena.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"
#include "timeline/lane_end.h"
#include "timeline/native_queue.h"
#include "timeline/notify_list.h"

namespace halyard::inline v0::serial {

inline constexpr std::uint32_t kMaxInFlight = 256;  // submissions in a lane

class Lane final : public timeline::NativeQueue {
 public:
  // Starts the thread. Returns kResourceExhausted.
  static Result<std::unique_ptr<Lane>> create();
  // Abandons pending submissions and waits for the thread.
  ~Lane() override;

  const timeline::QueueCapabilities& capabilities() const noexcept override;
  timeline::IssueResult issue(std::span<const timeline::Issue> batch,
                              timeline::Doorbell doorbell) noexcept override;
  timeline::Progress poll() noexcept override;
  Status probe() noexcept override;
  Status arm(std::uint64_t sequence, base::Notify& notify) noexcept override;
  timeline::Abandoned abandon(const Status& cause, Nanoseconds waited) noexcept override;
  // Whether abandon() has left an operation running: the lane must stay.
  bool still_running() const noexcept { return end_.still_running(); }

 private:
  struct Slot {
    const hal::Operation* operation;
    trace::Stamps* stamps;
    hal::Array<timeline::Edge> waits;  // keeps its memory for the next submission
  };

  Lane() noexcept = default;
  Slot& slot(std::uint64_t sequence) noexcept { return slots_[sequence % kMaxInFlight]; }

  // These run on the thread. Those with a result return false if the lane was abandoned meanwhile.
  void serve() noexcept;
  void run_next() noexcept;
  bool wait_for(const timeline::Edge& edge) noexcept;
  bool run(const Slot& next) noexcept;

  base::Parker& parker_ = base::ParkerPool::acquire();  // the thread sleeps on it
  base::Thread thread_;

  Slot slots_[kMaxInFlight];
  base::Atomic<std::uint64_t> issued_{0};    // the issuer's: slots up to here are filled
  base::Atomic<std::uint64_t> sequence_{0};  // the thread's: the latest submission that has run

  timeline::LaneEnd end_;
  base::Mutex turn_;  // the thread holds it while it touches a slot or another lane
  base::Atomic<bool> running_{false};  // an operation: it may last

  timeline::NotifyList armed_;
};

}  // namespace halyard::inline v0::serial
