// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: partition: up to three extents, each at least 1
#include "halyard/async.h"

using namespace halyard::async;

auto f() { return ones<float>({4, 4}) | partition<4, 0>(); }
