// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver's own declarations of the CUDA driver API against the toolkit's cuda.h.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "drivers/cuda/functions.h"

namespace {

// Functions that are macros in cuda.h, taken before the macros hide them.
namespace before {
constexpr unsigned kAllocPortable = halyard::cuda::CU_MEMHOSTALLOC_PORTABLE;
constexpr unsigned kAllocMapped = halyard::cuda::CU_MEMHOSTALLOC_DEVICEMAP;
constexpr unsigned kRegisterPortable = halyard::cuda::CU_MEMHOSTREGISTER_PORTABLE;
constexpr unsigned kRegisterMapped = halyard::cuda::CU_MEMHOSTREGISTER_DEVICEMAP;
constexpr std::uintptr_t kBufferPointer = halyard::cuda::CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT;
constexpr std::uintptr_t kPerThread = halyard::cuda::CU_STREAM_PER_THREAD_AS_INT;
constexpr std::uintptr_t kBufferSize = halyard::cuda::CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT;
}  // namespace before

}  // namespace

// Included after the driver's header, because the macros of cuda.h rename functions to their
// versions.
#include <cuda.h>
#include <cudaTypedefs.h>

namespace {

namespace own = halyard::cuda;

// Parameter by parameter: the same type, pointers to differently named types, or enumerations.
template <class A, class B>
constexpr bool same() {
  using C = std::remove_cv_t<A>;
  using D = std::remove_cv_t<B>;
  if constexpr (std::is_same_v<C, D>) {
    return true;
  } else if constexpr (std::is_function_v<std::remove_pointer_t<C>> ||
                       std::is_function_v<std::remove_pointer_t<D>>) {
    return std::is_same_v<C, D>;
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

#define HALYARD_PASTE(a, b, c) a##b##c

TEST(CudaHeader, HasTheResultsOfCudaH) {
#define HALYARD_RESULT(name, number, code) EXPECT_EQ(number, static_cast<int>(::name)) << #name;
  HALYARD_CUDA_RESULTS(HALYARD_RESULT)
#undef HALYARD_RESULT
}

// Expanded in the driver's namespace, whose types the parameters name.
#define HALYARD_SIGNATURE(function, suffix, version, error, parameters)                \
  static_assert(Signature<own::CUresult(*) parameters>::matches(                       \
                    static_cast<HALYARD_PASTE(PFN_, function##_v, version)>(nullptr)), \
                #function);
}  // namespace

namespace halyard::inline v0::cuda {
namespace {
HALYARD_CUDA_FUNCTIONS(HALYARD_SIGNATURE)
HALYARD_CUDA_OPTIONAL(HALYARD_SIGNATURE)
HALYARD_CUDA_ENDING(HALYARD_SIGNATURE)
}  // namespace
}  // namespace halyard::inline v0::cuda

namespace {

TEST(CudaHeader, HasTheValuesOfCudaH) {
#define HALYARD_SAME(name) EXPECT_EQ(static_cast<int>(own::name), static_cast<int>(::name))
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  HALYARD_SAME(CU_MEM_ATTACH_GLOBAL);
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS);
  HALYARD_SAME(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  HALYARD_SAME(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  HALYARD_SAME(CU_FUNC_ATTRIBUTE_NUM_REGS);
  HALYARD_SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  HALYARD_SAME(CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
  HALYARD_SAME(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
  HALYARD_SAME(CU_MEMORYTYPE_DEVICE);
  HALYARD_SAME(CU_JIT_INPUT_PTX);
  HALYARD_SAME(CU_MEM_ALLOCATION_TYPE_PINNED);
  HALYARD_SAME(CU_MEM_LOCATION_TYPE_DEVICE);
  HALYARD_SAME(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  HALYARD_SAME(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
  HALYARD_SAME(CU_STREAM_CAPTURE_MODE_RELAXED);
  HALYARD_SAME(CU_STREAM_CAPTURE_STATUS_NONE);
  HALYARD_SAME(CU_JIT_ERROR_LOG_BUFFER);
  HALYARD_SAME(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  HALYARD_SAME(CU_STREAM_NON_BLOCKING);
  HALYARD_SAME(CU_STREAM_WRITE_VALUE_DEFAULT);
  HALYARD_SAME(CU_EVENT_BLOCKING_SYNC);
  HALYARD_SAME(CU_EVENT_DISABLE_TIMING);
  HALYARD_SAME(CU_GET_PROC_ADDRESS_LEGACY_STREAM);
  static_assert(before::kAllocPortable == CU_MEMHOSTALLOC_PORTABLE);
  static_assert(before::kAllocMapped == CU_MEMHOSTALLOC_DEVICEMAP);
  static_assert(before::kRegisterPortable == CU_MEMHOSTREGISTER_PORTABLE);
  static_assert(before::kRegisterMapped == CU_MEMHOSTREGISTER_DEVICEMAP);
  static_assert(before::kBufferPointer == CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT);
  EXPECT_EQ(before::kPerThread, reinterpret_cast<std::uintptr_t>(CU_STREAM_PER_THREAD));
  static_assert(before::kBufferSize == CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT);
  static_assert(sizeof(own::CUuuid) == sizeof(::CUuuid));
  HALYARD_SAME(CU_MEMORYTYPE_UNIFIED);
#undef HALYARD_SAME
}

TEST(CudaHeader, HasTheStructuresOfCudaH) {
#define HALYARD_PLACED(type, version, member)                                           \
  static_assert(offsetof(own::type, member) == offsetof(::type##version, member) &&     \
                    sizeof(own::type::member) == sizeof(::type##version::member) &&     \
                    sizeof(own::type) == sizeof(::type##version),                       \
                #member)
  HALYARD_PLACED(CUDA_KERNEL_NODE_PARAMS, _v1, func);
  HALYARD_PLACED(CUDA_KERNEL_NODE_PARAMS, _v1, gridDimX);
  HALYARD_PLACED(CUDA_KERNEL_NODE_PARAMS, _v1, gridDimY);
  HALYARD_PLACED(CUDA_KERNEL_NODE_PARAMS, _v1, gridDimZ);
  HALYARD_PLACED(CUDA_KERNEL_NODE_PARAMS, _v1, blockDimX);
  HALYARD_PLACED(CUDA_KERNEL_NODE_PARAMS, _v1, blockDimY);
  HALYARD_PLACED(CUDA_KERNEL_NODE_PARAMS, _v1, blockDimZ);
  HALYARD_PLACED(CUDA_KERNEL_NODE_PARAMS, _v1, sharedMemBytes);
  HALYARD_PLACED(CUDA_KERNEL_NODE_PARAMS, _v1, kernelParams);
  HALYARD_PLACED(CUDA_KERNEL_NODE_PARAMS, _v1, extra);
  HALYARD_PLACED(CUDA_MEMSET_NODE_PARAMS, _v1, dst);
  HALYARD_PLACED(CUDA_MEMSET_NODE_PARAMS, _v1, pitch);
  HALYARD_PLACED(CUDA_MEMSET_NODE_PARAMS, _v1, value);
  HALYARD_PLACED(CUDA_MEMSET_NODE_PARAMS, _v1, elementSize);
  HALYARD_PLACED(CUDA_MEMSET_NODE_PARAMS, _v1, width);
  HALYARD_PLACED(CUDA_MEMSET_NODE_PARAMS, _v1, height);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, srcXInBytes);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, srcLOD);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, srcMemoryType);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, srcDevice);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, srcPitch);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, srcHeight);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, dstXInBytes);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, dstLOD);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, dstMemoryType);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, dstDevice);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, dstPitch);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, dstHeight);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, WidthInBytes);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, Height);
  HALYARD_PLACED(CUDA_MEMCPY3D, _v2, Depth);
  HALYARD_PLACED(CUmemPoolProps, , allocType);
  HALYARD_PLACED(CUmemPoolProps, , handleTypes);
  HALYARD_PLACED(CUmemPoolProps, , location);
  HALYARD_PLACED(CUmemPoolProps, , win32SecurityAttributes);
  HALYARD_PLACED(CUmemLocation, , type);
  HALYARD_PLACED(CUmemAccessDesc, , location);
  HALYARD_PLACED(CUmemAccessDesc, , flags);
#undef HALYARD_PLACED
}

}  // namespace
