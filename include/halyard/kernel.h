/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The kernel dialect: what a .hyk file is written in. C with macros, compiled once per target;
 * `halyard compile` includes this header by itself. Names that begin with hy_ or HY_ are taken.
 *
 *   HY_KERNEL(saxpy, 256, 1, 1, HY_IN(float, x), HY_INOUT(float, y),
 *             HY_SCALAR(float, a), HY_SCALAR(uint, n)) {
 *     HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = a * x[HY_GLOBAL_X] + y[HY_GLOBAL_X]; }
 *   }
 *
 * A kernel has a name, a workgroup size (1 to 1024 items) and at most 40 parameters and statements
 * on their sizes. Its body is the control flow of the whole group. What each item does stands in
 * blocks:
 *
 *   HY_ITEMS { }              every item of the group, then a barrier of the group
 *   HY_ITEMS_BELOW(n) { }     the same, for the items with HY_GLOBAL_X < n
 *   HY_ITEMS_FIRST(n) { }     the same, for the items with HY_X < n
 *
 * Rules. `halyard compile` rejects what breaks the first five, and the last part of the sixth.
 *   1. No break, return or goto leaves a block; `continue` ends one item's part. Outside blocks
 *      there is no goto: the group's control flow is loops, if and switch.
 *   2. Blocks do not nest and stand in no expression. Item indices and HY_MY exist only inside
 *      them, and nothing but the block itself changes an index.
 *   3. Buffers and shared arrays are written only inside blocks; inputs and scalars never. A buffer
 *      is indexed; it does not become another.
 *   4. A block does not write a local that is declared outside it. What an item keeps from block to
 *      block is HY_PRIVATE; what the group keeps is HY_SHARED.
 *   5. No variables at file scope or `static`, except constants; no pointers but parameters of
 *      functions, none of them made of an integer or read from memory. Who gives a function an
 *      address writes there, unless it is one of constants. What is read or written is named: an
 *      address that is one of two, or that a function or statement returns, is refused.
 *   6. Within one block no item reads or writes what another writes, except both by atomics. From
 *      block to block items exchange data through shared arrays only, never through buffers.
 *      What is read outside blocks, the next block does not write: on a GPU an item may be there
 *      already.
 *   7. Two parameters never refer to the same memory.
 * They are checked once, in the form that the source has for x86-64: what stands under a condition
 * such as `#ifdef __NVPTX__` is its author's to check.
 *
 * Indices are unsigned, with 32 bits or 64 as the target likes: none goes below 0 or reaches 2^32.
 * `char` is signed. Refused are assembly, a local that hides another, and types that are others on
 * each target: `long double`, `_Float16` and `__bf16`.
 *
 * Parameters, T being float, int or uint, or double, which spirv-1.5 and msl-3.0 lack. Bindings and
 * constants number in list order, each from 0.
 *   HY_IN(T, x)  HY_OUT(T, x)  HY_INOUT(T, x)     buffers, x[i]; an OUT may be read back
 *   HY_SCALAR(T, n)                               a constant of the launch
 *   HY_SHARED(T, x, count)                        x[i]: one array for the group
 *   HY_SHARED2(T, x, rows, columns)               x[i][j]; up to 32 KiB of shared arrays in all
 *   HY_PRIVATE(T, x)                              HY_MY(x): one value per item
 *   HY_PRIVATE_ARRAY(T, x, count)                 HY_MY(x, i): count values per item
 *
 * Shared and private storage is not initialised. Elements of an HY_OUT that no item writes keep
 * their values.
 *
 * Atomics, on an element e of a buffer or shared array of int or uint. Each returns what was there
 * before, and orders nothing else. By them items of one block, and on buffers all groups of a
 * launch, may touch the same element. Only in a kernel's blocks: `halyard compile` rejects others.
 *   hy_atomic_add(e, v)  hy_atomic_min(e, v)  hy_atomic_max(e, v)  hy_atomic_exchange(e, v)
 *   hy_atomic_and(e, v)  hy_atomic_or(e, v)   hy_atomic_xor(e, v)
 *   hy_atomic_compare_exchange(e, expected, v)    stores v if e equals expected
 *
 * Tensor parameters are in halyard/kernel_tensor.h, mathematics in halyard/kernel_math.h; this
 * header includes both.
 */
#ifndef HALYARD_KERNEL_H_
#define HALYARD_KERNEL_H_

#ifdef __cplusplus
#error "halyard/kernel.h is the language of kernels, not a header for C++; compile with `halyard`"
#endif

typedef unsigned int uint;
typedef __SIZE_TYPE__ size_t;

/* How a target runs a kernel: kernel_cpu.h runs a group by one call, kernel_device.h an item. */
#if defined(__NVPTX__) || defined(__AMDGCN__) || defined(HY_TEXT)
#define HY_DEVICE
#endif

/* The type of all indices. On a CPU 64 bits: a 32-bit index may wrap, which stops vectorisation. */
#ifdef HY_DEVICE
typedef uint hy_index;
#else
typedef size_t hy_index;
#endif

/* A function that kernels call; always inlined. */
#define HY_FN static inline __attribute__((always_inline, unused))

/* Before a loop of constant length: unroll it whole. */
#define HY_UNROLL _Pragma("clang loop unroll(full)")

/* ---- Indices ------------------------------------------------------------------------------- */

/* Inside blocks: the item's place in its group, that place as one number, its place in the grid. */
#define HY_X hy_x
#define HY_Y hy_y
#define HY_Z hy_z
#define HY_L ((hy_z * hy_ny + hy_y) * hy_nx + hy_x)
#define HY_GLOBAL_X (hy_gx * hy_nx + hy_x)
#define HY_GLOBAL_Y (hy_gy * hy_ny + hy_y)
#define HY_GLOBAL_Z (hy_gz * hy_nz + hy_z)

/* Anywhere in a body: the group's place in the grid, the number of groups, the items of a group. */
#define HY_GX hy_gx
#define HY_GY hy_gy
#define HY_GZ hy_gz
#define HY_GROUPS_X hy_cx
#define HY_GROUPS_Y hy_cy
#define HY_GROUPS_Z hy_cz
#define HY_NX hy_nx
#define HY_NY hy_ny
#define HY_NZ hy_nz

/* How many of `count` items from `first` on lie below n. */
HY_FN hy_index hy_clip(hy_index n, hy_index first, hy_index count) {
  const hy_index left = n > first ? n - first : 0;
  return left < count ? left : count;
}

/* ---- Parameters: each is a tuple (kind, type, name, ...) ------------------------------------ */

#define HY_IN(T, x) (hy_buffer, const T, x, in)
#define HY_OUT(T, x) (hy_buffer, T, x, out)
#define HY_INOUT(T, x) (hy_buffer, T, x, inout)
#define HY_SCALAR(T, x) (hy_scalar, T, x)
#define HY_SHARED(T, x, count) (hy_shared, T, x, count, )
#define HY_SHARED2(T, x, rows, columns) (hy_shared, T, x, rows, [columns])
#define HY_PRIVATE(T, x) (hy_private, T, x, 1)
#define HY_PRIVATE_ARRAY(T, x, count) (hy_private, T, x, count)

/* HY_EACH(M, k, (kind, ...), ...): M##kind(k, ...) for each tuple of the list. */
#define HY_EACH(M, k, ...) __VA_OPT__(HY_SCAN(HY_EACH_STEP(M, k, __VA_ARGS__)))
#define HY_EACH_STEP(M, k, tuple, ...) \
  HY_PASTE(M, k, HY_STRIP tuple) __VA_OPT__(HY_EACH_AGAIN HY_PARENTHESES(M, k, __VA_ARGS__))
#define HY_EACH_AGAIN() HY_EACH_STEP
#define HY_PARENTHESES ()
#define HY_STRIP(...) __VA_ARGS__
#define HY_PASTE(M, k, ...) HY_PASTE_KIND(M, k, __VA_ARGS__)
#define HY_PASTE_KIND(M, k, kind, ...) M##kind(k, __VA_ARGS__)
/* 53 scans: one for each parameter, and some to spare. */
#define HY_SCAN(...) HY_SCAN9(HY_SCAN9(HY_SCAN9(HY_SCAN9(__VA_ARGS__))))
#define HY_SCAN9(...) HY_SCAN3(HY_SCAN3(HY_SCAN3(__VA_ARGS__)))
#define HY_SCAN3(...) HY_SCAN1(HY_SCAN1(HY_SCAN1(__VA_ARGS__)))
#define HY_SCAN1(...) __VA_ARGS__

/* ---- The kernel ------------------------------------------------------------------------------ */

/* Group index and number of groups, in x, y, z. The same as halyard::kernel::Workgroup. */
struct hy_wg {
  size_t group[3];
  size_t count[3];
};

/*
 * HY_ENTRY is the function that a driver calls, named as the kernel: it unpacks what it is given,
 * holds private storage, and calls the body, which is always inlined. `enum hy_reflect_<name>` is
 * how the compiler driver learns sizes, parameters and types: it reads the enumerators from clang's
 * syntax tree.
 */
#define HY_KERNEL(name, x, y, z, ...)                                                         \
  struct hy_constants_##name {                                                                \
    HY_EACH(HY_FIELD_, name, __VA_ARGS__) uint hy_end[0];                                     \
  };                                                                                          \
  enum hy_reflect_##name{hy$x$##name = (x),                                                   \
                         hy$y$##name = (y),                                                   \
                         hy$z$##name = (z),                                                   \
                         hy$items$##name = (x) * (y) * (z),                                   \
                         hy$constants$##name = sizeof(struct hy_constants_##name),            \
                         hy$shared$##name = 0 HY_EACH(HY_SHARED_BYTES_, name, __VA_ARGS__),   \
                         hy$private$##name = 0 HY_EACH(HY_PRIVATE_BYTES_, name, __VA_ARGS__), \
                         HY_EACH(HY_REFLECT_, name, __VA_ARGS__)};                            \
  _Static_assert((x) >= 1 && (y) >= 1 && (z) >= 1 && (x) * (y) * (z) <= 1024,                 \
                 "a workgroup has 1 to 1024 items");                                          \
  _Static_assert(hy$shared$##name <= 32768, "shared arrays hold 32 KiB at most");             \
  _Static_assert(hy$private$##name <= 256, "private values hold 256 bytes per item at most"); \
  HY_BODY(name, __VA_ARGS__);                                                                 \
  HY_ENTRY(name, x, y, z, __VA_ARGS__)                                                        \
  HY_BODY(name, __VA_ARGS__)
#define HY_BODY(name, ...)                                                                    \
  HY_FN void hy_body_##name(const hy_index hy_gx, const hy_index hy_gy, const hy_index hy_gz, \
                            const hy_index hy_cx, const hy_index hy_cy, const hy_index hy_cz, \
                            const hy_index hy_nx, const hy_index hy_ny,                       \
                            const hy_index hy_nz HY_EACH(HY_FORMAL_, name, __VA_ARGS__))

/* A field of the constants. */
#define HY_FIELD_hy_buffer(k, T, x, access)
#define HY_FIELD_hy_scalar(k, T, x) T x;
#define HY_FIELD_hy_shared(k, T, x, n, rest)
#define HY_FIELD_hy_private(k, T, x, n)

/* Bytes of shared storage, and of private storage per item. */
#define HY_SHARED_BYTES_hy_buffer(k, T, x, access)
#define HY_SHARED_BYTES_hy_scalar(k, T, x)
#define HY_SHARED_BYTES_hy_shared(k, T, x, n, rest) +sizeof(T[n] rest)
#define HY_SHARED_BYTES_hy_private(k, T, x, n)

#define HY_PRIVATE_BYTES_hy_buffer(k, T, x, access)
#define HY_PRIVATE_BYTES_hy_scalar(k, T, x)
#define HY_PRIVATE_BYTES_hy_shared(k, T, x, n, rest)
#define HY_PRIVATE_BYTES_hy_private(k, T, x, n) +sizeof(T[n])

/* An enumerator whose value is the element type, numbered as halyard::kernel::ElementType. */
#define HY_TYPE(T) _Generic((T)0, float: 0, int: 1, uint: 2, double: 3)
#define HY_REFLECT_hy_buffer(k, T, x, access) hy$##access##$##k##$##x = HY_TYPE(T),
#define HY_REFLECT_hy_scalar(k, T, x) hy$scalar$##k##$##x = HY_TYPE(T),
#define HY_REFLECT_hy_shared(k, T, x, n, rest) hy$local$##k##$##x = HY_TYPE(T),
#define HY_REFLECT_hy_private(k, T, x, n) hy$own$##k##$##x = HY_TYPE(T),

/* In the entry: a local for each parameter. Those of shared and private storage are the target's,
 * as are HY_GLOBAL, which qualifies buffers, and HY_POINTER, the next binding. */
#define HY_LOCAL_hy_buffer(k, T, x, access) HY_GLOBAL T* hy_v_##x = HY_POINTER(T, x);
#define HY_LOCAL_hy_scalar(k, T, x) const T hy_v_##x = hy_c->x;

/* The entry's argument, and the body's parameter by the user's name. */
#define HY_ACTUAL_hy_buffer(k, T, x, access) , hy_v_##x
#define HY_ACTUAL_hy_scalar(k, T, x) , hy_v_##x
#define HY_ACTUAL_hy_shared(k, T, x, n, rest) , hy_v_##x
#define HY_ACTUAL_hy_private(k, T, x, n) , hy_v_##x

#define HY_FORMAL_hy_buffer(k, T, x, access) , HY_GLOBAL T* __restrict x
#define HY_FORMAL_hy_scalar(k, T, x) , const T x

#ifdef HY_DEVICE
#include "halyard/kernel_device.h"
#else
#include "halyard/kernel_cpu.h"
#endif
#include "halyard/kernel_math.h"
#include "halyard/kernel_tensor.h"

/* How a target runs a kernel is none of the kernel's business. */
#undef HY_DEVICE
#undef HY_TEXT
#undef HY_RULES
#pragma GCC poison HY_DEVICE HY_TEXT HY_RULES

#endif /* HALYARD_KERNEL_H_ */
