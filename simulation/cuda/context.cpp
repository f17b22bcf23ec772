// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuDevicePrimaryCtx and cuCtx.
#include "simulation/cuda/abi.h"
#include "simulation/gpu/call.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::cuda {
namespace {

std::string at_device(const char* what, DeviceId device) {
  return std::string(what) + " of device " + std::to_string(device);
}

constexpr unsigned kFlagsMask = 0xff;

constexpr unsigned kScheduleMask = 7;

bool are_context_flags(unsigned flags) {
  const unsigned schedule = flags & kScheduleMask;
  return (flags & ~kFlagsMask) == 0 && (schedule & (schedule - 1)) == 0;
}

Result lost(DeviceId device) { return state().devices[static_cast<std::size_t>(device)].lost; }

Result create_context(Context* context, unsigned flags, DeviceId device) {
  HALYARD_GPU_REQUIRE(context != nullptr && are_context_flags(flags), kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  HALYARD_GPU_REQUIRE(lost(device) == kSuccess, lost(device));
  ContextState* const made = make_context(device, flags, false);
  this_thread().contexts.push_back(made);
  *context = made->handle;
  return kSuccess;
}

Result release_primary(Call& call, DeviceId device) {
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  DeviceState& of = state().devices[static_cast<std::size_t>(device)];
  // cuda.h, cuDevicePrimaryCtxRelease: one release for each retain.
  HALYARD_GPU_REQUIRE(of.primary_references != 0, kInvalidContext);
  if (--of.primary_references != 0) return kSuccess;
  ContextState& context = *of.primary->object;
  of.primary = nullptr;
  end_context(call.lock(), context,
              at_device("the release of the primary context", device).c_str());
  return kSuccess;
}

Result reset_primary(Call& call, DeviceId device) {
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  DeviceState& of = state().devices[static_cast<std::size_t>(device)];
  if (of.primary == nullptr) return kSuccess;
  if (of.primary_references > 1) {
    report_misuse("primary-context-reset",
                  "a primary context that others had retained was reset under them");
  }
  ContextState& context = *of.primary->object;
  of.primary = nullptr;
  of.primary_references = 0;
  end_context(call.lock(), context, at_device("the reset of the primary context", device).c_str());
  return kSuccess;
}

Result set_primary_flags(DeviceId device, unsigned flags) {
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  HALYARD_GPU_REQUIRE(are_context_flags(flags), kInvalidValue);
  DeviceState& of = state().devices[static_cast<std::size_t>(device)];
  of.primary_flags = flags;
  if (of.primary != nullptr) of.primary->object->flags = flags;
  return kSuccess;
}

Result destroy_context(Call& call, Context handle) {
  ContextState* const context = resolve(handle);
  HALYARD_GPU_REQUIRE(context != nullptr, kInvalidContext);
  if (context->is_primary) {
    report_misuse("primary-context-destroyed", "cuCtxDestroy was called with a primary context");
    return kInvalidContext;
  }
  ThreadState& thread = this_thread();
  end_context(call.lock(), *context, "cuCtxDestroy");
  // cuda.h, cuCtxDestroy: popped if it is current to the calling thread; it stays current to
  // others.
  if (thread.current() == context) thread.contexts.pop_back();
  return kSuccess;
}

Result push_context(Context handle) {
  ContextState* const context = resolve(handle);
  HALYARD_GPU_REQUIRE(context != nullptr, kInvalidContext);
  this_thread().contexts.push_back(context);
  return kSuccess;
}

Result pop_context(Context* handle) {
  ThreadState& thread = this_thread();
  HALYARD_GPU_REQUIRE(thread.current() != nullptr, kInvalidContext);
  if (handle != nullptr) *handle = thread.current()->handle;
  thread.contexts.pop_back();
  return kSuccess;
}

}  // namespace

HALYARD_GPU_EXPORT Result cuDevicePrimaryCtxRetain(Context* context, DeviceId device) {
  HALYARD_GPU_CALL(cuDevicePrimaryCtxRetain, kInitialized);
  return retain_primary(context, device);
}

HALYARD_GPU_EXPORT Result cuDevicePrimaryCtxRelease_v2(DeviceId device) {
  HALYARD_GPU_CALL(cuDevicePrimaryCtxRelease_v2, kInitialized);
  return release_primary(call, device);
}

HALYARD_GPU_EXPORT Result cuDevicePrimaryCtxRelease(DeviceId device) {
  HALYARD_GPU_CALL(cuDevicePrimaryCtxRelease, kInitialized);
  return release_primary(call, device);
}

HALYARD_GPU_EXPORT Result cuDevicePrimaryCtxReset_v2(DeviceId device) {
  HALYARD_GPU_CALL(cuDevicePrimaryCtxReset_v2, kInitialized);
  return reset_primary(call, device);
}

HALYARD_GPU_EXPORT Result cuDevicePrimaryCtxReset(DeviceId device) {
  HALYARD_GPU_CALL(cuDevicePrimaryCtxReset, kInitialized);
  return reset_primary(call, device);
}

HALYARD_GPU_EXPORT Result cuDevicePrimaryCtxSetFlags_v2(DeviceId device, unsigned flags) {
  HALYARD_GPU_CALL(cuDevicePrimaryCtxSetFlags_v2, kInitialized);
  return set_primary_flags(device, flags);
}

HALYARD_GPU_EXPORT Result cuDevicePrimaryCtxSetFlags(DeviceId device, unsigned flags) {
  HALYARD_GPU_CALL(cuDevicePrimaryCtxSetFlags, kInitialized);
  return set_primary_flags(device, flags);
}

HALYARD_GPU_EXPORT Result cuDevicePrimaryCtxGetState(DeviceId device, unsigned* flags,
                                                     int* is_active) {
  HALYARD_GPU_CALL(cuDevicePrimaryCtxGetState, kInitialized);
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  HALYARD_GPU_REQUIRE(flags != nullptr && is_active != nullptr, kInvalidValue);
  const DeviceState& of = state().devices[static_cast<std::size_t>(device)];
  *flags = of.primary != nullptr ? of.primary->object->flags : of.primary_flags;
  *is_active = of.primary != nullptr ? 1 : 0;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxCreate(Context* context, unsigned flags, DeviceId device) {
  HALYARD_GPU_CALL(cuCtxCreate, kInitialized);
  return create_context(context, flags, device);
}

HALYARD_GPU_EXPORT Result cuCtxCreate_v2(Context* context, unsigned flags, DeviceId device) {
  HALYARD_GPU_CALL(cuCtxCreate_v2, kInitialized);
  return create_context(context, flags, device);
}

HALYARD_GPU_EXPORT Result cuCtxCreate_v3(Context* context, void* affinity, int count,
                                         unsigned flags, DeviceId device) {
  HALYARD_GPU_CALL(cuCtxCreate_v3, kInitialized);
  HALYARD_GPU_REQUIRE(affinity == nullptr || count == 0, kNotSupported);
  return create_context(context, flags, device);
}

HALYARD_GPU_EXPORT Result cuCtxCreate_v4(Context* context, void* parameters, unsigned flags,
                                         DeviceId device) {
  HALYARD_GPU_CALL(cuCtxCreate_v4, kInitialized);
  HALYARD_GPU_REQUIRE(parameters == nullptr, kNotSupported);
  return create_context(context, flags, device);
}

HALYARD_GPU_EXPORT Result cuCtxDestroy_v2(Context context) {
  HALYARD_GPU_CALL(cuCtxDestroy_v2, kInitialized);
  return destroy_context(call, context);
}

HALYARD_GPU_EXPORT Result cuCtxDestroy(Context context) {
  HALYARD_GPU_CALL(cuCtxDestroy, kInitialized);
  return destroy_context(call, context);
}

HALYARD_GPU_EXPORT Result cuCtxPushCurrent_v2(Context context) {
  HALYARD_GPU_CALL(cuCtxPushCurrent_v2, kInitialized);
  return push_context(context);
}

HALYARD_GPU_EXPORT Result cuCtxPushCurrent(Context context) {
  HALYARD_GPU_CALL(cuCtxPushCurrent, kInitialized);
  return push_context(context);
}

HALYARD_GPU_EXPORT Result cuCtxPopCurrent_v2(Context* context) {
  HALYARD_GPU_CALL(cuCtxPopCurrent_v2, kInitialized);
  return pop_context(context);
}

HALYARD_GPU_EXPORT Result cuCtxPopCurrent(Context* context) {
  HALYARD_GPU_CALL(cuCtxPopCurrent, kInitialized);
  return pop_context(context);
}

HALYARD_GPU_EXPORT Result cuCtxSetCurrent(Context handle) {
  HALYARD_GPU_CALL(cuCtxSetCurrent, kInitialized | kUnlocked);
  ThreadState& thread = this_thread();
  ContextState* context = nullptr;
  if (handle != nullptr) {
    context = resolve_permanent(handle);
    HALYARD_GPU_REQUIRE(context != nullptr, kInvalidContext);
  }
  // cuda.h, cuCtxSetCurrent: replaces the top of the stack; NULL pops it.
  if (context == nullptr) {
    if (!thread.contexts.empty()) thread.contexts.pop_back();
  } else if (thread.contexts.empty()) {
    thread.contexts.push_back(context);
  } else {
    thread.contexts.back() = context;
  }
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxGetCurrent(Context* context) {
  HALYARD_GPU_CALL(cuCtxGetCurrent, kInitialized | kUnlocked);
  HALYARD_GPU_REQUIRE(context != nullptr, kInvalidValue);
  ContextState* const current = this_thread().current();
  *context = current != nullptr ? current->handle : nullptr;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxGetDevice(DeviceId* device) {
  HALYARD_GPU_CALL(cuCtxGetDevice, kCurrentFaulty);
  HALYARD_GPU_REQUIRE(device != nullptr, kInvalidValue);
  *device = call.context().device;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxGetDevice_v2(DeviceId* device, Context handle) {
  HALYARD_GPU_CALL(cuCtxGetDevice_v2, kInitialized);
  HALYARD_GPU_REQUIRE(device != nullptr, kInvalidValue);
  ContextState* const context = handle != nullptr ? resolve(handle) : this_thread().current();
  HALYARD_GPU_REQUIRE(context != nullptr, kInvalidContext);
  *device = context->device;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxGetFlags(unsigned* flags) {
  HALYARD_GPU_CALL(cuCtxGetFlags, kCurrentFaulty);
  HALYARD_GPU_REQUIRE(flags != nullptr, kInvalidValue);
  *flags = call.context().flags;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxSetFlags(unsigned flags) {
  HALYARD_GPU_CALL(cuCtxSetFlags, kCurrent);
  HALYARD_GPU_REQUIRE(are_context_flags(flags), kInvalidValue);
  call.context().flags = flags;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxGetId(Context handle, unsigned long long* id) {
  HALYARD_GPU_CALL(cuCtxGetId, kInitialized);
  HALYARD_GPU_REQUIRE(id != nullptr, kInvalidValue);
  ContextState* const context = handle != nullptr ? resolve(handle) : this_thread().current();
  HALYARD_GPU_REQUIRE(context != nullptr, kContextIsDestroyed);
  *id = context->id;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxGetApiVersion(Context handle, unsigned* version) {
  HALYARD_GPU_CALL(cuCtxGetApiVersion, kInitialized);
  HALYARD_GPU_REQUIRE(version != nullptr, kInvalidValue);
  ContextState* const context = handle != nullptr ? resolve(handle) : this_thread().current();
  HALYARD_GPU_REQUIRE(context != nullptr, kInvalidContext);
  *version = 3020;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxSynchronize() {
  HALYARD_GPU_CALL(cuCtxSynchronize, kCurrent | kUnsafeInCapture);
  return drain(call.lock(), call.context());
}

HALYARD_GPU_EXPORT Result cuCtxSynchronize_v2(Context handle) {
  HALYARD_GPU_CALL(cuCtxSynchronize_v2, kInitialized | kUnsafeInCapture);
  ContextState* const context = handle != nullptr ? resolve(handle) : this_thread().current();
  HALYARD_GPU_REQUIRE(context != nullptr, kInvalidContext);
  return drain(call.lock(), *context);
}

HALYARD_GPU_EXPORT Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  HALYARD_GPU_CALL(cuCtxGetStreamPriorityRange, kCurrent);
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxGetLimit(std::size_t* value, int limit) {
  HALYARD_GPU_CALL(cuCtxGetLimit, kCurrent);
  HALYARD_GPU_REQUIRE(value != nullptr, kInvalidValue);
  const auto at = call.context().limits.find(limit);
  HALYARD_GPU_REQUIRE(at != call.context().limits.end(), static_cast<Result>(215));
  *value = at->second;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxSetLimit(int limit, std::size_t value) {
  HALYARD_GPU_CALL(cuCtxSetLimit, kCurrent);
  const auto at = call.context().limits.find(limit);
  HALYARD_GPU_REQUIRE(at != call.context().limits.end(), static_cast<Result>(215));
  at->second = value;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxGetCacheConfig(int* config) {
  HALYARD_GPU_CALL(cuCtxGetCacheConfig, kCurrent);
  HALYARD_GPU_REQUIRE(config != nullptr, kInvalidValue);
  *config = 0;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxSetCacheConfig(int config) {
  HALYARD_GPU_CALL(cuCtxSetCacheConfig, kCurrent);
  HALYARD_GPU_REQUIRE(config >= 0 && config <= 3, kInvalidValue);
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxEnablePeerAccess(Context handle, unsigned flags) {
  HALYARD_GPU_CALL(cuCtxEnablePeerAccess, kCurrent);
  ContextState* const peer = resolve(handle);
  HALYARD_GPU_REQUIRE(peer != nullptr && peer != &call.context(), kInvalidContext);
  HALYARD_GPU_REQUIRE(flags == 0, kInvalidValue);
  HALYARD_GPU_REQUIRE(peer->device != call.context().device, kPeerAccessUnsupported);
  HALYARD_GPU_REQUIRE(call.context().peers.insert(peer).second, kPeerAccessAlreadyEnabled);
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuCtxDisablePeerAccess(Context handle) {
  HALYARD_GPU_CALL(cuCtxDisablePeerAccess, kCurrent);
  ContextState* const peer = resolve(handle);
  HALYARD_GPU_REQUIRE(peer != nullptr, kInvalidContext);
  HALYARD_GPU_REQUIRE(call.context().peers.erase(peer) != 0, kPeerAccessNotEnabled);
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::cuda
