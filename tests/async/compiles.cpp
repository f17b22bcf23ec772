// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled as those in does_not_compile/ are, with no error to be seen.
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

Task<> f(Partition<Tensor<float>> y, Shared<Tensor<float>> x) {
  (void)co_await saxpy(2.0f, x, std::move(y));
}
