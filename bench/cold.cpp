// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program that B19 starts: runs the kernel `increment` of the given file once. Exit status 0 if
// the result is right.
#include "halyard/halyard.h"

int main(int, char** arguments) {
  namespace hal = halyard::hal;
  const auto device = hal::open("cpu://?workers=1");
  if (!device.ok()) return 1;
  const auto kernels = device->load(arguments[1]);
  if (!kernels.ok()) return 1;
  const auto word =
      device->allocate({.size = sizeof(unsigned), .memory = hal::MemoryType::kHostVisible});
  const auto done = device->create_semaphore();
  if (!word.ok() || !done.ok()) return 1;
  const auto mapping = word->map();
  if (!mapping.ok()) return 1;
  unsigned& x = mapping->as<unsigned>()[0];
  x = 41;
  const auto function = kernels->function("increment");
  if (!function.ok()) return 1;
  const auto submitted =
      device->queue().dispatch(*function, {.groups = 1}, {*word}, {}, {.signal = {{*done, 1}}});
  return submitted.ok() && done->wait(1).ok() && x == 42 ? 0 : 1;
}
