// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/driver/lane.h"

#include <cassert>

#include "base/format.h"
#include "sim/driver/command_buffer.h"

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
    // An empty lane has room.
    if (stream_.progress() < issued_ && Scheduler::current()->random().below(256) < options_.busy) {
      result.busy = true;
      break;
    }
    result.status = push(issue);
    if (!result.status.ok()) break;
    ++result.count;
  }
  return result;
}

// Waits that were pushed before a failure do no harm: what they wait for was issued before.
Status Lane::push(const timeline::Issue& issue) {
  assert(issue.sequence == issued_ + 1 && "sequences have no gaps");
  for (const timeline::Edge& edge : issue.waits) {
    HALYARD_RETURN_IF_ERROR(
        stream_.wait(static_cast<const Lane*>(edge.queue)->stream_, edge.sequence));
  }
  HALYARD_RETURN_IF_ERROR(stream_.launch(work_of(issue), issue.sequence));
  ++issued_;
  return {};
}

timeline::Progress Lane::poll() noexcept {
  // In this order: what was done before the fault counts.
  timeline::Progress progress;
  progress.fault = stream_.query();
  progress.sequence = stream_.progress();
  // A call may fail without a fault of the device.
  if (!device_.faulted()) progress.fault = {};
  return progress;
}

timeline::Abandoned Lane::abandon(const Status&, Nanoseconds) noexcept {
  return stream_.abandon() ? timeline::Abandoned::kStopped : timeline::Abandoned::kStopping;
}

}  // namespace halyard::inline v0::sim
