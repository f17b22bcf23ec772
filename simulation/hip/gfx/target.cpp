// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/target.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace halyard::inline v0::sim::gfx {
namespace {

struct Processor {
  std::uint8_t number;  // EF_AMDGPU_MACH, LLVM's BinaryFormat/ELF.h
  std::string_view name;
  std::string_view generic;  // the processor that covers it, if any
};
constexpr Processor kProcessors[] = {
    {0x2c, "gfx900", "gfx9-generic"},
    {0x2d, "gfx902", "gfx9-generic"},
    {0x2e, "gfx904", "gfx9-generic"},
    {0x2f, "gfx906", "gfx9-generic"},
    {0x30, "gfx908", ""},
    {0x31, "gfx909", "gfx9-generic"},
    {0x32, "gfx90c", "gfx9-generic"},
    {0x33, "gfx1010", "gfx10-1-generic"},
    {0x34, "gfx1011", "gfx10-1-generic"},
    {0x35, "gfx1012", "gfx10-1-generic"},
    {0x36, "gfx1030", "gfx10-3-generic"},
    {0x37, "gfx1031", "gfx10-3-generic"},
    {0x38, "gfx1032", "gfx10-3-generic"},
    {0x39, "gfx1033", "gfx10-3-generic"},
    {0x3d, "gfx1035", "gfx10-3-generic"},
    {0x3e, "gfx1034", "gfx10-3-generic"},
    {0x3f, "gfx90a", ""},
    {0x40, "gfx940", ""},
    {0x41, "gfx1100", "gfx11-generic"},
    {0x42, "gfx1013", "gfx10-1-generic"},
    {0x43, "gfx1150", "gfx11-generic"},
    {0x44, "gfx1103", "gfx11-generic"},
    {0x45, "gfx1036", "gfx10-3-generic"},
    {0x46, "gfx1101", "gfx11-generic"},
    {0x47, "gfx1102", "gfx11-generic"},
    {0x48, "gfx1200", "gfx12-generic"},
    {0x4a, "gfx1151", "gfx11-generic"},
    {0x4b, "gfx941", ""},
    {0x4c, "gfx942", "gfx9-4-generic"},
    {0x4e, "gfx1201", "gfx12-generic"},
    {0x4f, "gfx950", "gfx9-4-generic"},
    {0x51, "gfx9-generic", ""},
    {0x52, "gfx10-1-generic", ""},
    {0x53, "gfx10-3-generic", ""},
    {0x54, "gfx11-generic", ""},
    {0x55, "gfx1152", "gfx11-generic"},
    {0x58, "gfx1153", "gfx11-generic"},
    {0x59, "gfx12-generic", ""},
    {0x5f, "gfx9-4-generic", ""},
};

bool fits(Feature image, Feature device) { return image == Feature::kAny || image == device; }

}  // namespace

std::optional<TargetId> TargetId::parse(std::string_view text) {
  TargetId id;
  const std::size_t end = text.find(':');
  id.processor = text.substr(0, end);
  if (!id.processor.starts_with("gfx")) return std::nullopt;
  while (text.find(':') != std::string_view::npos) {
    text.remove_prefix(text.find(':') + 1);
    const std::string_view feature = text.substr(0, text.find(':'));
    if (feature.empty() || (feature.back() != '+' && feature.back() != '-')) return std::nullopt;
    const Feature value = feature.back() == '+' ? Feature::kOn : Feature::kOff;
    const std::string_view name = feature.substr(0, feature.size() - 1);
    if (name == "sramecc") {
      id.sramecc = value;
    } else if (name == "xnack") {
      id.xnack = value;
    } else {
      return std::nullopt;
    }
  }
  return id;
}

Match match(const TargetId& image, const TargetId& device) {
  if (!fits(image.sramecc, device.sramecc) || !fits(image.xnack, device.xnack)) {
    return Match::kNone;
  }
  if (image.processor == device.processor) return Match::kNative;
  const auto found = std::ranges::find(kProcessors, device.processor, &Processor::name);
  if (found != std::end(kProcessors) && !found->generic.empty() &&
      found->generic == image.processor) {
    return Match::kGeneric;
  }
  return Match::kNone;
}

std::optional<ElfTarget> target_of_flags(std::uint32_t flags) {
  const auto found =
      std::ranges::find(kProcessors, static_cast<std::uint8_t>(flags & 0xff), &Processor::number);
  if (found == std::end(kProcessors)) return std::nullopt;
  // Bits 9-8 are xnack, bits 11-10 sramecc: 0 is not supported, 1 any, 2 off, 3 on.
  constexpr std::array kFeature = {Feature::kAny, Feature::kAny, Feature::kOff, Feature::kOn};
  return ElfTarget{.id = {.processor = std::string(found->name),
                          .sramecc = kFeature[flags >> 10 & 3],
                          .xnack = kFeature[flags >> 8 & 3]},
                   .generic_version = flags >> 24};
}

}  // namespace halyard::inline v0::sim::gfx
