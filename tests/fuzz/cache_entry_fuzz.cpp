// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes as an entry of a cache: refused, or an entry whose bytes are in the file, after its
// header. The key is read from the place of a valid entry's key, so that only the rest must match.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/disk_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halyard::base;
  ContentHash key;
  if (size >= 32) std::memcpy(&key, data + 16, sizeof key);
  const auto file = std::as_bytes(std::span(data, size));
  const auto bytes = parse_entry(file, key);
  if (bytes && (bytes->data() + bytes->size() != file.data() + size ||
                bytes->size() >= file.size() || parse_entry(file, {key.low, ~key.high}))) {
    __builtin_trap();
  }
  return 0;
}
