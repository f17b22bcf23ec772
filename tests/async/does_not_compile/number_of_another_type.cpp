// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: by: the Number<T> of the element type
#include "halyard/async.h"

using namespace halyard::async;

auto f() {
  return record(
      [](Number<double> by, Shared<Tensor<float>> x) { return scale(x, by, scratch<float>(4)); },
      Shape{4});
}
