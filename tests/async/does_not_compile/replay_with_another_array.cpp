// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: replay: an argument for each parameter of the function that was recorded
#include "halyard/async.h"

using namespace halyard::async;

auto f(const Recorded<int, Tensor<float>>& recorded, Shared<Tensor<float>> x) {
  return recorded.replay(x);
}
