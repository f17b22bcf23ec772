// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/queue.h"

#include <cassert>

#include "base/format.h"
#include "hal/command.h"
#include "sim/command_buffer.h"

namespace halyard::inline v0::sim {

Lane::Lane(NativeDevice& device, const SimDriverOptions& options)
    : options_(options),
      capabilities_{.marks_every_submission = options.marks_every_submission,
                    .max_in_flight = options.max_in_flight},
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
  for (const timeline::Edge& edge : issue.waits) HALYARD_RETURN_IF_ERROR(wait(edge));
  const auto run = [](void* operation) { sim::run(*static_cast<hal::Operation*>(operation)); };
  auto* const operation =
      const_cast<hal::Operation*>(static_cast<const hal::Operation*>(issue.operation));
  HALYARD_RETURN_IF_ERROR(
      stream_.launch(run, operation, options_.marks_every_submission ? issue.sequence : 0));
  ++issued_;
  // The operation is in the stream: from here on only the loss of the device ends it.
  if (issue.want_marker && !record(issued_).ok()) device_.fault("marker");
  return {};
}

Status Lane::wait(const timeline::Edge& edge) {
  Lane& other = *static_cast<Lane*>(edge.queue);
  if (other.options_.marks_every_submission) return stream_.wait(other.stream_, edge.sequence);
  for (const Marker& marker : other.markers_) {
    if (marker.sequence != edge.sequence) continue;
    if (marker.event.generation != 0) return stream_.wait(marker.event);
    return error(StatusCode::kUnavailable, "{}: its marker could not be recorded",
                 other.device_.name());
  }
  Scheduler::current()->fail("sim: an edge to where no marker is");
}

// The progress is written behind the event: who sees it finds the event passed.
Status Lane::record(std::uint64_t sequence) {
  Marker& marker = markers_.emplace_back(sequence);
  HALYARD_RETURN_IF_ERROR(stream_.record(marker.event));
  return stream_.launch(nullptr, nullptr, sequence);
}

Status Lane::mark() noexcept {
  assert(!options_.marks_every_submission);
  return record(issued_);
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

timeline::Abandoned Lane::abandon(const Status&) noexcept {
  if (!std::exchange(abandoned_, true)) stream_.abandon();
  return timeline::Abandoned::kStopped;
}

}  // namespace halyard::inline v0::sim
