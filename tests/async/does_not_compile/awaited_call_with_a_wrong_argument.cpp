// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: kernel call: 'Tensor<T>&' takes a Partition<Tensor<T>> (use | partition(...))
// names: Parameter<3, ...Tensor<float>...>::got<...Tensor<float>
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

Task<> f(Shared<Tensor<float>> x, Tensor<float> y) {
  auto [a, x1, y1] = co_await saxpy(2.0f, std::move(x), std::move(y));
}
