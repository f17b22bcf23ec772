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

// The entry that fits the device, the native before the generic one. Nothing if there is none, or
// if the bundle is damaged: then `error` says so.
std::optional<Bytes> find_entry(Bytes bundle, const TargetId& device, std::string& error);

// The bundle in a compressed one; nothing, and why, if it is damaged or if the library for its
// compression, libz.so.1 or libzstd.so.1, is not there.
std::optional<std::vector<std::byte>> decompress_bundle(Bytes bytes, std::string& error);

// By their headers, which are read without a bound; 0: no bundle, or one whose header has no size
// (a compressed bundle of version 1).
std::size_t size_of_bundle(const std::byte* bytes);

}  // namespace halyard::inline v0::sim::gfx
