// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver's own declarations of the CUDA driver API against the toolkit's cuda.h.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "drivers/cuda/functions.h"

// Behind the driver's header: this one's macros rename functions to their versions.
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
#define HALYARD_TYPEDEF(name, version) HALYARD_PASTE(PFN_, name##_v, version)

TEST(CudaHeader, HasTheResultsOfCudaH) {
#define HALYARD_RESULT(name, number, code) EXPECT_EQ(number, static_cast<int>(::name)) << #name;
  HALYARD_CUDA_RESULTS(HALYARD_RESULT)
#undef HALYARD_RESULT
}

#define HALYARD_SIGNATURE(function, suffix, version, error, parameters)                \
  static_assert(Signature<own::CUresult(*) HALYARD_IN_OWN(parameters)>::matches(       \
                    static_cast<HALYARD_PASTE(PFN_, function##_v, version)>(nullptr)), \
                #function);
// The parameters name types of the driver, which hide those of cuda.h there.
#define HALYARD_IN_OWN(parameters) parameters
}  // namespace

namespace halyard::inline v0::cuda {
namespace {
HALYARD_CUDA_FUNCTIONS(HALYARD_SIGNATURE)
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
  HALYARD_SAME(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
  HALYARD_SAME(CU_STREAM_CAPTURE_MODE_RELAXED);
  HALYARD_SAME(CU_JIT_ERROR_LOG_BUFFER);
  HALYARD_SAME(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  HALYARD_SAME(CU_STREAM_NON_BLOCKING);
  HALYARD_SAME(CU_EVENT_DISABLE_TIMING);
  HALYARD_SAME(CU_GET_PROC_ADDRESS_LEGACY_STREAM);
#undef HALYARD_SAME
  // Macros of cuda.h, hidden here by the constants of the driver in its namespace.
  static_assert(sizeof(own::CUuuid) == sizeof(::CUuuid));
}

}  // namespace
