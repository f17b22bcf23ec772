// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: copy: to a Tensor<T> or a Partition<Tensor<T>>, and from one of T
#include "halyard/async.h"

using namespace halyard::async;

auto f(Tensor<int> x, Tensor<float> y) { return copy(std::move(x), std::move(y)); }
