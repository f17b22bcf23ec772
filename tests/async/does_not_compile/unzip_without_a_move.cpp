// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: an operation has one owner: unzip(std::move(operation))
#include "halyard/async.h"

using namespace halyard::async;

auto f() {
  auto both = zip(ones<float>({4}), ones<float>({4}));
  return unzip(both);
}
