// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small external program: C++20, with or without exceptions. It fills a buffer after a semaphore,
// copies it, and reads the copy back.
#include <halyard/halyard.h>

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace {

namespace hal = halyard::hal;

halyard::Result<std::uint32_t> filled_and_copied(std::uint32_t pattern) {
  using namespace std::chrono_literals;
  halyard::Result<hal::Device> device = hal::open("cpu://");
  if (!device.ok()) return device.status();
  halyard::Result<hal::Semaphore> semaphore = device->create_semaphore();
  if (!semaphore.ok()) return semaphore.status();
  halyard::Result<hal::Buffer> source = device->allocate({.size = 4096});
  if (!source.ok()) return source.status();
  halyard::Result<hal::Buffer> target =
      device->allocate({.size = 4096, .memory = hal::MemoryType::kHostVisible});
  if (!target.ok()) return target.status();
  halyard::Result<hal::Mapping> mapping = target->map();
  if (!mapping.ok()) return mapping.status();

  const hal::Queue queue = device->queue();
  halyard::Status status =
      queue.copy(*source, *target, {.wait = {{*semaphore, 1}}, .signal = {{*semaphore, 2}}});
  if (!status.ok()) return status;
  status = queue.fill(*source, pattern, sizeof pattern, {.signal = {{*semaphore, 1}}});
  if (!status.ok()) return status;
  status = semaphore->wait(2, 20s);
  if (!status.ok()) return status;
  return mapping->as<std::uint32_t>()[1023];
}

}  // namespace

int main() {
  const halyard::Result<std::uint32_t> result = filled_and_copied(42);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().to_string().c_str());
    return 1;
  }
  const halyard::Result<hal::Device> nothing = hal::open("nothing://");
  std::printf("%u; %s\n", *result, nothing.status().to_string().c_str());
  return *result == 42 && !nothing.ok() ? 0 : 1;
}
