// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: kernel call: 'Tensor<T>&' of an unchecked kernel takes a Tensor<T>
// names: Parameter<3, ...Tensor<float>...>::got<...Partition<...Tensor<float>
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

auto f(Shared<Tensor<float>> x, Partition<Tensor<float>> y) {
  return unchecked(saxpy, {.items = 4})(2.0f, x, std::move(y));
}
