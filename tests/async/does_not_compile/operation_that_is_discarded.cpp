// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: an operation does nothing until it is awaited
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

void f() { ones<float>({4}); }
