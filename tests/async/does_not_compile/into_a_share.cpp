// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: into: a Tensor, which is overwritten, or an operation that returns one
#include "halyard/async.h"

using namespace halyard::async;

auto f(Shared<Tensor<float>> x) { return add(x, x, x); }
