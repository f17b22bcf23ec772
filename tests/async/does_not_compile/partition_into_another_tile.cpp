// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: kernel call: 'Partition<Tensor<T>, 4, 4>&' takes that type only (use | partition<4, 4>())
// names: Parameter<1, ...Partition<...Tensor<float>, 4, 4>...>::got<...Partition<...Tensor<float>, 4, 2>
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(Partition<Tensor<float>, 4, 4>&)> clear{"clear"};

auto f() { return clear(ones<float>({4, 4}) | partition<4, 2>()); }
