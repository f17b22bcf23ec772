// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sum twice: with three awaits, and as one operation, for which the host waits once.
#include <halyard/async.h>

#include <cstdio>

using namespace halyard::async;

Task<> run() {
  Tensor<float> x = co_await ones<float>({16, 16});
  Tensor<float> y = co_await ones<float>({16, 16});
  Tensor<float> z = co_await add(std::move(x), std::move(y));

  auto sum = add(ones<float>({16, 16}), ones<float>({16, 16}));
  Tensor<float> same = co_await std::move(sum);

  auto difference = co_await to_host(sub(std::move(z), std::move(same)));
  std::printf("%g\n", difference[0]);
}

int main() { sync_wait(run(), Runtime::open("cpu://").value()); }
