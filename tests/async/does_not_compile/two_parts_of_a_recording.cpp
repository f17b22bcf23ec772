// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: output<I>(), to_host<I>(): one element
#include "halyard/async.h"

using namespace halyard::async;

auto f(const Recorded<std::tuple<Tensor<float>, Tensor<float>>>& recorded) {
  return recorded.output<0, 1>();
}
