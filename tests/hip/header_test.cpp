// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver's own declarations of HIP against AMD's hip_runtime_api.h.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "drivers/hip/functions.h"

namespace {

// Functions that are macros in that header, taken before the macros hide them.
namespace before {
constexpr unsigned kNonBlocking = halyard::hip::hipStreamNonBlocking;
constexpr unsigned kBlockingSync = halyard::hip::hipEventBlockingSync;
constexpr unsigned kDisableTiming = halyard::hip::hipEventDisableTiming;
constexpr unsigned kAttachGlobal = halyard::hip::hipMemAttachGlobal;
constexpr unsigned kAllocPortable = halyard::hip::hipHostMallocPortable;
constexpr unsigned kAllocMapped = halyard::hip::hipHostMallocMapped;
constexpr unsigned kRegisterPortable = halyard::hip::hipHostRegisterPortable;
constexpr unsigned kRegisterMapped = halyard::hip::hipHostRegisterMapped;
}  // namespace before

}  // namespace

// The header also has a template of the same name.
#define hipMallocFromPoolAsync overloaded_hipMallocFromPoolAsync
#include <hip/hip_runtime_api.h>
#undef hipMallocFromPoolAsync
constexpr auto hipMallocFromPoolAsync =
    static_cast<hipError_t (*)(void**, std::size_t, hipMemPool_t, hipStream_t)>(
        &overloaded_hipMallocFromPoolAsync);

namespace {

namespace own = halyard::hip;

// Parameter by parameter: the same type, pointers to differently named types, or enumerations.
template <class A, class B>
constexpr bool same() {
  using C = std::remove_cv_t<A>;
  using D = std::remove_cv_t<B>;
  if constexpr (std::is_same_v<C, D>) {
    return true;
  } else if constexpr (std::is_pointer_v<C> && std::is_pointer_v<D>) {
    using E = std::remove_pointer_t<C>;
    using F = std::remove_pointer_t<D>;
    if constexpr (std::is_class_v<E> && std::is_class_v<F>) return true;
    return same<E, F>();
  } else if constexpr (std::is_enum_v<C> && std::is_enum_v<D>) {
    return sizeof(C) == sizeof(D);
  } else {
    return std::is_class_v<C> && std::is_class_v<D>;
  }
}
template <class>
struct Signature;
template <class R, class... A>
struct Signature<R (*)(A...)> {
  template <class S, class... B>
  static constexpr bool matches(S (*)(B...)) {
    if constexpr (sizeof...(A) != sizeof...(B)) {
      return false;
    } else {
      return (same<A, B>() && ...);
    }
  }
};

TEST(HipHeader, HasTheResultsOfHip) {
#define HALYARD_RESULT(name, number, code) EXPECT_EQ(number, static_cast<int>(::name)) << #name;
  HALYARD_HIP_RESULTS(HALYARD_RESULT)
#undef HALYARD_RESULT
}

}  // namespace

// Expanded in the driver's namespace, whose types the parameters name.
#define HALYARD_SIGNATURE(function, error, parameters) \
  static_assert(Signature<hipError_t(*) parameters>::matches(::function), #function);

namespace halyard::inline v0::hip {
namespace {
HALYARD_HIP_FUNCTIONS(HALYARD_SIGNATURE)
HALYARD_HIP_ENDING(HALYARD_SIGNATURE)
}  // namespace
}  // namespace halyard::inline v0::hip

namespace {

TEST(HipHeader, HasTheValuesOfHip) {
#define HALYARD_SAME(name) EXPECT_EQ(static_cast<int>(own::name), static_cast<int>(::name))
  HALYARD_SAME(hipDeviceAttributeCanMapHostMemory);
  HALYARD_SAME(hipDeviceAttributeConcurrentManagedAccess);
  HALYARD_SAME(hipDeviceAttributeMaxGridDimX);
  HALYARD_SAME(hipDeviceAttributeMaxGridDimY);
  HALYARD_SAME(hipDeviceAttributeMaxGridDimZ);
  HALYARD_SAME(hipDeviceAttributeMaxThreadsPerBlock);
  HALYARD_SAME(hipDeviceAttributeMultiprocessorCount);
  HALYARD_SAME(hipDeviceAttributeMaxSharedMemoryPerBlock);
  HALYARD_SAME(hipDeviceAttributeCanUseStreamWaitValue);
#if HIP_VERSION >= 60000000
  HALYARD_SAME(hipDeviceAttributeHostRegisterSupported);
#endif
  HALYARD_SAME(HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  HALYARD_SAME(HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  HALYARD_SAME(HIP_FUNC_ATTRIBUTE_NUM_REGS);
  HALYARD_SAME(HIP_POINTER_ATTRIBUTE_MEMORY_TYPE);
  HALYARD_SAME(HIP_POINTER_ATTRIBUTE_DEVICE_POINTER);
  HALYARD_SAME(HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
  HALYARD_SAME(hipMemcpyDefault);
  HALYARD_SAME(hipStreamCaptureModeRelaxed);
  HALYARD_SAME(hipStreamCaptureStatusNone);
  HALYARD_SAME(hipMemAllocationTypePinned);
  HALYARD_SAME(hipMemLocationTypeDevice);
  HALYARD_SAME(hipMemAccessFlagsProtReadWrite);
  HALYARD_SAME(hipMemPoolAttrReleaseThreshold);
  static_assert(before::kNonBlocking == hipStreamNonBlocking);
  static_assert(before::kBlockingSync == hipEventBlockingSync);
  static_assert(before::kDisableTiming == hipEventDisableTiming);
  static_assert(before::kAttachGlobal == hipMemAttachGlobal);
  static_assert(before::kAllocPortable == hipHostMallocPortable);
  static_assert(before::kAllocMapped == hipHostMallocMapped);
  static_assert(before::kRegisterPortable == hipHostRegisterPortable);
  static_assert(before::kRegisterMapped == hipHostRegisterMapped);
  EXPECT_EQ(own::HIP_LAUNCH_PARAM_BUFFER_POINTER_AS_INT,
            reinterpret_cast<std::uintptr_t>(HIP_LAUNCH_PARAM_BUFFER_POINTER));
  EXPECT_EQ(own::HIP_LAUNCH_PARAM_BUFFER_SIZE_AS_INT,
            reinterpret_cast<std::uintptr_t>(HIP_LAUNCH_PARAM_BUFFER_SIZE));
  EXPECT_EQ(own::HIP_LAUNCH_PARAM_END_AS_INT,
            reinterpret_cast<std::uintptr_t>(HIP_LAUNCH_PARAM_END));
#undef HALYARD_SAME
}

TEST(HipHeader, HasTheStructuresOfHip) {
#define HALYARD_PLACED(type, member)                                       \
  static_assert(offsetof(own::type, member) == offsetof(::type, member) && \
                    sizeof(own::type::member) == sizeof(::type::member) && \
                    sizeof(own::type) == sizeof(::type),                   \
                #member)
  HALYARD_PLACED(hipKernelNodeParams, blockDim);
  HALYARD_PLACED(hipKernelNodeParams, extra);
  HALYARD_PLACED(hipKernelNodeParams, func);
  HALYARD_PLACED(hipKernelNodeParams, gridDim);
  HALYARD_PLACED(hipKernelNodeParams, kernelParams);
  HALYARD_PLACED(hipKernelNodeParams, sharedMemBytes);
  HALYARD_PLACED(hipMemsetParams, dst);
  HALYARD_PLACED(hipMemsetParams, elementSize);
  HALYARD_PLACED(hipMemsetParams, height);
  HALYARD_PLACED(hipMemsetParams, pitch);
  HALYARD_PLACED(hipMemsetParams, value);
  HALYARD_PLACED(hipMemsetParams, width);
  HALYARD_PLACED(hipMemPoolProps, allocType);
  HALYARD_PLACED(hipMemPoolProps, handleTypes);
  HALYARD_PLACED(hipMemPoolProps, location);
  HALYARD_PLACED(hipMemPoolProps, win32SecurityAttributes);
  HALYARD_PLACED(hipMemLocation, type);
  HALYARD_PLACED(hipMemAccessDesc, location);
  HALYARD_PLACED(hipMemAccessDesc, flags);
  static_assert(sizeof(own::dim3) == sizeof(::dim3));
#undef HALYARD_PLACED
}

}  // namespace
