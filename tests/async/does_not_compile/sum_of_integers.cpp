// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: operands: Tensor<float> or Shared<Tensor<float>>, or what gives them
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

auto f() { return add(ones<int>({4}), ones<int>({4})); }
