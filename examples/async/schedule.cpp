// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places operations by a policy, by the name of a device, and by a user's policy for all operations
// that name none.
#include <halyard/async.h>

#include <cstdio>

using namespace halyard::async;

// Picks the last queue for trees with inputs, the first queue for others.
struct Sources {
  QueueRef pick(const OpInfo& info) const noexcept {
    return info.inputs.empty() ? info.queues.front() : info.queues.back();
  }
};

Task<float> on_device_1(BoxedOperation<Tensor<float>> z) {
  auto future = schedule(std::move(z), global_policy(1));
  Tensor<float> there = co_await std::move(future);
  co_return (co_await to_host(std::move(there)))[0];
}

Task<> run(Runtime runtime) {
  float z = co_await on_device_1(add(ones<float>({16}), ones<float>({16})) | boxed);
  // Two parts on two devices and their sum on the first one, with one await.
  auto part = [&](std::size_t i) { return full<float>({16}, 10.0f) | on(runtime.device(i)); };
  auto total = add(part(0), part(1) | copy_to(runtime.device(0))) | on(runtime.device(0));
  auto result = co_await to_host(std::move(total));
  std::printf("%g %g\n", z, result[0]);
}

int main() {
  auto runtime = Runtime::open("cpu://?devices=2", {.policy = Sources()}).value();
  sync_wait(run(runtime), runtime);
}
