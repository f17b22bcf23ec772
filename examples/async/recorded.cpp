// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two kernels side by side, recorded once and replayed.
#include <halyard/async.h>

#include <cstdio>

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

Task<> run() {
  auto x = co_await (ones<float>({16, 16}) | share);
  auto y = co_await (ones<float>({16, 16}) | partition(4, 4));
  auto z = co_await (zeros<float>({16, 16}) | partition(4, 4));
  auto step = co_await record(
      zip(saxpy(2.0f, x, std::move(y)) | last, saxpy(0.5f, x, std::move(z)) | last));
  for (int i = 0; i < 100; ++i) co_await step.replay();
  auto y1 = co_await step.to_host<0>();
  auto z1 = co_await step.to_host<1>();
  std::printf("%g %g\n", y1[0], z1[0]);  // 1 + 100 * 2, 100 * 0.5
}

int main() { sync_wait(run(), Runtime::open("cpu://").value()); }
