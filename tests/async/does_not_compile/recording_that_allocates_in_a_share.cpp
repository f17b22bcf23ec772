// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: record: a recording allocates nothing and is on one device
#include "halyard/async.h"

using namespace halyard::async;

auto f(Shared<Tensor<float>> x) { return record(add(x, x) | share); }
