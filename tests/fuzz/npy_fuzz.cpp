// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes as a .npy file: refused, or an array whose bytes fill its shape.
#include "npy.h"

#include <cstddef>
#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halyard::tools;
  const std::span bytes = std::as_bytes(std::span(data, size));
  const auto array = parse_npy({bytes.begin(), bytes.end()}, "fuzz.npy");
  if (!array.ok()) return 0;
  const auto needed = npy_bytes(array->element, array->shape);
  if (!needed.ok() || *needed != array->bytes.size()) __builtin_trap();
  return 0;
}
