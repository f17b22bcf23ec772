// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: operations, Tensor and Partition have one owner: std::move(x) | ...
#include "halyard/async.h"

using namespace halyard::async;

auto f(Tensor<float> x) { return x | reshape({4, 4}); }
