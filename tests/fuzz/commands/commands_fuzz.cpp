// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes as a program of commands (program.h), on real cpu devices.
#include "program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider bytes(data, size);
  halyard::fuzz::Program(bytes).run();
  return 0;
}
