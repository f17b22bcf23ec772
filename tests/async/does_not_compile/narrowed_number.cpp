// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: kernel call: this parameter takes a number, by value and without narrowing
// names: Parameter<1, float>::got<double>
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

auto f() { return saxpy(2.0, ones<float>({4, 4}) | share, ones<float>({4, 4}) | partition(4, 4)); }
