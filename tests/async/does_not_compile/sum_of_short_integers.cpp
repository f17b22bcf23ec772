// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: operands: Tensor<T> or Shared<Tensor<T>>, or operations that return one; all of one T, float, double, std::int32_t or std::uint32_t
#include "halyard/async.h"

using namespace halyard::async;

auto f() { return add(ones<short>({4}), ones<short>({4})); }
