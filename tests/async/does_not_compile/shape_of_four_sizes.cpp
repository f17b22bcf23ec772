// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: a shape has up to three sizes
#include "halyard/async.h"

using namespace halyard::async;

auto f() { return ones<float>({1, 2, 3, 4}); }
