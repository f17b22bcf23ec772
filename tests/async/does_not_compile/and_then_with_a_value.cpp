// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: and_then: the function returns an operation; use map otherwise
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

auto f() {
  return ones<float>({4}) | and_then([](Tensor<float> x) { return x; });
}
