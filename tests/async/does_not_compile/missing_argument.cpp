// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: kernel call: one argument for each parameter of the Kernel's signature
// names: ParameterCount<3>::got<2>
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

auto f() { return saxpy(2.0f, ones<float>({4, 4}) | share); }
