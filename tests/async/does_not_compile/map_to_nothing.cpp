// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: map: the function returns a value
#include "halyard/async.h"

using namespace halyard::async;

auto f(Tensor<float> x) {
  return value(std::move(x)) | map([](Tensor<float>) {});
}
