// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: an operation has one owner: record(std::move(operation))
#include "halyard/async.h"

using namespace halyard::async;

auto f(Tensor<float> x) {
  auto operation = fill(std::move(x), 1.0f);
  return record(operation);
}
