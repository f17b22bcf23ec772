// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: the result is the tensor's only owner
#include "halyard/async.h"

using namespace halyard::async;

void f(Shared<Tensor<float>> x) { std::move(x).try_unwrap(); }
