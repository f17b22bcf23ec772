// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first program of the README.
#include <halyard/async.h>

#include <cstdio>

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

Task<> run() {
  auto x = ones<float>({16, 16}) | share;            // nothing runs yet
  auto y = ones<float>({16, 16}) | partition(4, 4);  // a workgroup for each tile
  auto [a, x1, y1] = co_await saxpy(2.0f, std::move(x), std::move(y));
  std::vector<float> result = co_await to_host(std::move(y1));
  std::printf("%g\n", result[255]);  // 2 * 1 + 1 = 3
}

int main() { sync_wait(run(), Runtime::open("cpu://").value()); }
