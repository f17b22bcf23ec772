// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/target.h"

#include <algorithm>

namespace halyard::inline v0::compiler {
namespace {

constexpr std::string_view kX86 = "x86_64-unknown-linux-gnu";
constexpr std::string_view kArm = "aarch64-unknown-linux-gnu";
constexpr std::string_view kNvidia = "nvptx64-nvidia-cuda";
constexpr std::string_view kAmd = "amdgcn-amd-amdhsa";
// Used only for its type sizes; its size_t has 32 bits.
constexpr std::string_view kShader = "spirv32-unknown-unknown";

// A generic processor of AMD needs code objects of version 6:
// https://llvm.org/docs/AMDGPUUsage.html#amdgpu-generic-processor-table.
// CUDA 11.0 and driver 450 introduced PTX 7.0; CUDA 11.8 introduced PTX 7.8, the first with sm_90:
// https://docs.nvidia.com/cuda/parallel-thread-execution/#release-notes.
constexpr Target kTargets[] = {
    {"x86-64", Family::kCpu, kX86, "x86-64"},
    {"x86-64-v2", Family::kCpu, kX86, "x86-64-v2"},
    {"x86-64-v3", Family::kCpu, kX86, "x86-64-v3"},
    {"x86-64-v4", Family::kCpu, kX86, "x86-64-v4"},
    {"aarch64", Family::kCpu, kArm, "armv8-a"},
    {"ptx-sm_75", Family::kPtx, kNvidia, "sm_75", "70"},
    {"ptx-sm_80", Family::kPtx, kNvidia, "sm_80", "70"},
    {"ptx-sm_90", Family::kPtx, kNvidia, "sm_90", "78"},
    {"hsaco-gfx908", Family::kHsaco, kAmd, "gfx908"},
    {"hsaco-gfx90a", Family::kHsaco, kAmd, "gfx90a"},
    {"hsaco-gfx942", Family::kHsaco, kAmd, "gfx942"},
    {"hsaco-gfx1030", Family::kHsaco, kAmd, "gfx1030"},
    {"hsaco-gfx1100", Family::kHsaco, kAmd, "gfx1100"},
    {"hsaco-gfx1201", Family::kHsaco, kAmd, "gfx1201"},
    {"hsaco-gfx11-generic", Family::kHsaco, kAmd, "gfx11-generic", "6"},
    {"spirv-1.5", Family::kSpirv, kShader},
    {"msl-3.0", Family::kMsl, kShader},
};

}  // namespace

std::span<const Target> targets() noexcept { return kTargets; }

const Target* find_target(std::string_view name) noexcept {
  const auto found = std::ranges::find(kTargets, name, &Target::name);
  return found == std::end(kTargets) ? nullptr : found;
}

}  // namespace halyard::inline v0::compiler
