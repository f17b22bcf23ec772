// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <optional>

#include "simulation/cuda/ptx/lowering.h"

namespace halyard::inline v0::sim::ptx {

std::optional<Special> special_of(std::string_view name, std::string_view component) {
  struct Named {
    std::string_view name, component;
    Special special;
  };
  constexpr std::array<Named, 25> kNames = {{
      {"%tid", "x", Special::kTidX},
      {"%tid", "y", Special::kTidY},
      {"%tid", "z", Special::kTidZ},
      {"%ntid", "x", Special::kNtidX},
      {"%ntid", "y", Special::kNtidY},
      {"%ntid", "z", Special::kNtidZ},
      {"%ctaid", "x", Special::kCtaidX},
      {"%ctaid", "y", Special::kCtaidY},
      {"%ctaid", "z", Special::kCtaidZ},
      {"%nctaid", "x", Special::kNctaidX},
      {"%nctaid", "y", Special::kNctaidY},
      {"%nctaid", "z", Special::kNctaidZ},
      {"%laneid", "", Special::kLaneid},
      {"%warpid", "", Special::kWarpid},
      {"%nwarpid", "", Special::kNwarpid},
      {"%smid", "", Special::kSmid},
      {"%nsmid", "", Special::kNsmid},
      {"%lanemask_eq", "", Special::kLanemaskEq},
      {"%lanemask_le", "", Special::kLanemaskLe},
      {"%lanemask_lt", "", Special::kLanemaskLt},
      {"%lanemask_ge", "", Special::kLanemaskGe},
      {"%lanemask_gt", "", Special::kLanemaskGt},
      {"%dynamic_smem_size", "", Special::kDynamicSharedSize},
      {"%total_smem_size", "", Special::kTotalSharedSize},
      // Each block is a cluster of its own.
      {"%is_explicit_cluster", "", Special::kZero},
  }};
  for (const Named& each : kNames) {
    if (each.name == name && each.component == component) return each.special;
  }
  if (name == "%tid" || name == "%ctaid" || name == "%clusterid" || name == "%cluster_ctaid") {
    if (component == "w" || name.starts_with("%cluster_")) return Special::kZero;
  }
  if (name == "%ntid" || name == "%nctaid" || name == "%cluster_nctaid") {
    if (component == "w" || name.starts_with("%cluster_")) return Special::kOne;
  }
  if (name == "%cluster_ctarank") return Special::kZero;
  if (name == "%cluster_nctarank") return Special::kOne;
  if (name == "%clusterid" && component == "x") return Special::kCtaidX;
  if (name == "%clusterid" && component == "y") return Special::kCtaidY;
  if (name == "%clusterid" && component == "z") return Special::kCtaidZ;
  if (name == "%nclusterid" && component == "x") return Special::kNctaidX;
  if (name == "%nclusterid" && component == "y") return Special::kNctaidY;
  if (name == "%nclusterid" && component == "z") return Special::kNctaidZ;
  if (name == "%gridid") return Special::kZero64;
  return std::nullopt;
}

std::uint32_t component_index(std::string_view component) {
  if (component == "x" || component == "r") return 0;
  if (component == "y" || component == "g") return 1;
  if (component == "z" || component == "b") return 2;
  if (component == "w" || component == "a") return 3;
  return UINT32_MAX;
}

}  // namespace halyard::inline v0::sim::ptx
