// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: fill, full, ones: elements of 1, 2 or 4 bytes
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

auto f() { return ones<double>({4}); }
