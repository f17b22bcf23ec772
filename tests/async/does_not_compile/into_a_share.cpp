// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: into: a Tensor, which is written over, or what gives one
#include "halyard/async.h"

using namespace halyard::async;

auto f(Shared<Tensor<float>> x) { return add(x, x, x); }
