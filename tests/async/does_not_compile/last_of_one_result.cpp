// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: first, last: of several results, as a kernel or zip() returns
#include "halyard/async.h"

using namespace halyard::async;

auto f() { return ones<float>(4) | last; }
