/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels as a CPU's code, convention hy-cpu-1: one call runs one whole group. A part of
 * halyard/kernel.h.
 */
#ifndef HALYARD_KERNEL_CPU_H_
#define HALYARD_KERNEL_CPU_H_

#define HY_GLOBAL

/* ---- Blocks -------------------------------------------------------------------------------- */

/* A block is a loop over the group's items; the end of the loop is the barrier. The pragma
 * allows vectorisation. In the checking pass `omp simd` makes the compiler also reject a jump
 * out of the block. In the other pass the condition is `!=` instead of `<`: from x < 256 clang
 * 19 turns a sum of indices into an `or` of their bits, and then gathers adjacent elements. */
#define HY_ITEMS HY_LOOP(hy_nx)
#define HY_ITEMS_BELOW(n) HY_LOOP(hy_clip((n) > 0 ? (n) : 0, hy_gx * hy_nx, hy_nx))
#define HY_ITEMS_FIRST(n) HY_LOOP(hy_clip((n) > 0 ? (n) : 0, 0, hy_nx))
#define HY_LOOP(end)                                          \
  for (size_t hy_z = 0, hy_end = (end); hy_z < hy_nz; ++hy_z) \
    for (size_t hy_y = 0; hy_y < hy_ny; ++hy_y)               \
  HY_SIMD for (size_t hy_x = 0; hy_x != hy_end; ++hy_x)
#ifdef HY_RULES
#define HY_SIMD _Pragma("omp simd")
#else
#define HY_SIMD _Pragma("clang loop vectorize(assume_safety)")
#endif

/* The item's own HY_PRIVATE, or an element of its own HY_PRIVATE_ARRAY. The values of all items
 * are adjacent, so that blocks are vectorised. The parameter has another name than x, which
 * without HY_MY would be all items' values here and the item's own value on a GPU. */
#define HY_MY(x, ...) HY_MY_OF(x __VA_OPT__(, ) __VA_ARGS__)
#define HY_MY_OF(x, ...) (hy_my_##x[0 __VA_OPT__(+(__VA_ARGS__))][HY_L])

/* ---- Entry --------------------------------------------------------------------------------- */

#define HY_ENTRY(name, x, y, z, ...)                                                               \
  __attribute__((visibility("default"))) void name(const struct hy_wg* hy_g, void* const* hy_b,    \
                                                   const void* hy_k) {                             \
    const struct hy_constants_##name* hy_c = (const struct hy_constants_##name*)hy_k;              \
    (void)hy_c;                                                                                    \
    HY_EACH(HY_LOCAL_, name, __VA_ARGS__)                                                          \
    hy_body_##name(hy_g->group[0], hy_g->group[1], hy_g->group[2], hy_g->count[0], hy_g->count[1], \
                   hy_g->count[2], (x), (y), (z)HY_EACH(HY_ACTUAL_, name, __VA_ARGS__));           \
  }
#define HY_GROUP(d) hy_g->group[d]
#define HY_POINTER(T, x) ((T*)*hy_b++)

#define HY_LOCAL_hy_shared(k, T, x, n, rest) _Alignas(64) T hy_v_##x[n] rest;
#define HY_LOCAL_hy_private(k, T, x, n) _Alignas(64) T hy_v_##x[n][hy$items$##k];

#define HY_FORMAL_hy_shared(k, T, x, n, rest) , T x[__restrict n] rest
#define HY_FORMAL_hy_private(k, T, x, n) , T hy_my_##x[__restrict n][hy$items$##k]

/* A freestanding compiler may still call these for copies and fills. */
#define HY_MEMORY __attribute__((weak, visibility("hidden"), no_builtin))
HY_MEMORY void* memcpy(void* to, const void* from, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) ((char*)to)[i] = ((const char*)from)[i];
  return to;
}
HY_MEMORY void* memset(void* to, int value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) ((char*)to)[i] = (char)value;
  return to;
}

/* ---- Atomics ------------------------------------------------------------------------------- */

/* Builtins, which the vectoriser leaves unchanged although `omp simd` declares the items
 * independent. Plain or volatile accesses would lose updates. */
#define hy_atomic_add(e, v) __atomic_fetch_add(HY_WORD(e), (v), __ATOMIC_RELAXED)
#define hy_atomic_min(e, v) __atomic_fetch_min(HY_WORD(e), (v), __ATOMIC_RELAXED)
#define hy_atomic_max(e, v) __atomic_fetch_max(HY_WORD(e), (v), __ATOMIC_RELAXED)
#define hy_atomic_and(e, v) __atomic_fetch_and(HY_WORD(e), (v), __ATOMIC_RELAXED)
#define hy_atomic_or(e, v) __atomic_fetch_or(HY_WORD(e), (v), __ATOMIC_RELAXED)
#define hy_atomic_xor(e, v) __atomic_fetch_xor(HY_WORD(e), (v), __ATOMIC_RELAXED)
#define hy_atomic_exchange(e, v) __atomic_exchange_n(HY_WORD(e), (v), __ATOMIC_RELAXED)
#define hy_atomic_compare_exchange(e, expected, v) \
  __sync_val_compare_and_swap(HY_WORD(e), (expected), (v))
/* The address of a writable element of int or uint; an error for anything else. */
#define HY_WORD(e) _Generic(&(e), int*: &(e), uint*: &(e))

#endif /* HALYARD_KERNEL_CPU_H_ */
