// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: a Task awaits operations, futures and Tasks, each once: co_await std::move(x)
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

Task<> f() { co_await std::suspend_always(); }
