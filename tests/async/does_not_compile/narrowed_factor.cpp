// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: by: a number that converts to the element type without narrowing
#include "halyard/async.h"

using namespace halyard::async;

auto f() { return scale(ones<float>({4}), 0.5); }
