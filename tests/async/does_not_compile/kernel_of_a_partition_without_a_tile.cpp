// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: a kernel's partition has a tile: Partition<Tensor<T>, 4, 4>&
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(const Tensor<float>&, Partition<Tensor<float>>&)> kernel{"kernel"};

auto f(Shared<Tensor<float>> x, Partition<Tensor<float>> y) { return kernel(x, std::move(y)); }
