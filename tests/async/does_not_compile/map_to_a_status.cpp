// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: map: the function returns a value or a Result, no reference and no Status
#include "halyard/async.h"

using namespace halyard;

auto f() {
  return async::value(1) | async::map([](int) { return Status(); });
}
