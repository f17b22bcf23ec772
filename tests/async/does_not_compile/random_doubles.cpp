// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: rand, randn: numbers of float
#include "halyard/async.h"

using namespace halyard::async;

auto f() { return rand<double>({4}, 1); }
