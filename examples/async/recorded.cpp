// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two kernels side by side, recorded once and replayed. Then a function of arrays, recorded once
// and called with different arrays.
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

  auto twice = co_await record([](Shared<Tensor<float>> a) { return add(a, a, scratch<float>(4)); },
                               Shape{4});
  auto numbers = co_await (arange<float>(6) | share);
  for (const std::uint64_t from : {0, 2}) {
    auto sums = co_await to_host(twice(numbers.rows(from, 4)));
    std::printf("%g %g %g %g\n", sums[0], sums[1], sums[2], sums[3]);  // 0 2 4 6, then 4 6 8 10
  }
}

int main() { sync_wait(run(), Runtime::open("cpu://").value()); }
