// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: by value or const reference, and a shape for each array
#include "halyard/async.h"

using namespace halyard::async;

auto f() {
  return record([](Tensor<float>& x) { return fill(std::move(x), 1.0f); }, Shape{4});
}
