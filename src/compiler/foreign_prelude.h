// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations that clang includes before a source without the source's own toolkit.
#pragma once

#include <string_view>

namespace halyard::inline v0::compiler {

// CUDA's keywords and indices; __syncthreads and similar functions are clang's own.
inline constexpr std::string_view kCudaPrelude = R"(#pragma once
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __restrict__ __restrict
#include <__clang_cuda_builtin_vars.h>
)";

// OpenCL's work-item functions for a launch without an offset, its barrier, and functions that are
// one instruction.
inline constexpr std::string_view kOpenClPrelude = R"(#pragma once
#define HY_ITEM(f, otherwise) ((d) == 0 ? f(x) : (d) == 1 ? f(y) : (d) == 2 ? f(z) : (otherwise))
#define HY_FUNCTION static inline __attribute__((always_inline, unused))
#if defined(__NVPTX__)
#define HY_LOCAL_ID(x) __nvvm_read_ptx_sreg_tid_##x()
#define HY_GROUP_ID(x) __nvvm_read_ptx_sreg_ctaid_##x()
#define HY_LOCAL_SIZE(x) __nvvm_read_ptx_sreg_ntid_##x()
#define HY_NUM_GROUPS(x) __nvvm_read_ptx_sreg_nctaid_##x()
HY_FUNCTION size_t hy_num_groups(uint d) { return HY_ITEM(HY_NUM_GROUPS, 1); }
#define HY_BARRIER __nvvm_bar_sync(0)
#else
#define HY_LOCAL_ID(x) __builtin_amdgcn_workitem_id_##x()
#define HY_GROUP_ID(x) __builtin_amdgcn_workgroup_id_##x()
#if defined(HY_SIZE_x)
#define HY_LOCAL_SIZE(x) HY_SIZE_##x
#else
#define HY_LOCAL_SIZE(x) __builtin_amdgcn_workgroup_size_##x()
#endif
#define HY_GRID_SIZE(x) __builtin_amdgcn_grid_size_##x()
#define HY_BARRIER                                          \
  (__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"),   \
   __builtin_amdgcn_s_barrier(),                            \
   __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"))
#endif
HY_FUNCTION size_t hy_local_id(uint d) { return HY_ITEM(HY_LOCAL_ID, 0); }
HY_FUNCTION size_t hy_group_id(uint d) { return HY_ITEM(HY_GROUP_ID, 0); }
HY_FUNCTION size_t hy_local_size(uint d) { return HY_ITEM(HY_LOCAL_SIZE, 1); }
#if !defined(__NVPTX__)
HY_FUNCTION size_t hy_num_groups(uint d) {
  return (HY_ITEM(HY_GRID_SIZE, 1) + hy_local_size(d) - 1) / hy_local_size(d);
}
#endif
HY_FUNCTION size_t hy_global_id(uint d) {
  return hy_group_id(d) * hy_local_size(d) + hy_local_id(d);
}
HY_FUNCTION size_t hy_global_size(uint d) { return hy_num_groups(d) * hy_local_size(d); }
HY_FUNCTION void hy_cl_barrier(uint fence) { HY_BARRIER; }
#define get_local_id hy_local_id
#define get_group_id hy_group_id
#define get_local_size hy_local_size
#define get_num_groups hy_num_groups
#define get_global_id hy_global_id
#define get_global_size hy_global_size
#define get_global_offset(d) ((size_t)0)
#define barrier hy_cl_barrier
#define work_group_barrier hy_cl_barrier
#define sqrt(a) __builtin_elementwise_sqrt(a)
#define fabs(a) __builtin_elementwise_abs(a)
#define floor(a) __builtin_elementwise_floor(a)
#define ceil(a) __builtin_elementwise_ceil(a)
#define trunc(a) __builtin_elementwise_trunc(a)
#define fma(a, b, c) __builtin_elementwise_fma(a, b, c)
#define min(a, b) __builtin_elementwise_min(a, b)
#define max(a, b) __builtin_elementwise_max(a, b)
#define fmin(a, b) __builtin_elementwise_min(a, b)
#define fmax(a, b) __builtin_elementwise_max(a, b)
)";

}  // namespace halyard::inline v0::compiler
