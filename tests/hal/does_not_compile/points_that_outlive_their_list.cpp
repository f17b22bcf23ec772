// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: array backing local initializer list 'points' will be destroyed
#include "halyard/halyard.h"

halyard::Status wait(const halyard::hal::Semaphore& first, const halyard::hal::Semaphore& second) {
  const halyard::hal::Points points = {{first, 1}, {second, 1}};
  return halyard::hal::wait_all(points);
}
