// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: reshape: of a Tensor or a Shared: ... | unpartition | reshape(shape)
#include "halyard/async.h"

using namespace halyard::async;

auto f(Partition<Tensor<float>> x) { return std::move(x) | reshape({4, 4}); }
