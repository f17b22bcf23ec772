// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The owners of a tensor: it is shared and unwrapped by its last owner, then partitioned unevenly
// and written tile by tile.
#include <halyard/async.h>

#include <cstdio>

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

Task<> run() {
  Shared<Tensor<float>> x = co_await (ones<float>({10, 7}) | share);
  {
    Shared<Tensor<float>> other = x;
    bool only = std::move(x).try_unwrap().has_value();
    std::printf("%s, ", only ? "one owner" : "two owners");
  }
  Tensor<float> mine = *std::move(x).try_unwrap();
  auto result =
      co_await (saxpy(2.0f, ones<float>({10, 7}), std::move(mine) | partition(4, 4)) | last);
  std::printf("%g\n", (co_await to_host(std::move(result)))[69]);
}

int main() { sync_wait(run(), Runtime::open("cpu://").value()); }
