// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instances: which native form of a recording a submission uses (timelines.md, rule 19). A graph
// that is instantiated, or a table of addresses that a prerecorded command buffer reads, serves one
// submission at a time; a driver makes a few of each, and a submission takes one as it is issued:
//
//     ask      take an instance whose latest use is ordered before this place in the lane, natively
//              or because it has retired
//     issued   the instance's latest use is now (lane, sequence)
//     none     hold the submission, unissued and not covering (timeline/gate.h), until a use ends
#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "hal/memory/pool_space.h"
#include "hal/recording/command.h"
#include "halyard/base/status.h"
#include "timeline/gate.h"

namespace halyard::inline v0::hal {

class Instances {
 public:
  static constexpr std::uint32_t kMost = 8;

  // Precondition: at most kMost instances. Called before any submission.
  void reset(const InstanceInfo& info) noexcept { info_ = info; }
  bool empty() const noexcept { return info_.count == 0; }

  // Called under the issuer role of the queue of `site`. kLater: all are in use by work that this
  // place is not ordered after; end() returns whether to ask again. kFail: no use of any will ever
  // end.
  timeline::Gate::Answer take(timeline::IssueSite& site, std::uint32_t& index,
                              Status& cause) noexcept;
  void issued(std::uint32_t index, const LanePoint& use) noexcept;
  // Called when an instance was taken, but its submission was not issued.
  void undo(std::uint32_t index) noexcept;
  // Called when a submission that took an instance has ended. True if a submission was held because
  // all instances were in use.
  [[nodiscard]] bool end() noexcept;

 private:
  struct Instance {
    LanePoint latest;    // no lane: not used yet
    bool taken = false;  // by a submission that is being issued
  };

  InstanceInfo info_{.count = 0};
  base::Mutex mutex_;  // guards the rest
  Instance instances_[kMost];
  bool wanted_ = false;
};

}  // namespace halyard::inline v0::hal
