// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: kernel call: 'const Tensor<T>&' takes a Shared<Tensor<T>> (use | share) or a Tensor<T>
// names: Parameter<2, const ...Tensor<float>...>::got<...Partition<...Tensor<float>
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

auto f() {
  return saxpy(2.0f, ones<float>({4, 4}) | partition(4, 4), ones<float>({4, 4}) | partition(4, 4));
}
