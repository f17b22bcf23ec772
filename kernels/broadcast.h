/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions p, q of elements of any type T, where a and b are repeated along some dimensions. */
#include <halyard/kernel.h>

#define COLUMNS 256

#define BROADCAST(name, T, expression)                                                      \
  HY_KERNEL(name, COLUMNS, 1, 1, HY_IN(T, a), HY_IN(T, b), HY_OUT(T, y),                    \
            HY_SCALAR(uint, rows), HY_SCALAR(uint, columns), HY_SCALAR(uint, a_matrix),     \
            HY_SCALAR(uint, a_row), HY_SCALAR(uint, a_column), HY_SCALAR(uint, b_matrix),   \
            HY_SCALAR(uint, b_row), HY_SCALAR(uint, b_column)) {                            \
    const hy_index blocks = (columns + COLUMNS - 1) / COLUMNS; /* of a row */               \
    const hy_index line = HY_GX / blocks;                                                   \
    const hy_index column = HY_GX % blocks * COLUMNS;                                       \
    const hy_index to = line * columns + column;                                            \
    const hy_index width = columns - column; /* may exceed the number of items */           \
    const hy_index in_a = line / rows * a_matrix + line % rows * a_row;                     \
    const hy_index in_b = line / rows * b_matrix + line % rows * b_row;                     \
    /* Each access is then of neighbours or of one element. */                              \
    if (a_column == 0) {                                                                    \
      HY_ITEMS_FIRST(width) {                                                               \
        const T p = a[in_a];                                                                \
        const T q = b[in_b + column + HY_X];                                                \
        y[to + HY_X] = expression;                                                          \
      }                                                                                     \
    } else if (b_column == 0) {                                                             \
      HY_ITEMS_FIRST(width) {                                                               \
        const T p = a[in_a + column + HY_X];                                                \
        const T q = b[in_b];                                                                \
        y[to + HY_X] = expression;                                                          \
      }                                                                                     \
    } else {                                                                                \
      HY_ITEMS_FIRST(width) {                                                               \
        const T p = a[in_a + column + HY_X];                                                \
        const T q = b[in_b + column + HY_X];                                                \
        y[to + HY_X] = expression;                                                          \
      }                                                                                     \
    }                                                                                       \
  }
