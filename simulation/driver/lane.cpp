// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/driver/lane.h"

#include <cassert>

#include "base/format.h"
#include "simulation/driver/command_buffer.h"

namespace halyard::inline v0::sim {

Lane::Lane(NativeDevice& device, const SimDriverOptions& options)
    : options_(options),
      capabilities_{.marks_every_submission = true, .max_in_flight = options.max_in_flight},
      device_(device),
      stream_(device) {}

timeline::IssueResult Lane::issue(std::span<const timeline::Issue> batch,
                                  timeline::Doorbell) noexcept {
  timeline::IssueResult result;
  for (const timeline::Issue& issue : batch) {
    // A lane that poll() has seen empty has room.
    if (seen_ < issued_ && Scheduler::current()->random().below(256) < options_.busy) {
      result.busy = true;
      break;
    }
    result.status = push(issue, result.left);
    if (!result.status.ok()) break;
    result.left = timeline::Left::kNothing;
    ++result.count;
  }
  return result;
}

// A wait that was pushed remains, so the submission keeps its sequence if it fails later.
Status Lane::push(const timeline::Issue& issue, timeline::Left& left) {
  assert(issue.sequence == issued_ + 1 && "sequences have no gaps");
  Status status;
  for (const timeline::Edge& edge : issue.waits) {
    status = stream_.wait(static_cast<const Lane*>(edge.queue)->stream_, edge.sequence);
    if (!status.ok()) break;
    left = timeline::Left::kWaits;
  }
  if (status.ok()) status = stream_.launch(work_of(issue), issue.sequence);
  const bool waits = left != timeline::Left::kNothing;
  if (!status.ok() && waits) stream_.skip_to(issue.sequence);
  if (status.ok() || waits) ++issued_;
  return status;
}

timeline::Progress Lane::poll() noexcept {
  // Query the fault first: work that completed before the fault counts as done.
  timeline::Progress progress;
  progress.fault = stream_.query();
  progress.sequence = seen_ = stream_.progress();
  // A call may fail without a fault of the device.
  if (!device_.faulted()) progress.fault = {};
  return progress;
}

timeline::Abandoned Lane::abandon(const Status&, Nanoseconds) noexcept {
  return stream_.abandon() ? timeline::Abandoned::kStopped : timeline::Abandoned::kStopping;
}

}  // namespace halyard::inline v0::sim
