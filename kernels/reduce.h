/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reductions of elements of any type T: REDUCTIONS makes the three kernels of reduce.hyk's tables,
 * where `nothing` is the value for nothing and COMBINE(x, value) gives the next value. */
#include <halyard/kernel.h>

#define ITEMS 256
#define EACH 16  // elements per item

#define REDUCE(name, T, nothing, COMBINE)                                                   \
  HY_KERNEL(name, ITEMS, 1, 1, HY_IN(T, x), HY_OUT(T, y), HY_SCALAR(uint, n),               \
            HY_SHARED(T, t, ITEMS)) {                                                       \
    const hy_index first = HY_GX * ITEMS * EACH;                                            \
    if (first + ITEMS * EACH <= n) {                                                        \
      HY_ITEMS {                                                                            \
        T value = nothing;                                                                  \
        HY_UNROLL for (uint i = 0; i < EACH; ++i) {                                         \
          value = COMBINE(x[first + i * ITEMS + HY_X], value);                              \
        }                                                                                   \
        t[HY_X] = value;                                                                    \
      }                                                                                     \
    } else {                                                                                \
      HY_ITEMS { t[HY_X] = nothing; }                                                       \
      for (hy_index start = first; start < n; start += ITEMS) {                             \
        HY_ITEMS_FIRST(n - start) { t[HY_X] = COMBINE(x[start + HY_X], t[HY_X]); }          \
      }                                                                                     \
    }                                                                                       \
    for (uint half = ITEMS / 2; half > 0; half /= 2) {                                      \
      HY_ITEMS_FIRST(half) { t[HY_X] = COMBINE(t[HY_X + half], t[HY_X]); }                  \
    }                                                                                       \
    HY_ITEMS_FIRST(1) { y[HY_GX] = t[0]; }                                                  \
  }
#define SUM(a, b) ((a) + (b))

#define ROW_ITEMS 64

#define REDUCE_ROWS(name, T, nothing, COMBINE)                                              \
  HY_KERNEL(name, ROW_ITEMS, 1, 1, HY_IN(T, x), HY_OUT(T, y),                               \
            HY_SCALAR(uint, columns), HY_SHARED(T, t, ROW_ITEMS)) {                         \
    const hy_index first = HY_GX * columns;                                                 \
    hy_index start = 0;                                                                     \
    HY_ITEMS { t[HY_X] = nothing; }                                                         \
    for (; start + ROW_ITEMS * EACH <= columns; start += ROW_ITEMS * EACH) {                \
      HY_ITEMS {                                                                            \
        T value = nothing;                                                                  \
        HY_UNROLL for (uint i = 0; i < EACH; ++i) {                                         \
          value = COMBINE(x[first + start + i * ROW_ITEMS + HY_X], value);                  \
        }                                                                                   \
        t[HY_X] = COMBINE(value, t[HY_X]);                                                  \
      }                                                                                     \
    }                                                                                       \
    for (; start < columns; start += ROW_ITEMS) {                                           \
      HY_ITEMS_FIRST(columns - start) {                                                     \
        t[HY_X] = COMBINE(x[first + start + HY_X], t[HY_X]);                                \
      }                                                                                     \
    }                                                                                       \
    for (uint half = ROW_ITEMS / 2; half > 0; half /= 2) {                                  \
      HY_ITEMS_FIRST(half) { t[HY_X] = COMBINE(t[HY_X + half], t[HY_X]); }                  \
    }                                                                                       \
    HY_ITEMS_FIRST(1) { y[HY_GX] = t[0]; }                                                  \
  }

#define REDUCE_COLUMNS(name, T, nothing, COMBINE)                                           \
  HY_KERNEL(name, ITEMS, 1, 1, HY_IN(T, x), HY_OUT(T, y), HY_SCALAR(uint, rows),            \
            HY_SCALAR(uint, columns), HY_PRIVATE(T, total)) {                               \
    const hy_index blocks = (columns + ITEMS - 1) / ITEMS; /* of a matrix */                \
    const hy_index matrix = HY_GX / blocks;                                                 \
    const hy_index column = HY_GX % blocks * ITEMS;                                         \
    const hy_index first = matrix * rows * columns + column;                                \
    const hy_index width = columns - column; /* may exceed the number of items */           \
    hy_index row = 0;                                                                       \
    HY_ITEMS { HY_MY(total) = nothing; }                                                    \
    for (; row + EACH <= rows; row += EACH) {                                               \
      HY_ITEMS_FIRST(width) {                                                               \
        T value = nothing;                                                                  \
        HY_UNROLL for (uint i = 0; i < EACH; ++i) {                                         \
          value = COMBINE(x[first + (row + i) * columns + HY_X], value);                    \
        }                                                                                   \
        HY_MY(total) = COMBINE(value, HY_MY(total));                                        \
      }                                                                                     \
    }                                                                                       \
    for (; row < rows; ++row) {                                                             \
      HY_ITEMS_FIRST(width) {                                                               \
        HY_MY(total) = COMBINE(x[first + row * columns + HY_X], HY_MY(total));              \
      }                                                                                     \
    }                                                                                       \
    HY_ITEMS_FIRST(width) { y[matrix * columns + column + HY_X] = HY_MY(total); }           \
  }

#define REDUCTIONS(all, rows, columns, T, nothing, COMBINE)                                 \
  REDUCE(all, T, nothing, COMBINE)                                                          \
  REDUCE_ROWS(rows, T, nothing, COMBINE)                                                    \
  REDUCE_COLUMNS(columns, T, nothing, COMBINE)
