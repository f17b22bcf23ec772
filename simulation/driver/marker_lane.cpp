// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/driver/marker_lane.h"

#include "hal/recording/command.h"
#include "simulation/driver/command_buffer.h"

namespace halyard::inline v0::sim {

Status StreamApi::create_stream(Stream& stream, int) const noexcept {
  HALYARD_RETURN_IF_ERROR(device->call("open stream"));
  stream = new NativeStream(*device);
  return {};
}

Status StreamApi::create_event(Event& event) const noexcept {
  HALYARD_ASSIGN_OR_RETURN(event, device->create_event());
  return {};
}

Status Launches::put(const StreamApi&, NativeStream* stream, const timeline::Issue& issue,
                     bool& started) noexcept {
  if (static_cast<const hal::Operation*>(issue.operation)->kind == hal::OperationKind::kExecute) {
    HALYARD_RETURN_IF_ERROR(stream->launch(nullptr, 0));
    started = true;
  }
  HALYARD_RETURN_IF_ERROR(stream->launch(work_of(issue), 0));
  started = true;
  return {};
}

Result<std::unique_ptr<MarkerLane>> MarkerLane::create(NativeDevice& device,
                                                       const SimDriverOptions& options) {
  std::unique_ptr<MarkerLane> lane(new MarkerLane(device, options));
  if (Status status = lane->open(); !status.ok()) {
    (void)lane->abandon(status, 0);
    return status;
  }
  return lane;
}

timeline::IssueResult MarkerLane::issue(std::span<const timeline::Issue> batch,
                                        timeline::Doorbell doorbell) noexcept {
  std::size_t taken = 0;
  // An empty lane has room.
  while (taken < batch.size() &&
         (passed() == issued() || Scheduler::current()->random().below(256) >= options_.busy)) {
    ++taken;
  }
  timeline::IssueResult result = Lane::issue(batch.first(taken), doorbell);
  result.busy = result.status.ok() && taken < batch.size();
  return result;
}

}  // namespace halyard::inline v0::sim
