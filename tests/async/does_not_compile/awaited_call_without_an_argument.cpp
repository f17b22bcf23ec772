// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: kernel call: one argument for each parameter of the Kernel's signature
// names: ParameterCount<3>::got<2>
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

Task<> f(Shared<Tensor<float>> x) {
  auto [a, x1, y1] = co_await saxpy(2.0f, std::move(x));
}
