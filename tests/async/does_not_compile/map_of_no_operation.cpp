// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: the left operand of | is no operation
#include "halyard/async.h"

using namespace halyard::async;

auto f(Tensor<float> x) {
  return std::move(x) | map([](Tensor<float> y) { return y; });
}
