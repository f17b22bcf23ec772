// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: a Task awaits operations, futures and Tasks, each once: co_await std::move(x)
#include "halyard/async.h"

using namespace halyard::async;

Task<int> one() { co_return 1; }

Task<int> f() {
  auto task = one();
  co_return co_await task;
}
