// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: rows: of a Shared: ... | share | rows(first, count)
#include "halyard/async.h"

using namespace halyard::async;

auto f() { return zeros<float>({4, 4}) | rows(0, 2); }
