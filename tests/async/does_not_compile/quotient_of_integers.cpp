// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: operands: Tensor<T> or Shared<Tensor<T>>, or operations that return one; all of one T, float or double
#include "halyard/async.h"

using namespace halyard::async;

auto f() { return div(ones<int>({4}), ones<int>({4})); }
