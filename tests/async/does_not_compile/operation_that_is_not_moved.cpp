// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: operations, Tensor and Partition have one owner: pass std::move(x)
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

auto f() {
  auto x = ones<float>({4});
  return zip(x, x);
}
