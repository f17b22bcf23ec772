// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An external program whose kernels have checks in the configuration Debug. Only there it reads
// past a buffer's end.
#include <halyard/hal/device.h>

#include <chrono>
#include <cstdio>
#include <string>

int main() {
  namespace hal = halyard::hal;
  const hal::Device device = hal::open("cpu://").value();
  const hal::Executable file = device.load(CONSUMER_FILE).value();
  const hal::Buffer x = device.allocate({.size = 4 * 100}).value();
  const hal::Buffer y = device.allocate({.size = 4 * 200}).value();
  const hal::Semaphore done = device.create_semaphore().value();
  const std::uint32_t n = CONSUMER_CHECKED ? 101 : 100;
  halyard::check(device.queue().dispatch(file.function("copy").value(), {.items = {n}}, {x, y}, {n},
                                         {.signal = {{done, 1}}}));
  const halyard::Status status = done.wait(1, std::chrono::seconds(60));
  std::printf("%s\n", status.to_string().c_str());
  if (!CONSUMER_CHECKED) return status.ok() ? 0 : 1;
  const std::string expected =
      "kernel 'copy', workgroup (1, 0, 0): x[100] is beyond its 100 elements (checked.hyk:5)";
  return std::string(status.message()).find(expected) != std::string::npos ? 0 : 1;
}
