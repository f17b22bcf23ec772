// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The prologue and epilogue of every exported function. HIP initializes itself at the first call of
// any function, has a current device in every thread, and remembers each thread's last error.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "simulation/gpu/call.h"
#include "simulation/gpu/state.h"
#include "simulation/hip/abi.h"
#include "simulation/hip/settings.h"

namespace halyard::inline v0::sim::hip {

using gpu::Call;
using gpu::ContextState;
using gpu::DevicePointer;
using gpu::Entry;
using gpu::kSuccess;
using gpu::state;

// hipStream and grid of a "<<<>>>" launch, between __hipPushCallConfiguration and its Pop.
struct Configuration {
  Dim3 grid, block;
  std::size_t shared_bytes;
  Stream stream;
};

// HIP's thread-local state in addition to the core's. Trivially destructible, because programs call
// HIP from their destructors.
struct Thread {
  static constexpr std::size_t kMostContexts = 64, kMostConfigurations = 16;

  Result last_error = kSuccess;
  // The stack of hipCtxPushCurrent, of device numbers. It does not contain the current device.
  std::size_t contexts = 0;
  int context[kMostContexts] = {};
  std::size_t configurations = 0;
  Configuration configuration[kMostConfigurations] = {};
};
#if defined(HALYARD_SIMULATION)
// A function, because all simulated threads share a thread of the system.
Thread& hip_thread();
#else
inline constinit thread_local Thread thread_of_system;
inline Thread& hip_thread() { return thread_of_system; }
#endif

// Initializes the process if needed, and makes a device current in a thread without one: device 0
// in a new thread, or the previous device if that was reset. Returns kNoDevice if there are no
// devices. Locks the State.
Result begin_thread();

// True once the functions of atexit(3) run. Later calls are reported, because the real library has
// destroyed its statics by then (AMDMIGraphX#4792, ROCm/clr#272).
inline constinit base::Atomic<bool> main_has_ended{false};
void report_call_after_main(const Entry& entry);

// HIP's number for a result of the core.
Result translate(Result result);
// Prints the call if AMD_LOG_LEVEL asks for it.
void log_call(const Entry& entry, Result result);

// Ends a call and updates the thread's last error. Up to 6.x that is the result of the last call,
// success included; from 7.0 it is the last real error (hip_internal.hpp, HIP_UPDATE_ERROR_STATE).
inline Result finish(const Entry& entry, Result result) {
  const Settings& how = settings();
  if (result != kSuccess) [[unlikely]]
    result = translate(result);
  if (how.version < kVersion70) {
    hip_thread().last_error = result;
  } else if (result != kSuccess && result != gpu::kNotReady) {
    hip_thread().last_error = result;
  }
  if (how.log_level >= 3) [[unlikely]]
    log_call(entry, result);
  return result;
}

// Runs the body of a function: `Running{entry, needs} + body`.
struct Running {
  Entry& entry;
  unsigned needs;

  template <class Body>
  friend Result operator+(Running of, Body body) {
    const ContextState* const current = gpu::this_thread().current();
    // Another thread may have reset the device.
    if (current == nullptr || current->is_destroyed.load()) [[unlikely]] {
      const Result begun = begin_thread();
      if (begun != kSuccess && of.needs != gpu::kAnytime) {
        of.entry.count();
        return finish(of.entry, begun);
      }
    }
    if (main_has_ended.load(std::memory_order_relaxed)) [[unlikely]]
      report_call_after_main(of.entry);
    Result result = kSuccess;
    {
      Call call(of.entry, of.needs);
      result = call.is_refused() ? call.refusal() : body(call);
    }
    return finish(of.entry, result);
  }
};

#define HALYARD_HIP_EXPORT extern "C" __attribute__((visibility("default")))

// The only statement of a function, followed by the function's body in braces, in which `call` is
// the gpu::Call.
#define HALYARD_HIP_CALL(name, needs)                  \
  static constinit gpu::Entry call_entry(#name, true); \
  return Running{call_entry, needs} + [&]([[maybe_unused]] gpu::Call & call) -> Result

// The device that is current in this thread. Precondition: the thread has begun.
inline DeviceId current_device() { return gpu::this_thread().current()->device; }
// Makes a device current. Precondition: gpu::is_device. The State is locked.
void set_device(DeviceId device);
// The context of a device. Precondition: gpu::is_device. The State is locked.
ContextState& context_of(DeviceId device);

inline DevicePointer address_of(const void* pointer) {
  return reinterpret_cast<DevicePointer>(pointer);
}
inline void* pointer_to(DevicePointer address) { return reinterpret_cast<void*>(address); }

// hip_internal.hpp, CHECK_STREAM_CAPTURING: blocking calls, and calls on the null stream,
// invalidate every capture, whatever its mode; from 7.0 only if a captured stream waits for the
// null stream. The State is locked.
Result refuse_in_capture(const ContextState& context, Result refusal);
// CHECK_SUPPORTED_DURING_CAPTURE
Result refuse_in_any_capture(Result refusal);

}  // namespace halyard::inline v0::sim::hip
