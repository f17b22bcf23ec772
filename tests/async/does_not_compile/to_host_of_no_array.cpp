// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: to_host: an array, or an operation that returns one
#include "halyard/async.h"

using namespace halyard::async;

Task<> f() {
  (void)co_await to_host(value(1));
}
