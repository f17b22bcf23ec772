// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hipCtx and hipDevicePrimaryCtx, which are deprecated and differ from CUDA (hip_context.cpp): a
// context is its device, references are not counted, and the stack is independent of the current
// device.
#include "simulation/gpu/stream.h"
#include "simulation/hip/device.h"

namespace halyard::inline v0::sim::hip {
namespace {

// The device of a context's handle, or -1 for other values.
DeviceId device_of(Context handle) {
  const ContextState* const context = gpu::resolve(handle);
  return context != nullptr ? context->device : -1;
}

Result push(DeviceId device) {
  Thread& thread = hip_thread();
  HALYARD_GPU_REQUIRE(thread.contexts < Thread::kMostContexts, gpu::kOutOfMemory);
  thread.context[thread.contexts++] = device;
  return kSuccess;
}

}  // namespace

HALYARD_HIP_EXPORT Result hipCtxCreate(Context* context, unsigned flags, DeviceId device) {
  HALYARD_HIP_CALL(hipCtxCreate, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(context != nullptr && gpu::is_device(device), gpu::kInvalidValue);
    *context = context_of(device).handle;
    context_of(device).flags = flags;
    return push(device);  // the current device stays
  };
}

HALYARD_HIP_EXPORT Result hipCtxDestroy(Context handle) {
  HALYARD_HIP_CALL(hipCtxDestroy, gpu::kInitialized) {
    const DeviceId device = device_of(handle);
    HALYARD_GPU_REQUIRE(device >= 0, gpu::kInvalidValue);
    Thread& thread = hip_thread();
    if (thread.contexts != 0 && thread.context[thread.contexts - 1] == device) --thread.contexts;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipCtxSetCurrent(Context handle) {
  HALYARD_HIP_CALL(hipCtxSetCurrent, gpu::kInitialized) {
    Thread& thread = hip_thread();
    if (handle == nullptr) {
      if (thread.contexts != 0) --thread.contexts;
      return kSuccess;  // the device stays current
    }
    const DeviceId device = device_of(handle);
    HALYARD_GPU_REQUIRE(device >= 0, gpu::kInvalidContext);
    set_device(device);
    if (thread.contexts != 0) --thread.contexts;
    return push(device);
  };
}

HALYARD_HIP_EXPORT Result hipCtxGetCurrent(Context* context) {
  HALYARD_HIP_CALL(hipCtxGetCurrent, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(context != nullptr, gpu::kInvalidValue);
    *context = context_of(current_device()).handle;  // never null
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipCtxPushCurrent(Context handle) {
  HALYARD_HIP_CALL(hipCtxPushCurrent, gpu::kInitialized) {
    const DeviceId device = device_of(handle);
    HALYARD_GPU_REQUIRE(device >= 0, gpu::kInvalidContext);
    set_device(device);
    return push(device);
  };
}

HALYARD_HIP_EXPORT Result hipCtxPopCurrent(Context* context) {
  HALYARD_HIP_CALL(hipCtxPopCurrent, gpu::kInitialized) {
    Thread& thread = hip_thread();
    HALYARD_GPU_REQUIRE(thread.contexts != 0, gpu::kInvalidContext);
    const DeviceId device = thread.context[--thread.contexts];
    if (context != nullptr) *context = context_of(device).handle;
    return kSuccess;  // the device that was pushed stays current
  };
}

HALYARD_HIP_EXPORT Result hipCtxGetDevice(DeviceId* device) {
  HALYARD_HIP_CALL(hipCtxGetDevice, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(device != nullptr, gpu::kInvalidValue);
    *device = current_device();
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipCtxGetSharedMemConfig(int* config) {
  HALYARD_HIP_CALL(hipCtxGetSharedMemConfig, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(config != nullptr, gpu::kInvalidValue);
    *config = 1;
    return kSuccess;
  };
}

// These two do nothing (hip_peer.cpp).
HALYARD_HIP_EXPORT Result hipCtxEnablePeerAccess(Context, unsigned) {
  HALYARD_HIP_CALL(hipCtxEnablePeerAccess, gpu::kInitialized) { return kSuccess; };
}

HALYARD_HIP_EXPORT Result hipCtxDisablePeerAccess(Context) {
  HALYARD_HIP_CALL(hipCtxDisablePeerAccess, gpu::kInitialized) { return kSuccess; };
}

HALYARD_HIP_EXPORT Result hipDevicePrimaryCtxRetain(Context* context, DeviceId device) {
  HALYARD_HIP_CALL(hipDevicePrimaryCtxRetain, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(gpu::is_device(device), gpu::kInvalidDevice);
    HALYARD_GPU_REQUIRE(context != nullptr, gpu::kInvalidValue);
    *context = context_of(device).handle;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDevicePrimaryCtxRelease(DeviceId device) {
  HALYARD_HIP_CALL(hipDevicePrimaryCtxRelease, gpu::kInitialized) {
    return gpu::is_device(device) ? kSuccess : gpu::kInvalidDevice;
  };
}

HALYARD_HIP_EXPORT Result hipDevicePrimaryCtxReset(DeviceId) {
  HALYARD_HIP_CALL(hipDevicePrimaryCtxReset, gpu::kInitialized) { return kSuccess; };
}

HALYARD_HIP_EXPORT Result hipDevicePrimaryCtxSetFlags(DeviceId device, unsigned) {
  HALYARD_HIP_CALL(hipDevicePrimaryCtxSetFlags, gpu::kInitialized) {
    return gpu::is_device(device) ? kContextInUse : gpu::kInvalidDevice;
  };
}

HALYARD_HIP_EXPORT Result hipDevicePrimaryCtxGetState(DeviceId device, unsigned* flags,
                                                      int* is_active) {
  HALYARD_HIP_CALL(hipDevicePrimaryCtxGetState, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(gpu::is_device(device), gpu::kInvalidDevice);
    if (flags != nullptr) *flags = 0;
    // A device is active once anything was submitted to it or allocated on it.
    const ContextState& context = context_of(device);
    if (is_active != nullptr) {
      *is_active = context.legacy->submitted != 0 || !context.streams.empty() ||
                           gpu::memory().used(device) != 0
                       ? 1
                       : 0;
    }
    return kSuccess;
  };
}

// hip_context.cpp returns hipErrorNotSupported for all of them in builds without assertions.
#define HALYARD_HIP_NOT_IMPLEMENTED(name, parameters)                         \
  HALYARD_HIP_EXPORT Result name parameters {                                 \
    HALYARD_HIP_CALL(name, gpu::kInitialized) { return gpu::kNotSupported; }; \
  }
HALYARD_HIP_NOT_IMPLEMENTED(hipCtxGetApiVersion, (Context, int*))
HALYARD_HIP_NOT_IMPLEMENTED(hipCtxGetCacheConfig, (int*))
HALYARD_HIP_NOT_IMPLEMENTED(hipCtxSetCacheConfig, (int))
HALYARD_HIP_NOT_IMPLEMENTED(hipCtxSetSharedMemConfig, (int))
HALYARD_HIP_NOT_IMPLEMENTED(hipCtxSynchronize, ())
HALYARD_HIP_NOT_IMPLEMENTED(hipCtxGetFlags, (unsigned*))

}  // namespace halyard::inline v0::sim::hip
