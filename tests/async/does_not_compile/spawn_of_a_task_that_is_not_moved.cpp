// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: spawn: a Task is moved: spawn(std::move(task))
#include "halyard/async.h"

using namespace halyard::async;

Task<> f(Nursery& nursery, Task<>& task) { co_await nursery.spawn(task); }
