// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes a sum with three awaits, then as a single operation with a single wait of the host. Then
// joins two operations, each on its own queue, with a single wait.
#include <halyard/async.h>

#include <cstdio>

using namespace halyard::async;

Task<> run() {
  Tensor<float> x = co_await ones<float>({16, 16});
  Tensor<float> y = co_await ones<float>({16, 16});
  Tensor<float> z = co_await add(std::move(x), std::move(y));

  auto total = add(ones<float>({16, 16}), ones<float>({16, 16}));
  Tensor<float> same = co_await std::move(total);

  Shared<Tensor<float>> a = std::move(z) | share, b = std::move(same) | share;
  auto [difference, quotient] = co_await join(to_host(sub(a, b)), to_host(div(a, b)));
  std::printf("%g %g\n", difference[0], quotient[0]);
}

int main() { sync_wait(run(), Runtime::open("cpu://", {.queues = 2}).value()); }
