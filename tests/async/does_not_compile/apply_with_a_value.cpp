// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: apply: the function returns an operation; use map otherwise
#include "halyard/async.h"

using namespace halyard::async;

auto f(halyard::async::Context& context) {
  return (zip(1, 2) | apply([](int x, int y) { return x + y; })).execute(context);
}
