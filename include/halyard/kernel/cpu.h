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
 * 19 turns a sum of indices into an `or` of their bits, and then gathers adjacent elements.
 * Where the number of items is a constant or becomes one, the loop is not unrolled: clang would
 * unroll a short one completely before it is vectorised, and code without loops is not (the
 * compiler passes -fno-slp-vectorize). */
#define HY_ITEMS HY_LOOP(hy_nx, HY_ROLLED)
#define HY_ITEMS_BELOW(n) HY_LOOP(hy_clip((n) > 0 ? (n) : 0, hy_gx * hy_nx, hy_nx), HY_SIMD)
#define HY_ITEMS_FIRST(n) HY_LOOP(hy_clip((n) > 0 ? (n) : 0, 0, hy_nx), HY_ROLLED)
#define HY_LOOP(end, how)                                     \
  for (size_t hy_z = 0, hy_end = (end); hy_z < hy_nz; ++hy_z) \
    for (size_t hy_y = 0; hy_y < hy_ny; ++hy_y)               \
  how for (size_t hy_x = 0; hy_x != hy_end; ++hy_x)
#ifdef HY_RULES
#define HY_SIMD _Pragma("omp simd")
#define HY_ROLLED HY_SIMD
#else
#define HY_SIMD _Pragma("clang loop vectorize(assume_safety)")
#define HY_ROLLED _Pragma("clang loop vectorize(assume_safety) unroll(disable)")
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
#define HY_FORMAL_hy_private(k, T, x, n) , T hy_my_##x[__restrict n][HY_ITEMS_OF k]

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

/* Conversions of half that the processor lacks: x86 before F16C, and of double before AVX-512 FP16.
 * The compiler calls them by these names. A NaN becomes quiet and keeps its upper bits, as F16C
 * converts it. The checking pass, which rejects _Float16, must not see them. */
#if defined(__x86_64__) && !defined(HY_RULES)
typedef unsigned long long hy_ulong;
/* The half nearest to (-1)^sign * significand * 2^exponent. The significand has 24 to 53 bits,
 * unless the number is far below the least half. */
HY_FN ushort hy_round_to_half(uint sign, hy_ulong significand, int exponent) {
  /* The last bit of a half with this magnitude is 2^unit. */
  const int top = significand == 0 ? -100 : 63 - __builtin_clzll(significand) + exponent;
  const int unit = top < -14 ? -24 : top - 10;
  const int drop = unit - exponent;
  hy_ulong kept = 0;
  if (top > 15) return (ushort)(sign << 15 | 0x7c00);
  if (drop < 64) {
    const hy_ulong rest = significand & (((hy_ulong)1 << drop) - 1);
    const hy_ulong middle = (hy_ulong)1 << (drop - 1);
    kept = significand >> drop;
    kept += rest > middle || (rest == middle && (kept & 1) != 0);
  }
  /* A carry goes into the exponent, at the end to infinity. */
  return (ushort)(sign << 15 | ((uint)(unit + 24) * 1024 + (uint)kept));
}
HY_FN _Float16 hy_half_of_bits(ushort bits) {
  const union {
    ushort bits;
    _Float16 value;
  } u = {bits};
  return u.value;
}
HY_MEMORY _Float16 __truncsfhf2(float value) {
  const union {
    float value;
    uint bits;
  } u = {value};
  const uint sign = u.bits >> 31, exponent = u.bits >> 23 & 0xff, fraction = u.bits & 0x7fffff;
  if (exponent == 0xff) {
    return hy_half_of_bits(
        (ushort)(sign << 15 | 0x7c00 | (fraction != 0 ? 0x200 | fraction >> 13 : 0)));
  }
  return hy_half_of_bits(
      hy_round_to_half(sign, exponent == 0 ? fraction : fraction | 0x800000,
                       (int)(exponent == 0 ? 1 : exponent) - 150));
}
HY_MEMORY _Float16 __truncdfhf2(double value) {
  const union {
    double value;
    hy_ulong bits;
  } u = {value};
  const uint sign = (uint)(u.bits >> 63), exponent = (uint)(u.bits >> 52) & 0x7ff;
  const hy_ulong fraction = u.bits & (((hy_ulong)1 << 52) - 1);
  if (exponent == 0x7ff) {
    return hy_half_of_bits(
        (ushort)(sign << 15 | 0x7c00 | (fraction != 0 ? 0x200 | (uint)(fraction >> 42) : 0)));
  }
  return hy_half_of_bits(
      hy_round_to_half(sign, exponent == 0 ? fraction : fraction | (hy_ulong)1 << 52,
                       (int)(exponent == 0 ? 1 : exponent) - 1075));
}
HY_MEMORY float __extendhfsf2(_Float16 value) {
  const union {
    _Float16 value;
    ushort bits;
  } u = {value};
  const uint sign = (uint)(u.bits >> 15) << 31, magnitude = u.bits & 0x7fff;
  union {
    uint bits;
    float value;
  } r;
  if (magnitude >= 0x7c00) {
    r.bits = sign | 0x7f800000 | magnitude << 13 | (magnitude > 0x7c00 ? 0x400000 : 0);
  } else if (magnitude >= 0x400) {
    r.bits = sign | (magnitude + (112 << 10)) << 13;
  } else {
    r.value = (float)magnitude * 0x1p-24f;
    r.bits |= sign;
  }
  return r.value;
}
#endif

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
