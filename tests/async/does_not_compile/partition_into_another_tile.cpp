// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: 'Partition<Tensor<T>, 4, 4>&' takes that (use | partition<4, 4>())
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(Partition<Tensor<float>, 4, 4>&)> clear{"clear"};

auto f() { return clear(ones<float>({4, 4}) | partition<4, 2>()); }
