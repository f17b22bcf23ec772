// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An external program for a Halyard that was built without a driver: opening a device must return
// an error that names this cause.
#include <halyard/halyard.h>

#include <cstdio>

int main() {
  const halyard::Status status = halyard::hal::open("cpu://").status();
  std::printf("%s\n", status.to_string().c_str());
  return status.code() == halyard::StatusCode::kNotFound &&
                 status.message() == "no driver \"cpu\" in this build; it has: none"
             ? 0
             : 1;
}
