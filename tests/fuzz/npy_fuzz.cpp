// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes as a .npy file: refused, or an array whose bytes fill its shape. Writing it again gives
// the same array.
#include "npy.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halyard::tools;
  const std::span bytes = std::as_bytes(std::span(data, size));
  const auto array = parse_npy({bytes.begin(), bytes.end()}, "fuzz.npy");
  if (!array.ok()) return 0;
  const auto needed = npy_bytes(array->element, array->shape);
  if (!needed.ok() || *needed != array->bytes.size()) __builtin_trap();
  const auto head = npy_head(*array, "again.npy");
  if (!head.ok() || head->size() % kNpyAlignment != 0) __builtin_trap();
  const std::span first = std::as_bytes(std::span(*head));
  std::vector<std::byte> file(first.begin(), first.end());
  file.insert(file.end(), array->bytes.begin(), array->bytes.end());
  const auto again = parse_npy(std::move(file), "again.npy");
  if (!again.ok() || again->element != array->element || again->shape != array->shape ||
      again->bytes != array->bytes) {
    __builtin_trap();
  }
  return 0;
}
