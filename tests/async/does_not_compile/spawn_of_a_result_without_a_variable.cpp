// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: spawn: a Task with a result needs a variable: spawn(task, result)
#include "halyard/async.h"

using namespace halyard::async;

Task<int> number();
Task<> f(Nursery& nursery) { co_await nursery.spawn(number()); }
