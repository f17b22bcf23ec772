// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bundles of images for several targets, plain and compressed (clang, "Clang Offload Bundler").
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/hip/gfx/byte_reader.h"
#include "simulation/hip/gfx/target.h"

namespace halyard::inline v0::sim::gfx {

bool is_bundle(Bytes bytes);             // "__CLANG_OFFLOAD_BUNDLE__"
bool is_compressed_bundle(Bytes bytes);  // "CCOB"

// Finds the entry that fits the device, and prefers a native to a generic entry. Returns nothing if
// no entry fits, or, with `error` set, if the bundle is damaged.
std::optional<Bytes> find_entry(Bytes bundle, const TargetId& device, std::string& error);

// Decompresses a bundle. Returns nothing, with the reason in `error`, if it is damaged or if the
// library for its compression, libz.so.1 or libzstd.so.1, is missing.
std::optional<std::vector<std::byte>> decompress_bundle(Bytes bytes, std::string& error);

// The size according to the headers, which are read without a bound; 0 if `bytes` is not a bundle
// or its header has no size (a compressed bundle of version 1).
std::size_t size_of_bundle(const std::byte* bytes);

}  // namespace halyard::inline v0::sim::gfx
