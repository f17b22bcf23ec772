/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels as a GPU's code: every item of a group runs the body. A part of halyard/kernel.h.
 *
 * PTX and AMD code objects are compiled from this form directly, convention hy-kernarg-1. Shader
 * languages are text: with HY_TEXT defined, functions that C cannot express are only declared,
 * there is no entry, and the compiler driver translates the syntax tree.
 */
#ifndef HALYARD_KERNEL_DEVICE_H_
#define HALYARD_KERNEL_DEVICE_H_

/* Address spaces of buffers and of shared arrays; both targets number them alike:
 * https://llvm.org/docs/NVPTXUsage.html, https://llvm.org/docs/AMDGPUUsage.html#address-spaces. */
#ifdef HY_TEXT
#define HY_GLOBAL
#define HY_GROUP_MEMORY
#else
#define HY_GLOBAL __attribute__((address_space(1)))
#define HY_GROUP_MEMORY __attribute__((address_space(3)))
#endif

/* ---- Blocks -------------------------------------------------------------------------------- */

/* A loop of one iteration with the barrier in its increment, so that `continue` also reaches the
 * barrier. */
#define HY_ITEMS                                                                            \
  for (hy_index hy_x = hy_local_x(), hy_y = hy_local_y(), hy_z = hy_local_z(), hy_once = 0; \
       hy_once < 1; ++hy_once, hy_barrier())
#define HY_ITEMS_BELOW(n) HY_ITEMS if ((n) > 0 && HY_GLOBAL_X < (hy_index)(n))
#define HY_ITEMS_FIRST(n) HY_ITEMS if ((n) > 0 && HY_X < (hy_index)(n))

#define HY_MY(x, ...) HY_MY_OF(x __VA_OPT__(, ) __VA_ARGS__)
#define HY_MY_OF(x, ...) (hy_my_##x[0 __VA_OPT__(+(__VA_ARGS__))])

#if defined(HY_TEXT)
hy_index hy_local_x(void);
hy_index hy_local_y(void);
hy_index hy_local_z(void);
void hy_barrier(void);
#elif defined(__NVPTX__)
#define HY_INDEX(what, d) __nvvm_read_ptx_sreg_##what##_##d()
#define hy_local_x() HY_INDEX(tid, x)
#define hy_local_y() HY_INDEX(tid, y)
#define hy_local_z() HY_INDEX(tid, z)
#define hy_group(d) HY_INDEX(ctaid, d)
#define hy_groups(d, n) HY_INDEX(nctaid, d)
#define hy_barrier() __nvvm_bar_sync(0)
#else
#define hy_local_x() __builtin_amdgcn_workitem_id_x()
#define hy_local_y() __builtin_amdgcn_workitem_id_y()
#define hy_local_z() __builtin_amdgcn_workitem_id_z()
#define hy_group(d) __builtin_amdgcn_workgroup_id_##d()
#define hy_groups(d, n) (__builtin_amdgcn_grid_size_##d() / (n)) /* the grid counts items */
#define hy_barrier()                                                                    \
  (__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"), __builtin_amdgcn_s_barrier(), \
   __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"))
#endif

/* ---- Entry --------------------------------------------------------------------------------- */

/* Declarations outside the body: shared arrays and, for text, the storage of HY_PRIVATE. */
#define HY_OUTSIDE_hy_buffer(k, T, x, access)
#define HY_OUTSIDE_hy_scalar(k, T, x)
#define HY_OUTSIDE_hy_in_tensor(k, T, x, R)
#define HY_OUTSIDE_hy_out_tensor(k, T, y, R, A)
#define HY_OUTSIDE_hy_out_tile(k, T, y, R, A, t0, t1, t2)
#define HY_OUTSIDE_hy_same_shape(k, x, y)
#define HY_OUTSIDE_hy_same_size(k, x, d, y, e)
#define HY_OUTSIDE_hy_may_overlap(k, ...)

#ifdef HY_TEXT

#define HY_ENTRY(name, nx, ny, nz, ...) HY_EACH(HY_OUTSIDE_, name, __VA_ARGS__)
#define HY_OUTSIDE_hy_shared(k, T, x, n, rest) static T hy_shared$##k##$##x[n] rest;
#define HY_OUTSIDE_hy_private(k, T, x, n) static T hy_private$##k##$##x[n];

#else

#define HY_ENTRY(name, nx, ny, nz, ...)                                                       \
  HY_EACH(HY_OUTSIDE_, name, __VA_ARGS__)                                                     \
  HY_ENTRY_KIND __attribute__((visibility("default"))) void name(                             \
      HY_REST(HY_EACH(HY_PARAMETER_, HY_RESTRICT(__VA_ARGS__), __VA_ARGS__)                   \
                  HY_CONSTANTS(name, HY_EACH(HY_FIELD_, name, __VA_ARGS__)))) {               \
    HY_CONSTANTS_AT(name, HY_EACH(HY_FIELD_, name, __VA_ARGS__))                              \
    HY_EACH(HY_LOCAL_, name, __VA_ARGS__)                                                     \
    hy_body_##name(hy_group(x), hy_group(y), hy_group(z), hy_groups(x, nx), hy_groups(y, ny), \
                   hy_groups(z, nz), (nx), (ny), (nz)HY_EACH(HY_ACTUAL_, name, __VA_ARGS__)); \
  }
/* The struct of constants is the last parameter, omitted if it would be empty. */
#define HY_CONSTANTS(name, ...) __VA_OPT__(, const struct hy_constants_##name hy_k)
#define HY_CONSTANTS_AT(name, ...) __VA_OPT__(const struct hy_constants_##name* hy_c = &hy_k;)
/* The list without its leading comma. */
#define HY_REST(...) HY_REST_OF(__VA_ARGS__)
#define HY_REST_OF(nothing, ...) __VA_ARGS__
#ifdef __NVPTX__
#define HY_ENTRY_KIND __attribute__((nvptx_kernel))
#else
#define HY_ENTRY_KIND __attribute__((amdgpu_kernel))
#endif

#define HY_OUTSIDE_hy_shared(k, T, x, n, rest) \
  static __attribute__((loader_uninitialized)) HY_GROUP_MEMORY T hy_shared$##k##$##x[n] rest;
#define HY_OUTSIDE_hy_private(k, T, x, n)

/* Their k is __restrict, or nothing. */
#define HY_PARAMETER_hy_buffer(k, T, x, access) , HY_GLOBAL T* k hy_b_##x
#define HY_PARAMETER_hy_scalar(k, T, x)
#define HY_PARAMETER_hy_shared(k, T, x, n, rest)
#define HY_PARAMETER_hy_private(k, T, x, n)
#define HY_PARAMETER_hy_in_tensor(k, T, x, R) , const HY_GLOBAL T* k hy_b_##x
#define HY_PARAMETER_hy_out_tensor(k, T, y, R, A) , HY_GLOBAL T* k hy_b_##y
#define HY_PARAMETER_hy_out_tile(k, T, y, R, A, t0, t1, t2) , HY_GLOBAL T* k hy_b_##y
#define HY_PARAMETER_hy_same_shape(k, x, y)
#define HY_PARAMETER_hy_same_size(k, x, d, y, e)
#define HY_PARAMETER_hy_may_overlap(k, ...)

#endif

#define HY_GROUP(d) ((const hy_index[3]){hy_group(x), hy_group(y), hy_group(z)}[d])
#define HY_POINTER(T, x) hy_b_##x

#define HY_LOCAL_hy_shared(k, T, x, n, rest) \
  HY_GROUP_MEMORY T(*const hy_v_##x) rest = hy_shared$##k##$##x;
#define HY_LOCAL_hy_private(k, T, x, n) T hy_v_##x[n];

#define HY_FORMAL_hy_shared(k, T, x, n, rest) , HY_GROUP_MEMORY T(*__restrict x) rest
#define HY_FORMAL_hy_private(k, T, x, n) , T* __restrict hy_my_##x

/* ---- Atomics ------------------------------------------------------------------------------- */

#ifdef HY_TEXT

#define HY_DECLARE_ATOMIC(operation)                      \
  int hy_text_##operation##_int(int* element, int value); \
  uint hy_text_##operation##_uint(uint* element, uint value);
HY_DECLARE_ATOMIC(add)
HY_DECLARE_ATOMIC(min)
HY_DECLARE_ATOMIC(max)
HY_DECLARE_ATOMIC(and)
HY_DECLARE_ATOMIC(or)
HY_DECLARE_ATOMIC(xor)
HY_DECLARE_ATOMIC(exchange)
int hy_text_compare_exchange_int(int* element, int expected, int value);
uint hy_text_compare_exchange_uint(uint* element, uint expected, uint value);
#define HY_ATOMIC(operation, e, ...)                                                       \
  _Generic(&(e), int*: hy_text_##operation##_int, uint*: hy_text_##operation##_uint)(&(e), \
                                                                                     __VA_ARGS__)
#define hy_atomic_exchange(e, v) HY_ATOMIC(exchange, e, v)
#define hy_atomic_compare_exchange(e, expected, v) HY_ATOMIC(compare_exchange, e, expected, v)

#else

#define HY_ATOMIC(operation, e, v) \
  __scoped_atomic_fetch_##operation(HY_WORD(e), (v), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define hy_atomic_exchange(e, v) \
  __scoped_atomic_exchange_n(HY_WORD(e), (v), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define hy_atomic_compare_exchange(e, expected, v)                                    \
  ({                                                                                  \
    __typeof__((e) + 0) hy_was = (expected);                                          \
    __scoped_atomic_compare_exchange_n(HY_WORD(e), &hy_was, (v), 0, __ATOMIC_RELAXED, \
                                       __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);      \
    hy_was;                                                                           \
  })
#define HY_WORD(e)                \
  _Generic(&(e),                  \
      HY_GLOBAL int*: &(e),       \
      HY_GLOBAL uint*: &(e),      \
      HY_GROUP_MEMORY int*: &(e), \
      HY_GROUP_MEMORY uint*: &(e))

#endif

#define hy_atomic_add(e, v) HY_ATOMIC(add, e, v)
#define hy_atomic_min(e, v) HY_ATOMIC(min, e, v)
#define hy_atomic_max(e, v) HY_ATOMIC(max, e, v)
#define hy_atomic_and(e, v) HY_ATOMIC(and, e, v)
#define hy_atomic_or(e, v) HY_ATOMIC(or, e, v)
#define hy_atomic_xor(e, v) HY_ATOMIC(xor, e, v)

#endif /* HALYARD_KERNEL_DEVICE_H_ */
