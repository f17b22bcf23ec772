// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: record: an operation, or a function with parameters Shared<Tensor<T>>, Tensor<T> and Number<T>
#include "halyard/async.h"

using namespace halyard::async;

auto f() {
  return record([](auto x) { return copy(x, scratch<float>(4)); }, Shape{4});
}
