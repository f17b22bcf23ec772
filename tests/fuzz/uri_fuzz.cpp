// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes as a device URI: refused as an invalid argument, or parts that lie in the text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "hal/device/uri.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halyard;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto uri = hal::parse_uri(text);
  if (!uri.ok()) {
    if (uri.status().code() != StatusCode::kInvalidArgument) __builtin_trap();
    return 0;
  }
  // Printing an accepted URI gives the same URI, except for the order of its options.
  std::string again = uri->driver + "://" + uri->path;
  char separator = '?';
  for (const auto& [key, value] : uri->options) {
    again.append(1, separator).append(key).append(1, '=').append(value);
    separator = '&';
  }
  const auto second = hal::parse_uri(again);
  if (again.size() != size || !second.ok() || second->options != uri->options ||
      second->driver != uri->driver || second->path != uri->path) {
    __builtin_trap();
  }
  return 0;
}
