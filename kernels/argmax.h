/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The index of the greatest element, for any type T: ARGMAX defines the four kernels of argmax.hyk.
 * `nothing` is the least value of T. */
#include <halyard/kernel.h>

#define ITEMS 256
#define EACH 16  // elements per item
#define NONE 0xffffffffu

// Replaces `best` and its index `at` by a value and its index, if the value is greater, or is equal
// and has a smaller index. Skips NaNs.
#define KEEP(T, best, at, value, index)                                                     \
  {                                                                                         \
    const T v = value;                                                                      \
    const uint k = index;                                                                   \
    /* Without branches: masked accesses of vectors are slow on some CPUs. */               \
    const int kept = (v > best) | ((v == best) & (k < at));                                 \
    best = kept ? v : best;                                                                 \
    at = kept ? k : at;                                                                     \
  }
#define OWN(i) ((uint)(i))
#define GIVEN(i) (indices[i])

// `index(i)` is the index of the i-th of n elements.
#define ARGMAX_OF_ALL(T, nothing, index)                                                    \
  {                                                                                         \
    const hy_index group = (HY_GZ * HY_GROUPS_Y + HY_GY) * HY_GROUPS_X + HY_GX;             \
    const hy_index first = group * ITEMS * EACH;                                            \
    HY_ITEMS {                                                                              \
      t[HY_X] = nothing;                                                                    \
      at[HY_X] = NONE;                                                                      \
    }                                                                                       \
    const hy_index end = first + ITEMS * EACH;                                              \
    for (hy_index start = first; start < n && start < end; start += ITEMS) {                \
      HY_ITEMS_FIRST(n - start) {                                                           \
        const uint own = index(start + HY_X);                                               \
        KEEP(T, t[HY_X], at[HY_X], x[own], own)                                             \
      }                                                                                     \
    }                                                                                       \
    KEEP_OF_ITEMS(T, ITEMS)                                                                 \
    HY_ITEMS_FIRST(1) {                                                                     \
      /* The grid may have more groups. */                                                  \
      if (first < n) y[group] = at[0] == NONE ? index(first) : at[0];                       \
    }                                                                                       \
  }
// Leaves the items' choice in t[0] and at[0].
#define KEEP_OF_ITEMS(T, items)                                                             \
  for (uint half = items / 2; half > 0; half /= 2) {                                        \
    HY_ITEMS_FIRST(half) { KEEP(T, t[HY_X], at[HY_X], t[HY_X + half], at[HY_X + half]) }    \
  }

#define ROW_ITEMS 64

#define ARGMAX_OF_ROW(T, nothing)                                                           \
  {                                                                                         \
    const hy_index first = HY_GX * columns;                                                 \
    HY_ITEMS {                                                                              \
      t[HY_X] = nothing;                                                                    \
      at[HY_X] = NONE;                                                                      \
    }                                                                                       \
    for (hy_index start = 0; start < columns; start += ROW_ITEMS) {                         \
      HY_ITEMS_FIRST(columns - start) {                                                     \
        KEEP(T, t[HY_X], at[HY_X], x[first + start + HY_X], OWN(start + HY_X))              \
      }                                                                                     \
    }                                                                                       \
    KEEP_OF_ITEMS(T, ROW_ITEMS)                                                             \
    HY_ITEMS_FIRST(1) { y[HY_GX] = at[0] == NONE ? 0 : at[0]; }                             \
  }

#define ARGMAX_OF_COLUMNS(T, nothing)                                                       \
  {                                                                                         \
    const hy_index blocks = (columns + ITEMS - 1) / ITEMS; /* of a matrix */                \
    const hy_index matrix = HY_GX / blocks;                                                 \
    const hy_index column = HY_GX % blocks * ITEMS;                                         \
    const hy_index first = matrix * rows * columns + column;                                \
    const hy_index width = columns - column; /* may exceed the number of items */           \
    HY_ITEMS {                                                                              \
      HY_MY(best) = nothing;                                                                \
      HY_MY(at) = NONE;                                                                     \
    }                                                                                       \
    for (hy_index row = 0; row < rows; ++row) {                                             \
      HY_ITEMS_FIRST(width) {                                                               \
        KEEP(T, HY_MY(best), HY_MY(at), x[first + row * columns + HY_X], OWN(row))          \
      }                                                                                     \
    }                                                                                       \
    HY_ITEMS_FIRST(width) {                                                                 \
      y[matrix * columns + column + HY_X] = HY_MY(at) == NONE ? 0 : HY_MY(at);              \
    }                                                                                       \
  }

#define ARGMAX(all, next, of_rows, of_columns, T, nothing)                                  \
  HY_KERNEL(all, ITEMS, 1, 1, HY_IN(T, x), HY_OUT(uint, y), HY_SCALAR(uint, n),             \
            HY_SHARED(T, t, ITEMS), HY_SHARED(uint, at, ITEMS))                             \
  ARGMAX_OF_ALL(T, nothing, OWN)                                                            \
  HY_KERNEL(next, ITEMS, 1, 1, HY_IN(T, x), HY_IN(uint, indices), HY_OUT(uint, y),          \
            HY_SCALAR(uint, n), HY_SHARED(T, t, ITEMS), HY_SHARED(uint, at, ITEMS))         \
  ARGMAX_OF_ALL(T, nothing, GIVEN)                                                          \
  HY_KERNEL(of_rows, ROW_ITEMS, 1, 1, HY_IN(T, x), HY_OUT(uint, y),                         \
            HY_SCALAR(uint, columns), HY_SHARED(T, t, ROW_ITEMS),                           \
            HY_SHARED(uint, at, ROW_ITEMS))                                                 \
  ARGMAX_OF_ROW(T, nothing)                                                                 \
  HY_KERNEL(of_columns, ITEMS, 1, 1, HY_IN(T, x), HY_OUT(uint, y), HY_SCALAR(uint, rows),   \
            HY_SCALAR(uint, columns), HY_PRIVATE(T, best), HY_PRIVATE(uint, at))            \
  ARGMAX_OF_COLUMNS(T, nothing)
