// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Zips arguments and applies a kernel to them, which returns them. Then the same, but keeps only y
// and shares it between two readers.
#include <halyard/async.h>

#include <cstdio>

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

Task<> run() {
  float a = 2.0f;
  auto x = ones<float>({16, 16}) | share;
  auto y = ones<float>({16, 16}) | partition(4, 4);
  auto [a1, x1, y1] = co_await (zip(a, x, std::move(y)) | apply(saxpy));

  auto op = zip(a1, x1, std::move(y1)) | apply(saxpy) | last | unpartition | share;
  Shared<Tensor<float>> z = co_await std::move(op);
  auto [added, product] = co_await zip(to_host(add(z, z)), to_host(mul(z, z)));
  std::printf("%g %g\n", added[0], product[0]);  // 5 + 5, 5 * 5
}

int main() { sync_wait(run(), Runtime::open("cpu://").value()); }
