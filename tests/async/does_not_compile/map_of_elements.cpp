// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: map: the function does not take what the operation returns
#include "halyard/async.h"

using namespace halyard::async;

auto f() {
  return to_host(ones<float>({4})) | map([](const std::vector<float>& x) { return x.size(); });
}
