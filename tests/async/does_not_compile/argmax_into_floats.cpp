// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: into: a Tensor<std::uint32_t>, which is overwritten, or an operation that returns one
#include "halyard/async.h"

using namespace halyard::async;

auto f() { return argmax(ones<float>({4, 4}), 1, empty<float>({4})); }
