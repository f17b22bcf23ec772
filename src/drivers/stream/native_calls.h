// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NativeCalls: native calls of CUDA and HIP, whose functions are those of CUDA's driver API under
// other names. The base of native_api.h.
//
// `Names` has the types of the library, each of its functions as a pointer to a member of the table
// `Functions`, and the parameters that differ. Results, attributes and flags have the same numbers
// in HIP as in CUDA; the tests of each driver compare them with its headers.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "halyard/base/status.h"

namespace halyard::inline v0::stream {

// Functions whose names in CUDA and HIP differ only in the prefix "cu" or "hip".
#define HALYARD_STREAM_FUNCTIONS(X)  \
  X(StreamCreateWithPriority)        \
  X(StreamDestroy)                   \
  X(StreamQuery)                     \
  X(StreamWaitEvent)                 \
  X(StreamIsCapturing)               \
  X(StreamWriteValue64)              \
  X(LaunchHostFunc)                  \
  X(EventDestroy)                    \
  X(EventRecord)                     \
  X(EventQuery)                      \
  X(EventSynchronize)                \
  X(ThreadExchangeStreamCaptureMode) \
  X(MemsetD8Async)                   \
  X(MemsetD16Async)                  \
  X(MemsetD32Async)                  \
  X(PointerGetAttribute)             \
  X(MemPoolCreate)                   \
  X(MemPoolSetAttribute)             \
  X(MemPoolSetAccess)                \
  X(MemPoolDestroy)                  \
  X(DeviceCanAccessPeer)             \
  X(ModuleGetFunction)               \
  X(FuncGetAttribute)                \
  X(GraphCreate)                     \
  X(GraphDestroy)                    \
  X(GraphAddEmptyNode)               \
  X(GraphAddKernelNode)              \
  X(GraphAddMemsetNode)              \
  X(GraphInstantiateWithFlags)       \
  X(GraphExecKernelNodeSetParams)    \
  X(GraphExecMemsetNodeSetParams)    \
  X(GraphLaunch)                     \
  X(GraphExecDestroy)

// A function of a library, with the parameters that every launch of it repeats.
template <class Handle>
struct NativeKernel {
  Handle handle = nullptr;
  std::uint32_t workgroup_size[3] = {};
  std::uint32_t dynamic_shared_bytes = 0;
};

template <class Api, class Names>
struct NativeCalls {
  using Functions = typename Names::Functions;
  using PhysicalDevice = typename Names::PhysicalDevice;
  using NativeResult = typename Names::Result;
  using Stream = typename Names::Stream;
  static constexpr std::string_view kDriver = Names::kDriver;
  static constexpr auto kSuccess = static_cast<NativeResult>(0);
  static constexpr auto kInvalidValue = static_cast<NativeResult>(1);
  static constexpr auto kNotFound = static_cast<NativeResult>(500);
  static constexpr auto kNotReady = static_cast<NativeResult>(600);
  static constexpr auto kPeersAlready = static_cast<NativeResult>(704);
  static constexpr auto kRegisteredAlready = static_cast<NativeResult>(712);
  static constexpr auto kImplicitCapture = static_cast<NativeResult>(906);

  static Api of(const Functions& functions, const PhysicalDevice& device, bool sleeps) noexcept {
    Api api;
    api.native = &functions;
    api.device = &device;
    api.sleeps_on_events = sleeps;
    return api;
  }
  bool same_library(const Api& other) const noexcept { return native == other.native; }

  // Makes a native call. A table that has ended returns its result without a call.
  template <class F, class... Arguments>
  NativeResult call(F Functions::* function, Arguments... arguments) const noexcept {
    if constexpr (requires { native->end(); }) {
      if (const NativeResult end = native->end(); end != kSuccess) return end;
    }
    return (native->*function)(arguments...);
  }
  template <class F, class... Arguments>
  Status check(F Functions::* function, Arguments... arguments) const noexcept {
    return Names::to_status(call(function, arguments...), F::name());
  }
  template <class F>
  static Status status_of_call(NativeResult result, F Functions::*) {
    return Names::to_status(result, F::name());
  }
  // The same for a call on `stream`, which may have to confirm that the device is lost.
  template <class F, class... Arguments>
  Status check_on(Stream stream, F Functions::* function, Arguments... arguments) const noexcept {
    const NativeResult result = call(function, arguments...);
    if constexpr (requires { self().status_of(result, F::name(), stream); }) {
      return self().status_of(result, F::name(), stream);
    } else {
      return Names::to_status(result, F::name());
    }
  }
  const Api& self() const noexcept { return static_cast<const Api&>(*this); }

  // Addresses are integers in CUDA, pointers in HIP.
  using Pointer = typename Names::Pointer;
  static Pointer pointer_to(std::uint64_t address) noexcept {
    if constexpr (std::is_pointer_v<Pointer>) {
      return reinterpret_cast<Pointer>(static_cast<std::uintptr_t>(address));
    } else {
      return address;
    }
  }
  static std::uint64_t address_of(Pointer pointer) noexcept {
    if constexpr (std::is_pointer_v<Pointer>) {
      return reinterpret_cast<std::uintptr_t>(pointer);
    } else {
      return pointer;
    }
  }

  // Both tables live until the process ends.
  const Functions* native = nullptr;
  const PhysicalDevice* device = nullptr;
  bool sleeps_on_events = false;  // for synchronize(), which then sleeps instead of polling
};

}  // namespace halyard::inline v0::stream
