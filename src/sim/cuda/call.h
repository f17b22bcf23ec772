// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The beginning of every exported function: counts the call, injects faults, and answers the errors
// that every function may answer.
#pragma once

#include "sim/cuda/report.h"
#include "sim/cuda/state.h"

namespace halyard::inline v0::sim::cuda {

// What a function needs of its caller, or'ed.
enum Need : unsigned {
  kAnytime = 0,          // works before cuInit
  kInitialized = 1,      // after cuInit
  kCurrent = 3,          // a context is current in this thread, and has no sticky error
  kCurrentFaulty = 5,    // a context is current; it may have a sticky error
  kUnsafeInCapture = 8,  // forbidden while a capture is in progress that is not relaxed
};

class Call {
 public:
  // Locks the State.
  Call(Entry& entry, unsigned needs);

  bool is_refused() const { return refusal_ != kSuccess; }
  Result refusal() const { return refusal_; }
  Lock& lock() { return lock_; }
  ContextState& context() const { return *context_; }

 private:
  Result check(unsigned needs);

  Lock lock_;
  ContextState* context_ = nullptr;
  Result refusal_ = kSuccess;
};

#define HALYARD_CUDA_EXPORT extern "C" __attribute__((visibility("default")))

// The first statement of a function: counts it, and returns if it is refused.
#define HALYARD_CUDA_CALL(name, needs)  \
  static Entry call_entry(#name, true); \
  Call call(call_entry, needs);         \
  if (call.is_refused()) return call.refusal()

#define HALYARD_CUDA_REQUIRE(condition, result) \
  if (!(condition)) return result

}  // namespace halyard::inline v0::sim::cuda
