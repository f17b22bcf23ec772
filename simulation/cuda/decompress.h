// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compressions of fatbins.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace halyard::inline v0::sim::cuda {

// Decompresses an LZ4 block without a frame. Returns nullopt if the result is not exactly `size`
// bytes.
std::optional<std::string> decompress_lz4(std::string_view block, std::size_t size);

// Decompresses a Zstandard frame with the system's libzstd.so.1. Returns nullopt if the result is
// not exactly `size` bytes, or if the system does not have the library: see has_zstd().
std::optional<std::string> decompress_zstd(std::string_view frame, std::size_t size);
bool has_zstd();

}  // namespace halyard::inline v0::sim::cuda
