// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: a Task returns a value, no reference
#include "halyard/async.h"

using namespace halyard::async;

Task<int&> f(int& x) { co_return x; }
