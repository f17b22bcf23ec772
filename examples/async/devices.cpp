// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation on each of four devices, and one on a device that does not exist.
#include <halyard/async.h>

#include <cstdio>

using namespace halyard;
using namespace halyard::async;

Task<> run(Runtime runtime) {
  for (const async::Device& device : runtime.devices()) {
    auto result =
        co_await (to_host(matmul(ones<float>({64, 64}), ones<float>({64, 64}))) | on(device));
    std::printf("%g ", result[0]);
  }
  auto failed = co_await as_result(ones<float>({16}) | on(runtime.device(4)));
  std::printf("%s\n", failed.status().to_string().c_str());
}

int main() {
  const Runtime runtime = Runtime::open("cpu://?devices=4").value();
  sync_wait(run(runtime), runtime);
}
