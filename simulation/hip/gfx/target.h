// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The processors that a code object supports (LLVM, "User Guide for AMDGPU Backend", Target ID and
// Generic Processors).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace halyard::inline v0::sim::gfx {

enum class Feature : std::uint8_t { kAny, kOff, kOn };

// "gfx942:sramecc+:xnack-".
struct TargetId {
  std::string processor;
  Feature sramecc = Feature::kAny, xnack = Feature::kAny;

  static std::optional<TargetId> parse(std::string_view text);
};

enum class Match : std::uint8_t { kNone, kGeneric, kNative };

// Whether an image for `image` runs on `device`. kGeneric: it is for a generic processor that
// covers the device's processor.
Match match(const TargetId& image, const TargetId& device);

// The target in the flags of an ELF's header, and its generic version, or 0. Empty for processors
// without a name.
struct ElfTarget {
  TargetId id;
  unsigned generic_version = 0;
};
std::optional<ElfTarget> target_of_flags(std::uint32_t flags);

}  // namespace halyard::inline v0::sim::gfx
