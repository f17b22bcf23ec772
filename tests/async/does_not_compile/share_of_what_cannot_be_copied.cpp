// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: share: the result is a Tensor, a Partition or copyable
#include "halyard/async.h"

using namespace halyard::async;

auto f() { return zip(ones<float>({4}), ones<float>({4})) | share; }
