// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lane: a stream of the simulated library for the timeline engine.
#pragma once

#include <deque>

#include "sim/driver.h"
#include "sim/native.h"
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
  Status mark() noexcept override;
  timeline::Progress poll() noexcept override;
  Status probe() noexcept override { return stream_.query(); }
  Status arm(std::uint64_t sequence, base::Notify& notify) noexcept override {
    return stream_.notify_at(sequence, notify);
  }
  timeline::Abandoned abandon(const Status&) noexcept override;

 private:
  struct Marker {
    std::uint64_t sequence;
    NativeEvent event;
  };
  Status push(const timeline::Issue& issue);
  Status wait(const timeline::Edge& edge);
  Status record(std::uint64_t sequence);

  const SimDriverOptions& options_;
  const timeline::QueueCapabilities capabilities_;
  NativeDevice& device_;
  NativeStream stream_;
  std::uint64_t issued_ = 0;
  std::deque<Marker> markers_;  // ascending; addresses stay
  bool abandoned_ = false;
};

}  // namespace halyard::inline v0::sim
