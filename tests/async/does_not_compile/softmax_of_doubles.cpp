// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: operands: Tensor<float> or Shared<Tensor<float>>, or operations that return one
#include "halyard/async.h"

using namespace halyard::async;

auto f() { return softmax(ones<double>({4})); }
