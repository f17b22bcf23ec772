// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: a Task does nothing until it is awaited
#include "halyard/async.h"

using namespace halyard::async;

Task<> f() { co_return; }

void g() { f(); }
