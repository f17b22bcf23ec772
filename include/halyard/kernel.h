/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The language of .hyk files: C with macros, compiled once per target. `halyard compile` includes
 * this header by itself. Names that begin with hy_ or HY_ are reserved.
 *
 *   HY_KERNEL(saxpy, 256, 1, 1, HY_IN(float, x), HY_INOUT(float, y),
 *             HY_SCALAR(float, a), HY_SCALAR(uint, n)) {
 *     HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = a * x[HY_GLOBAL_X] + y[HY_GLOBAL_X]; }
 *   }
 *
 * A kernel has a name, a workgroup size (1 to 1024 items) and at most 40 list entries: parameters,
 * and statements about them. Its body is the control flow of the whole group. Blocks say what each
 * item does:
 *
 *   HY_ITEMS { }              every item of the group, then a barrier of the group
 *   HY_ITEMS_BELOW(n) { }     the same, for the items with HY_GLOBAL_X < n
 *   HY_ITEMS_FIRST(n) { }     the same, for the items with HY_X < n
 *
 * Rules. `halyard compile` rejects a kernel that breaks one of the first five, or the last part of
 * the sixth.
 *   1. No break, return or goto leaves a block; `continue` ends one item's part. Outside blocks
 *      there is no goto: the group's control flow is loops, if and switch.
 *   2. A block is not nested in another block or in an expression. Item indices and HY_MY exist
 *      only inside blocks, and only the block itself changes an index.
 *   3. Buffers and shared arrays are written only inside blocks; inputs and scalars never. A buffer
 *      is only indexed: it is not assigned to another variable.
 *   4. A block does not write a local that is declared outside it. An item keeps values from block
 *      to block in HY_PRIVATE, the group in HY_SHARED.
 *   5. Variables at file scope and `static` ones are constants. Only parameters of functions are
 *      pointers, and none is made from an integer or read from memory. Passing an address to a
 *      function counts as a write to it, unless the parameter points to const. Every access names
 *      its object: an address that is one of two, or the result of a function or statement, is
 *      rejected. So is a constant index that a shared or private array does not have.
 *   6. Within one block no item accesses what another item writes, unless both use atomics. Items
 *      exchange data from block to block through shared arrays only, never through buffers. A block
 *      does not write what the code before it reads outside blocks: on a GPU another item may
 *      already run the block.
 *   7. Two parameters never refer to the same memory. A kernel whose list has HY_MAY_OVERLAP is an
 *      exception: buffers and tensors of one launch may overlap, e.g. because each item reads an
 *      element before it writes the same one (in place). The rules then hold for all of them as if
 *      they were one buffer; rule 6, for instance, for an item that reads x where another one
 *      writes y.
 * The rules are checked once, in the form that the source has for x86-64. Code under a condition
 * such as `#ifdef __NVPTX__` is not checked.
 *
 * Indices are unsigned, with 32 or 64 bits depending on the target; none goes below 0 or reaches
 * 2^32. `char` is signed. Rejected are assembly, a local that hides another, and types that differ
 * between targets: `long double`, `_Float16` and `__bf16`.
 *
 * Parameters. T is float, int, uint or double; spirv-1.5 and msl-3.0 lack double. The elements of
 * buffers and tensors may also be half, char, uchar, short or ushort: memory only, since C computes
 * with int or float. A store keeps the low bits of an integer and rounds to the nearest half, of
 * two equally near ones the even one; a NaN stays a NaN, with bits that differ between targets.
 * Local variables may have these types too; functions take and return float instead of half.
 * Bindings and constants are each numbered from 0, in list order.
 *   HY_IN(T, x)  HY_OUT(T, x)  HY_INOUT(T, x)     buffers, x[i]; an OUT may be read back
 *   HY_SCALAR(T, n)                               a constant of the launch
 *   HY_SHARED(T, x, count)                        x[i]: one array for the group
 *   HY_SHARED2(T, x, rows, columns)               x[i][j]; up to 32 KiB of shared arrays in all
 *   HY_PRIVATE(T, x)                              HY_MY(x): one value per item
 *   HY_PRIVATE_ARRAY(T, x, count)                 HY_MY(x, i): count values per item
 *   HY_MAY_OVERLAP                                not a parameter, but a statement: rule 7
 *
 * Shared and private storage is not initialised. Elements of an HY_OUT that no item writes keep
 * their values.
 *
 * Atomics, on an element e of a buffer or shared array of int or uint. Each returns the previous
 * value, and orders no other access. With them items of one block, and on buffers all groups of a
 * launch, may access the same element. They are allowed only in a kernel's blocks; `halyard
 * compile` rejects others.
 *   hy_atomic_add(e, v)  hy_atomic_min(e, v)  hy_atomic_max(e, v)  hy_atomic_exchange(e, v)
 *   hy_atomic_and(e, v)  hy_atomic_or(e, v)   hy_atomic_xor(e, v)
 *   hy_atomic_compare_exchange(e, expected, v)    stores v if e equals expected
 *
 * Tensor parameters are in halyard/kernel/tensor.h, mathematics in halyard/kernel/math.h; this
 * header includes both.
 */
#ifndef HALYARD_KERNEL_H_
#define HALYARD_KERNEL_H_

#ifdef __cplusplus
#error "halyard/kernel.h is the language of kernels, not a header for C++; compile with `halyard`"
#endif

typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef __fp16 half; /* a value is a float at once; _Float16 has arithmetic of its own */
typedef __SIZE_TYPE__ size_t;

/* On a CPU one call runs a whole group (kernel/cpu.h), on a GPU one item (kernel/device.h). */
#if defined(__NVPTX__) || defined(__AMDGCN__) || defined(HY_TEXT)
#define HY_DEVICE
#endif

/* The type of all indices. 64 bits on a CPU: an index that may wrap prevents vectorisation. */
#ifdef HY_DEVICE
typedef uint hy_index;
#else
typedef size_t hy_index;
#endif

/* A function that kernels call; always inlined. */
#define HY_FN static inline __attribute__((always_inline, unused))

/* Before a loop of constant length: unrolls it completely. */
#define HY_UNROLL _Pragma("clang loop unroll(full)")

/* ---- Indices ------------------------------------------------------------------------------- */

/* Inside blocks: the item's index in its group, that index as one number, its index in the grid. */
#define HY_X hy_x
#define HY_Y hy_y
#define HY_Z hy_z
#define HY_L ((hy_z * hy_ny + hy_y) * hy_nx + hy_x)
#define HY_GLOBAL_X (hy_gx * hy_nx + hy_x)
#define HY_GLOBAL_Y (hy_gy * hy_ny + hy_y)
#define HY_GLOBAL_Z (hy_gz * hy_nz + hy_z)

/* Anywhere in a body: the group's index in the grid, the number of groups, the items of a group. */
#define HY_GX hy_gx
#define HY_GY hy_gy
#define HY_GZ hy_gz
#define HY_GROUPS_X hy_cx
#define HY_GROUPS_Y hy_cy
#define HY_GROUPS_Z hy_cz
#define HY_NX hy_nx
#define HY_NY hy_ny
#define HY_NZ hy_nz

/* Number of indices below n among the `count` from `first` on. */
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
#define HY_MAY_OVERLAP (hy_may_overlap)

/* HY_EACH(M, k, (kind, ...), ...): M##kind(k, ...) for each tuple of the list. */
#define HY_EACH(M, k, ...) __VA_OPT__(HY_SCAN(HY_EACH_STEP(M, k, __VA_ARGS__)))
#define HY_EACH_STEP(M, k, tuple, ...) \
  HY_PASTE(M, k, HY_STRIP tuple) __VA_OPT__(HY_EACH_AGAIN HY_PARENTHESES(M, k, __VA_ARGS__))
#define HY_EACH_AGAIN() HY_EACH_STEP
#define HY_PARENTHESES ()
#define HY_STRIP(...) __VA_ARGS__
#define HY_PASTE(M, k, ...) HY_PASTE_KIND(M, k, __VA_ARGS__)
#define HY_PASTE_KIND(M, k, kind, ...) M##kind(k, __VA_ARGS__)
/* 53 scans: more than the 40 entries a kernel may have. */
#define HY_SCAN(...) HY_SCAN9(HY_SCAN9(HY_SCAN9(HY_SCAN9(__VA_ARGS__))))
#define HY_SCAN9(...) HY_SCAN3(HY_SCAN3(HY_SCAN3(__VA_ARGS__)))
#define HY_SCAN3(...) HY_SCAN1(HY_SCAN1(HY_SCAN1(__VA_ARGS__)))
#define HY_SCAN1(...) __VA_ARGS__

/* ---- The kernel ------------------------------------------------------------------------------ */

/* Group index and number of groups, in x, y, z. The same as halyard::Workgroup. */
struct hy_wg {
  size_t group[3];
  size_t count[3];
};

/*
 * HY_ENTRY is the function that a driver calls. It has the kernel's name, unpacks the arguments,
 * holds private storage, and calls the body, which is always inlined. `halyard compile` reads
 * sizes, parameters and types from clang's syntax tree, as enumerators of hy_reflect_<name>.
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
  HY_TYPES(name, __VA_ARGS__)                                                                 \
  HY_BODY(name, __VA_ARGS__);                                                                 \
  HY_ENTRY(name, x, y, z, __VA_ARGS__)                                                        \
  HY_BODY(name, __VA_ARGS__)
#define HY_TYPES(name, ...) /* kernel/checked.h has some */
#define HY_BODY(name, ...)                                                                       \
  HY_FN void hy_body_##name(const hy_index hy_gx, const hy_index hy_gy, const hy_index hy_gz,    \
                            const hy_index hy_cx, const hy_index hy_cy, const hy_index hy_cz,    \
                            const hy_index hy_nx, const hy_index hy_ny, const hy_index hy_nz     \
                                HY_EACH(HY_FORMAL_, (name, HY_RESTRICT(__VA_ARGS__)), __VA_ARGS__))

/* Nothing if HY_MAY_OVERLAP is in the list, which then may not be assumed to refer to distinct
 * memory; else __restrict. */
#define HY_RESTRICT(...) HY_RESTRICT_IF_NONE(HY_EACH(HY_OVERLAP_, , __VA_ARGS__))
#define HY_RESTRICT_IF_NONE(...) HY_FIRST_OF(__VA_OPT__(, ) __restrict, )
#define HY_FIRST_OF(first, ...) first
#define HY_SECOND_OF(first, second) second
#define HY_OVERLAP_hy_buffer(...)
#define HY_OVERLAP_hy_scalar(...)
#define HY_OVERLAP_hy_shared(...)
#define HY_OVERLAP_hy_private(...)
#define HY_OVERLAP_hy_may_overlap(...) 1

/* A field of the struct of constants. */
#define HY_FIELD_hy_buffer(k, T, x, access)
#define HY_FIELD_hy_scalar(k, T, x) T x;
#define HY_FIELD_hy_shared(k, T, x, n, rest)
#define HY_FIELD_hy_private(k, T, x, n)
#define HY_FIELD_hy_may_overlap(k, ...)

/* Bytes of shared storage, and of private storage per item. */
#define HY_SHARED_BYTES_hy_buffer(k, T, x, access)
#define HY_SHARED_BYTES_hy_scalar(k, T, x)
#define HY_SHARED_BYTES_hy_shared(k, T, x, n, rest) +sizeof(T[n] rest)
#define HY_SHARED_BYTES_hy_private(k, T, x, n)
#define HY_SHARED_BYTES_hy_may_overlap(k, ...)

#define HY_PRIVATE_BYTES_hy_buffer(k, T, x, access)
#define HY_PRIVATE_BYTES_hy_scalar(k, T, x)
#define HY_PRIVATE_BYTES_hy_shared(k, T, x, n, rest)
#define HY_PRIVATE_BYTES_hy_private(k, T, x, n) +sizeof(T[n])
#define HY_PRIVATE_BYTES_hy_may_overlap(k, ...)

/* An enumerator whose value is the element type, numbered as halyard::kernel::ElementType. */
#define HY_TYPE(T) _Generic((T)0, float: 0, int: 1, uint: 2, double: 3)
#define HY_ELEMENT_TYPE(T) \
  _Generic((T)0,           \
      float: 0,            \
      int: 1,              \
      uint: 2,             \
      double: 3,           \
      half: 6,             \
      short: 7,            \
      ushort: 8,           \
      char: 9,             \
      signed char: 9,      \
      uchar: 10)
#define HY_REFLECT_hy_buffer(k, T, x, access) hy$##access##$##k##$##x = HY_ELEMENT_TYPE(T),
#define HY_REFLECT_hy_scalar(k, T, x) hy$scalar$##k##$##x = HY_TYPE(T),
#define HY_REFLECT_hy_shared(k, T, x, n, rest) \
  hy$local$##k##$##x = HY_TYPE(T), hy$count$##k##$##x = (n),
#define HY_REFLECT_hy_private(k, T, x, n) hy$own$##k##$##x = HY_TYPE(T), hy$count$##k##$##x = (n),
#define HY_REFLECT_hy_may_overlap(k, ...) hy$may_overlap$##k = 1,

/* In the entry, a local for each parameter. The target's header defines those of shared and
 * private storage, HY_GLOBAL, which qualifies buffers, and HY_POINTER, the next binding. */
#define HY_LOCAL_hy_buffer(k, T, x, access) HY_GLOBAL T* hy_v_##x = HY_POINTER(T, x);
#define HY_LOCAL_hy_scalar(k, T, x) const T hy_v_##x = hy_c->x;
#define HY_LOCAL_hy_may_overlap(k, ...)

/* The entry's argument, and the body's parameter by the user's name. The k of a parameter is
 * (kernel, __restrict) or (kernel, ). */
#define HY_ACTUAL_hy_buffer(k, T, x, access) , hy_v_##x
#define HY_ACTUAL_hy_scalar(k, T, x) , hy_v_##x
#define HY_ACTUAL_hy_shared(k, T, x, n, rest) , hy_v_##x
#define HY_ACTUAL_hy_private(k, T, x, n) , hy_v_##x
#define HY_ACTUAL_hy_may_overlap(k, ...)

#define HY_FORMAL_hy_buffer(k, T, x, access) , HY_GLOBAL T* HY_SECOND_OF k x
#define HY_FORMAL_hy_scalar(k, T, x) , const T x
#define HY_FORMAL_hy_may_overlap(k, ...)
#define HY_ITEMS_OF(k, ...) hy$items$##k

#ifdef HY_DEVICE
#include "halyard/kernel/device.h"
#else
#include "halyard/kernel/cpu.h"
#endif
#include "halyard/kernel/math.h"
#include "halyard/kernel/tensor.h"
#if defined(HY_CHECKED) && !defined(HY_DEVICE) && !defined(HY_RULES)
#include "halyard/kernel/checked.h"
#endif

/* A kernel cannot ask how its target runs it. */
#undef HY_DEVICE
#undef HY_TEXT
#undef HY_RULES
#pragma GCC poison HY_DEVICE HY_TEXT HY_RULES

#endif /* HALYARD_KERNEL_H_ */
