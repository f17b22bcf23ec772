// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: by: a number that needs no narrowing to be one of the elements
#include "halyard/async.h"

using namespace halyard::async;

auto f() { return scale(ones<float>({4}), 0.5); }
