// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: operands, and at most one tensor `into`
#include "halyard/async.h"

using namespace halyard::async;

auto f(Shared<Tensor<float>> x, Tensor<float> into) { return add(x, x, std::move(into), x); }
