// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: with_deadline: what is awaited is moved: with_deadline(std::move(task), when)
#include "halyard/async.h"

using namespace halyard::async;

Task<int> f(Task<int>& task) { co_return co_await with_deadline(task, std::chrono::seconds(1)); }
