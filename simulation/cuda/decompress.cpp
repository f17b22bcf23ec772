// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Source: "LZ4 Block Format Description" of the LZ4 project.
#include "simulation/cuda/decompress.h"

#include <dlfcn.h>

#include <cstdint>

namespace halyard::inline v0::sim::cuda {
namespace {

// zstd.h: returns the number of bytes written, or an error, which is larger than any such number.
using ZstdDecompress = std::size_t (*)(void*, std::size_t, const void*, std::size_t);

ZstdDecompress find_zstd() {
  static const auto found = [] {
    void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr
                              : reinterpret_cast<ZstdDecompress>(dlsym(library, "ZSTD_decompress"));
  }();
  return found;
}

}  // namespace

std::optional<std::string> decompress_lz4(std::string_view block, std::size_t size) {
  std::string result;
  result.reserve(size);
  std::size_t at = 0;
  const auto byte = [&] { return static_cast<std::uint8_t>(block[at++]); };
  // A length of 15 continues in further bytes, up to the first that is not 255.
  const auto read_length = [&](std::size_t& length) {
    if (length != 15) return true;
    for (;;) {
      if (at == block.size() || length > size) return false;
      const std::uint8_t more = byte();
      length += more;
      if (more != 255) return true;
    }
  };
  while (at < block.size()) {
    const std::uint8_t token = byte();
    std::size_t literals = token >> 4;
    if (!read_length(literals) || literals > block.size() - at || literals > size - result.size()) {
      return std::nullopt;
    }
    result.append(block.substr(at, literals));
    at += literals;
    if (at == block.size()) break;  // the last sequence has no match
    if (block.size() - at < 2) return std::nullopt;
    const std::size_t low = byte(), offset = low | std::size_t{byte()} << 8;
    std::size_t length = token & 15;
    if (!read_length(length)) return std::nullopt;
    length += 4;
    if (offset == 0 || offset > result.size() || length > size - result.size()) {
      return std::nullopt;
    }
    // The match may overlap its own output.
    for (std::size_t i = 0; i < length; ++i) result.push_back(result[result.size() - offset]);
  }
  if (result.size() != size) return std::nullopt;
  return result;
}

bool has_zstd() { return find_zstd() != nullptr; }

std::optional<std::string> decompress_zstd(std::string_view frame, std::size_t size) {
  const ZstdDecompress decompress = find_zstd();
  if (decompress == nullptr) return std::nullopt;
  std::string result(size, '\0');
  if (decompress(result.data(), size, frame.data(), frame.size()) != size) return std::nullopt;
  return result;
}

}  // namespace halyard::inline v0::sim::cuda
