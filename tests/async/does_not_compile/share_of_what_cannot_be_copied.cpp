// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: share: the operation gives a Tensor, a Partition or what can be copied
#include "halyard/async.h"

using namespace halyard::async;

auto f() { return zip(ones<float>({4}), ones<float>({4})) | share; }
