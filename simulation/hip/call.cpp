// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/call.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/thread.h"
#include "simulation/gpu/capture.h"
#include "simulation/gpu/process.h"
#include "simulation/gpu/stream.h"
#include "simulation/hip/device.h"
#include "simulation/hip/errors.h"

namespace halyard::inline v0::sim::hip {

#if defined(HALYARD_SIMULATION)
// Indexed by the scheduler's thread numbers. Needs no lock, because no other simulated thread runs
// meanwhile.
Thread& hip_thread() {
  static std::vector<std::unique_ptr<Thread>>* threads = nullptr;
  if (threads == nullptr) {
    threads = new std::vector<std::unique_ptr<Thread>>;
    gpu::at_end_of_process([] { delete std::exchange(threads, nullptr); });
  }
  const std::uint64_t number = base::this_thread();
  if (threads->size() <= number) threads->resize(number + 1);
  std::unique_ptr<Thread>& thread = (*threads)[number];
  if (thread == nullptr) thread = std::make_unique<Thread>();
  return *thread;
}
#endif

Result begin_thread() {
  const gpu::Lock lock(state().mutex);
  const bool was_initialized = state().is_initialized.load();
  if (const Result result = gpu::initialize(); result != kSuccess) return result;
  if (!was_initialized) {
    for (std::size_t i = 0; i < state().devices.size(); ++i) {
      gpu::DeviceState& device = state().devices[i];
      device.primary = gpu::make_context(static_cast<DeviceId>(i), 0, true)->handle;
      device.primary_references = 1;
    }
    // Runs before the destructors of globals that were constructed before the first call.
    [[maybe_unused]] static const int once = std::atexit([] { main_has_ended.store(true); });
  }
  const ContextState* const current = gpu::this_thread().current();
  set_device(current != nullptr ? current->device : 0);
  return kSuccess;
}

void report_call_after_main(const Entry& entry) {
  gpu::report_misuse("call-after-main", std::string(entry.name()) +
                                            " was called after main, when the real library has "
                                            "torn its statics down");
}

ContextState& context_of(DeviceId device) {
  return *state().devices[static_cast<std::size_t>(device)].primary->object;
}

void set_device(DeviceId device) { gpu::this_thread().contexts.assign(1, &context_of(device)); }

Result translate(Result result) {
  switch (result) {
    case gpu::kIllegalInstruction:
    case gpu::kInvalidPc:
    case gpu::kLaunchTimeout:
      return gpu::kLaunchFailed;
    case gpu::kMisalignedAddress:
    case gpu::kInvalidAddressSpace:
      return gpu::kIllegalAddress;
    case gpu::kNotPermitted:  // a call in a host function: hipError_t has no such number
      return gpu::kNotSupported;
    default:
      return result;
  }
}

void log_call(const Entry& entry, Result result) {
  // The form of HIP_ERROR_PRINT (hip_internal.hpp).
  std::fprintf(stderr, ":3:simulated HIP: %s: Returned %s :\n", entry.name(), error_name(result));
}

namespace {

void break_all_captures() {
  for (const auto& context : state().contexts) gpu::invalidate_captures(*context);
}

}  // namespace

Result refuse_in_capture(const ContextState& context, Result refusal) {
  if (state().captures == 0) [[likely]]
    return kSuccess;
  if (is_since(kVersion70) && !gpu::is_captured(const_cast<ContextState&>(context))) {
    return kSuccess;
  }
  break_all_captures();
  return refusal;
}

Result refuse_in_any_capture(Result refusal) {
  if (state().captures == 0) [[likely]]
    return kSuccess;
  break_all_captures();
  return refusal;
}

}  // namespace halyard::inline v0::sim::hip
