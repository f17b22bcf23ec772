// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HcqDevice: the raw hardware-queue device behind hcq::open_cpu().
#pragma once

#include <memory>

#include "drivers/cpu/workers.h"
#include "halyard/hcq/device.h"
#include "hcq/host_queue.h"
#include "hcq/ring_group.h"

namespace halyard::inline v0::cpu {

class HcqDevice final : public hcq::Device {
 public:
  // With 0 workers the device is stepped by hand, through group().
  static Result<std::unique_ptr<HcqDevice>> create(unsigned workers,
                                                   const hcq::HostQueueLimits& limits = {});
  ~HcqDevice() override;

  hcq::RingGroup& group() noexcept { return group_; }

 private:
  HcqDevice(hcq::Signal timeline_signal, unsigned workers) noexcept
      : Device(std::move(timeline_signal)), group_(workers), workers_(group_) {}
  Status submit(hcq::QueueType type, const hcq::detail::CommandList& commands) override;
  Status submit(hcq::QueueType type, hcq::detail::BoundList& commands) override;
  Result<Ref<hcq::detail::BoundList>> bind(const hcq::detail::CommandList& commands) override;
  hcq::HostQueue& queue(hcq::QueueType type) noexcept {
    return type == hcq::QueueType::kCompute ? *compute_ : *copy_;
  }

  hcq::RingGroup group_;
  Workers workers_;
  std::unique_ptr<hcq::HostQueue> compute_;
  std::unique_ptr<hcq::HostQueue> copy_;
};

}  // namespace halyard::inline v0::cpu
