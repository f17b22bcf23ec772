// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/call.h"

#include "simulation/gpu/capture.h"
#include "simulation/gpu/options.h"
#include "simulation/gpu/rules.h"

namespace halyard::inline v0::sim::gpu {

Result Call::refuse(const Entry& entry, std::uint64_t number) {
  if (this_thread().is_in_host_function) {
    // cuda.h, cuLaunchHostFunc: "The host function must not make any CUDA API calls. Attempting to
    // use a CUDA API may result in CUDA_ERROR_NOT_PERMITTED, but this is not required."
    report_misuse("call-in-host-function", std::string("a host function called ") + entry.name());
    if (!options().adversarial || choose(number, 5, 2) == 0) return kNotPermitted;
  }
  return entry.may_fail() ? static_cast<Result>(entry.fault(number)) : kSuccess;
}

Result Call::check_captures(const ThreadState& thread) {
  // cuda.h, cuThreadExchangeStreamCaptureMode: potentially unsafe calls are prohibited if this
  // thread has a capture that is not relaxed, or any thread has a global one, by the mode of this
  // thread.
  if (thread.capture_mode != kCaptureRelaxed &&
      (thread.local_captures != 0 ||
       (thread.capture_mode == kCaptureGlobal && state().global_captures != 0))) [[unlikely]] {
    report_misuse("unsafe-call-in-capture",
                  "a potentially unsafe call was made while a stream was being captured");
    const bool ends_others = !rules().ends_own_captures_first || thread.local_captures == 0;
    invalidate_captures(ends_others && thread.capture_mode == kCaptureGlobal);
    return kCaptureUnsupported;
  }
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::gpu
