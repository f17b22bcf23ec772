// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lane: a stream of the simulated library for the timeline engine, in which each submission writes
// the progress that the host and peers read. marker_lane.h has the other kind.
#pragma once

#include "simulation/driver/driver.h"
#include "simulation/driver/native.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::sim {

class Lane final : public timeline::NativeQueue {
 public:
  Lane(NativeDevice& device, const SimDriverOptions& options);

  const timeline::QueueCapabilities& capabilities() const noexcept override {
    return capabilities_;
  }
  timeline::IssueResult issue(std::span<const timeline::Issue> batch,
                              timeline::Doorbell doorbell) noexcept override;
  timeline::Progress poll() noexcept override;
  Status probe() noexcept override { return stream_.query(); }
  Status arm(std::uint64_t sequence, base::Notify& notify) noexcept override {
    return stream_.notify_at(sequence, notify);
  }
  timeline::Abandoned abandon(const Status&, Nanoseconds) noexcept override;

 private:
  Status push(const timeline::Issue& issue, timeline::Left& left);

  const SimDriverOptions& options_;
  const timeline::QueueCapabilities capabilities_;
  NativeDevice& device_;
  NativeStream stream_;
  std::uint64_t issued_ = 0;
  std::uint64_t seen_ = 0;  // by poll()
};

}  // namespace halyard::inline v0::sim
