// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: a Nursery does nothing until this is awaited
#include "halyard/async.h"

using namespace halyard::async;

Task<> f() { co_return; }

Task<> g(Nursery& nursery) {
  nursery.spawn(f());
  co_return;
}
