// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: a kernel's parameters are numbers of 4 or 8 bytes, const Tensor<T>&, Tensor<T>& and
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

constexpr Kernel<void(Tensor<float>)> kernel{"kernel"};
auto f() { return kernel(ones<float>({4})); }
