// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/cuda/call.h"

#include "sim/cuda/options.h"

namespace halyard::inline v0::sim::cuda {

Call::Call(Entry& entry, unsigned needs) {
  const std::uint64_t number = entry.count();
  ThreadState& thread = this_thread();
  if (thread.is_in_host_function) [[unlikely]] {
    // cuda.h, cuLaunchHostFunc: "The host function must not make any CUDA API calls. Attempting to
    // use a CUDA API may result in CUDA_ERROR_NOT_PERMITTED, but this is not required."
    report_misuse("call-in-host-function", std::string("a host function called ") + entry.name());
    if (!options().adversarial || choose(number, 5, 2) == 0) {
      refusal_ = kNotPermitted;
      return;
    }
  }
  if (entry.may_fail()) [[unlikely]] {
    if (const int fault = entry.fault(number); fault != 0) {
      refusal_ = static_cast<Result>(fault);
      return;
    }
  }
  lock_ = Lock(state().mutex);
  refusal_ = check(needs);
}

Result Call::check(unsigned needs) {
  State& all = state();
  if ((needs & kInitialized) == 0) return kSuccess;
  if (!all.is_initialized) return kNotInitialized;
  if (all.lost != kSuccess) return all.lost;
  const ThreadState& thread = this_thread();
  context_ = thread.current();
  if ((needs & (kCurrent | kCurrentFaulty)) != kInitialized) {
    if (context_ == nullptr) return kInvalidContext;
    if (context_->is_destroyed) return kContextIsDestroyed;
    if ((needs & kCurrent) == kCurrent && context_->sticky != kSuccess) return context_->sticky;
  }
  // cuda.h, cuThreadExchangeStreamCaptureMode: potentially unsafe calls are prohibited if this
  // thread has a capture that is not relaxed, or any thread has a global one, by the mode of this
  // thread.
  if ((needs & kUnsafeInCapture) != 0 && thread.capture_mode != kCaptureRelaxed &&
      (thread.local_captures != 0 ||
       (thread.capture_mode == kCaptureGlobal && all.global_captures != 0))) [[unlikely]] {
    report_misuse("unsafe-call-in-capture",
                  "a potentially unsafe call was made while a stream was being captured");
    return kCaptureUnsupported;
  }
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::cuda
