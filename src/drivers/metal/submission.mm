// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/submission.h"

#include <utility>

#ifdef __APPLE__
#include <time.h>
#endif

#include "drivers/metal/error.h"
#include "drivers/metal/functions.h"

namespace halyard::inline v0::metal {
namespace {

// Metal reports seconds as a double: nanosecond precision is lost about a hundred days after boot.
Nanoseconds nanoseconds(CFTimeInterval seconds) noexcept {
  return static_cast<Nanoseconds>(seconds * 1e9);
}

}  // namespace

Result<Submission> Submission::begin(id<MTLCommandQueue> queue) {
  Submission submission;
  submission.buffer_ = new_command_buffer(queue);
  if (!submission.buffer_) return failed("commandBuffer", nil);
  return submission;
}

void Submission::wait(id<MTLSharedEvent> event, std::uint64_t value) {
  [buffer() encodeWaitForEvent:event value:value];
}

void Submission::signal(id<MTLSharedEvent> event, std::uint64_t value) {
  [buffer() encodeSignalEvent:event value:value];
}

void Submission::commit() { metal::commit(buffer()); }

Submission::State Submission::state() const noexcept {
  switch ([buffer() status]) {
    case MTLCommandBufferStatusCompleted:
      return State::kDone;
    case MTLCommandBufferStatusError:
      return State::kFailed;
    default:
      return State::kRunning;
  }
}

NSError* Submission::error() const noexcept { return [buffer() error]; }

Nanoseconds Submission::started_at() const noexcept { return nanoseconds([buffer() GPUStartTime]); }

Nanoseconds Submission::ended_at() const noexcept { return nanoseconds([buffer() GPUEndTime]); }

Nanoseconds host_time() noexcept {
#ifdef __APPLE__
  return static_cast<Nanoseconds>(clock_gettime_nsec_np(CLOCK_UPTIME_RAW));
#else
  return Clock::steady().now();
#endif
}

}  // namespace halyard::inline v0::metal
