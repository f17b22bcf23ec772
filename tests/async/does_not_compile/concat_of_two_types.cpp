// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: concat: Tensor<T> or Shared<Tensor<T>>, or operations that return one; all of one T
#include "halyard/async.h"

using namespace halyard::async;

auto f() { return concat(ones<float>({4}), ones<double>({4})); }
