// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `steps` and `step` of iree_functions.mlir do, by Halyard on cuda://0: y = sqrt(y / 2), N
// times from y = 1, each into new memory of a pool. native_calls.py counts the calls of CUDA.
//
// usage: halyard_steps KERNELS.hyx loop|calls N
//   loop    N dispatches that depend on each other; the host waits for the last one
//   calls   the host waits for each
// Prints y[255].
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "halyard/halyard.h"

using namespace halyard;

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const bool waits = arguments[2] == std::string_view("calls");
  const std::uint64_t steps = std::strtoull(arguments[3], nullptr, 10);
  constexpr std::uint32_t kFloats = 256;
  constexpr std::uint64_t kBytes = kFloats * sizeof(float);

  const hal::Device device = hal::open("cuda://0").value();
  const hal::Queue queue = device.queue();
  const hal::Pool pool = device.create_pool({}).value();
  const hal::Function half_sqrt = device.load(arguments[1]).value().function("half_sqrt").value();
  const hal::Semaphore done = device.create_semaphore().value();
  std::uint64_t at = 0;
  hal::Point points[2];
  const auto next = [&] {
    points[0] = {done, at};
    points[1] = {done, ++at};
    return hal::SubmitInfo{.wait = {&points[0], 1}, .signal = {&points[1], 1}};
  };
  hal::Buffer y = queue.allocate(pool, {.size = kBytes}, next()).value();
  check(queue.fill(y, 0x3f80'0000, 4, next()));
  for (std::uint64_t i = 0; i < steps; ++i) {
    const hal::Buffer x = std::exchange(y, queue.allocate(pool, {.size = kBytes}, next()).value());
    check(queue.dispatch(half_sqrt, {.items = {kFloats}}, {x, y}, {kFloats}, next()));
    check(queue.deallocate(x, next()));
    if (waits) check(done.wait(at, kForever));
  }
  const hal::Buffer seen =
      device.allocate({.size = kBytes, .memory = hal::MemoryType::kHostVisible}).value();
  check(queue.copy(y, seen, next()));
  check(done.wait(at, kForever));
  std::printf("%.9g\n", static_cast<double>(seen.map().value().as<float>()[kFloats - 1]));
}
