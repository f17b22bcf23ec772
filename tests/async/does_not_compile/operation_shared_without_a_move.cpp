// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: an operation has one owner: std::move(operation) | share
#include "halyard/async.h"

using namespace halyard::async;

auto f() {
  auto x = ones<float>({4});
  return x | share;
}
