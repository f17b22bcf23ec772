// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = 2 x + y on a device. The kernel is submitted before x is uploaded: it waits for the value 1
// of a timeline semaphore, which the upload signals.
#include <halyard/halyard.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

using namespace halyard;
using namespace std::chrono_literals;

int main(int argc, char** argv) try {
  if (argc > 1) {
    throw std::invalid_argument(std::string("it takes no arguments, and was given ") + argv[1]);
  }
  const std::uint32_t n = 1'000'000;
  std::vector<float> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  const auto folder = std::filesystem::canonical("/proc/self/exe").parent_path();

  hal::Device device = hal::open("cpu://").value();
  hal::Queue queue = device.queue();
  hal::Semaphore start = device.create_semaphore().value();
  hal::Semaphore done = device.create_semaphore().value();
  hal::Function saxpy = device.load(folder / "kernels/saxpy.hyx").value().function("saxpy").value();

  hal::Buffer x = device.allocate({.size = n * sizeof(float)}).value();
  hal::Buffer y =
      device.allocate({.size = n * sizeof(float), .memory = hal::MemoryType::kHostVisible}).value();
  hal::Mapping result = y.map().value();
  std::ranges::fill(result.as<float>(), 1.0f);

  hal::Recorder recorder(device);  // recorded once; each submission binds slot 0
  recorder.dispatch(saxpy, {.items = n}, {hal::slot(0), y}, {2.0f, n});
  hal::CommandBuffer commands = recorder.finish().value();

  check(queue.execute(commands, {.bindings = {x}, .wait = {{start, 1}}, .signal = {{done, 1}}}));
  check(queue.update(x, 0, std::as_bytes(std::span(numbers)), {.signal = {{start, 1}}}));
  check(done.wait(1, 5s));  // without a signal, the error would name the missing signaller

  for (std::uint32_t i = 0; i < n; ++i) {
    if (result.as<float>()[i] != 2.0f * numbers[i] + 1.0f) throw std::runtime_error("y is wrong");
  }
  std::printf("y = 2 x + 1 holds for all %u elements on %s\n", n, device.info().name.c_str());
} catch (const std::exception& error) {
  std::fprintf(stderr, "saxpy: %s\n", error.what());
  return 1;
}
