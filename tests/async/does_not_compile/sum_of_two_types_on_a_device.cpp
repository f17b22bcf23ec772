// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: operands: Tensor<T> or Shared<Tensor<T>>, or operations that return one; all of one T
#include "halyard/async.h"

using namespace halyard::async;

Task<Tensor<float>> f(const Device& device) {
  co_return co_await (add(ones<float>(4), ones<int>(4)) | on(device));
}
