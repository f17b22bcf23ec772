// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// waiting_program: waits without a deadline for a value that comes with a line of its input.
#include <cstdio>
#include <thread>

#include "halyard/halyard.h"

int main() {
  using namespace halyard;
  const hal::Device device = hal::open("cpu://?workers=1").value();
  const hal::Semaphore line = device.create_semaphore(0, "line").value();
  const std::jthread reader([&] {
    while (std::getchar() != '\n') {
    }
    check(line.signal(1));
  });
  return line.wait(1).ok() ? 0 : 1;
}
