// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: fill: a Tensor<T> or a Partition<Tensor<T>>, and a T
#include "halyard/async.h"

using namespace halyard::async;

auto f(Tensor<float> x) { return fill(std::move(x), 1.0); }
