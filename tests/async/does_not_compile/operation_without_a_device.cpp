// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: ThisOperationHasNoDeviceUseOn
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

struct Plain {
  struct promise_type {
    Plain get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};
Plain f() { (void)co_await ones<float>({4}); }
