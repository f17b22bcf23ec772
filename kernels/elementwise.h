/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions of elements of any type T: p, or p and q. */
#include <halyard/kernel.h>

#define UNARY(name, T, expression)                                                          \
  HY_KERNEL(name, 256, 1, 1, HY_IN(T, x), HY_OUT(T, y), HY_SCALAR(uint, n)) {               \
    HY_ITEMS_BELOW(n) {                                                                     \
      const T p = x[HY_GLOBAL_X];                                                           \
      y[HY_GLOBAL_X] = expression;                                                          \
    }                                                                                       \
  }
#define BINARY(name, T, expression)                                                         \
  HY_KERNEL(name, 256, 1, 1, HY_IN(T, a), HY_IN(T, b), HY_OUT(T, y),                        \
            HY_SCALAR(uint, n)) {                                                           \
    HY_ITEMS_BELOW(n) {                                                                     \
      const T p = a[HY_GLOBAL_X];                                                           \
      const T q = b[HY_GLOBAL_X];                                                           \
      y[HY_GLOBAL_X] = expression;                                                          \
    }                                                                                       \
  }
#define SCALE(name, T)                                                                      \
  HY_KERNEL(name, 256, 1, 1, HY_IN(T, x), HY_OUT(T, y), HY_SCALAR(T, a),                    \
            HY_SCALAR(uint, n)) {                                                           \
    HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = a * x[HY_GLOBAL_X]; }                              \
  }
