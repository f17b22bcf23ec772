// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: apply: of several results, as zip() returns; use and_then otherwise
#include "halyard/async.h"

using namespace halyard::async;

auto f() {
  return ones<float>(4) | apply([](Tensor<float> x) { return fill(std::move(x), 2.0f); });
}
