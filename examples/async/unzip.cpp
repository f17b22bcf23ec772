// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes an operation of each of a kernel's arguments, and awaits only y.
#include <halyard/async.h>

#include <cstdio>

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

Task<> run() {
  auto x0 = ones<float>({16, 16}) | share;
  auto y0 = ones<float>({16, 16}) | partition(4, 4);
  auto op = zip(2.0f, x0, std::move(y0)) | apply(saxpy);
  auto [a, x, y] = unzip(std::move(op));
  Shared<Tensor<float>> z = co_await (std::move(y) | unpartition | share);
  auto result = co_await to_host(add(z, x0));  // x0 is shared: it has run once
  std::printf("%g\n", result[0]);
}

int main() { sync_wait(run(), Runtime::open("cpu://").value()); }
