// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compressions of fatbins.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace halyard::inline v0::sim::cuda {

// An LZ4 block without a frame. nullopt if it is not one of exactly `size` bytes.
std::optional<std::string> decompress_lz4(std::string_view block, std::size_t size);

// A Zstandard frame, by libzstd.so.1 of the system. nullopt if it is not one of exactly `size`
// bytes, or if the system has no such library: see has_zstd().
std::optional<std::string> decompress_zstd(std::string_view frame, std::size_t size);
bool has_zstd();

}  // namespace halyard::inline v0::sim::cuda
