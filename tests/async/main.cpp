// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the tests, then checks that all devices close because no reference to them is left.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "halyard/hal/device.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  const halyard::Status status = halyard::hal::shutdown(std::chrono::seconds(20));
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? result : 1;
}
