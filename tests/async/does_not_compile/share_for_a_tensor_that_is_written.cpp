// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: kernel call: 'Tensor<T>&' takes a Partition<Tensor<T>> (use | partition(...))
// names: Parameter<3, ...Tensor<float>...>::got<...Shared<...Tensor<float>
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

auto f() { return saxpy(2.0f, ones<float>({4, 4}) | share, ones<float>({4, 4}) | share); }
