// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: to_dlpack: a Tensor or a Shared, or an operation that returns one
#include "halyard/async/dlpack.h"

using namespace halyard::async;

auto f(Partition<Tensor<float>> x) { return to_dlpack(std::move(x)); }
