// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: spawn: an operation needs a device: spawn(operation | on(device))
#include "halyard/async.h"

using namespace halyard::async;

Task<> f() {
  Nursery nursery;
  co_await nursery.spawn(ones<float>({4}));
}
