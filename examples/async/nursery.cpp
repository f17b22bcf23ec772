// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data-parallel: Tasks run side by side, and each squares its part of the numbers on its device.
// The parts are copied to the first device and added there.
#include <halyard/async.h>

#include <cstdio>
#include <vector>

using namespace halyard;
using namespace halyard::async;

Task<> square(async::Device device, float number, std::vector<Shared<Tensor<float>>>& parts) {
  auto x = co_await (full<float>({256}, number) | share | on(device));
  auto squared = co_await (mul(x, x) | share | on(device));
  parts.push_back(squared);
}

Task<> run(Runtime runtime) {
  std::vector<Shared<Tensor<float>>> parts;
  Nursery nursery;
  float number = 1;
  for (const async::Device& device : runtime.devices()) {
    co_await nursery.spawn(square(device, number++, parts));
  }
  co_await nursery.join();
  auto total = zeros<float>({256}) | boxed;
  for (const auto& part : parts) {
    total = add(std::move(total), part | copy_to(runtime.device(0))) | boxed;
  }
  auto result = co_await to_host(std::move(total));
  std::printf("%g\n", result[255]);  // 1 + 4 + 9 + 16
}

int main() {
  const Runtime runtime = Runtime::open("cpu://?devices=4").value();
  sync_wait(run(runtime), runtime);
}
