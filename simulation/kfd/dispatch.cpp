// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dispatches of compute queues: their registers, and their execution.
#include <algorithm>
#include <optional>
#include <utility>

#include "simulation/kfd/compute_queue.h"
#include "simulation/kfd/text.h"

namespace halyard::inline v0::sim::kfd {
namespace {

// COMPUTE_DISPATCH_INITIATOR: amdgpu gc_11_0_0_sh_mask.h.
constexpr std::uint32_t kShaderEnable = 1u << 0, kStartAtZero = 1u << 2;
constexpr std::uint32_t kThreadDimensions = 1u << 5, kWave32 = 1u << 15;
constexpr std::uint32_t kLdsGranule = 512;  // bytes, of COMPUTE_PGM_RSRC2 bits 23:15
constexpr std::uint32_t kMostLanes = 1024, kMostLds = 64 * 1024;

// COMPUTE_TMPRING_SIZE: waves that have scratch, and the bytes of each.
struct Scratch {
  std::uint64_t waves, wave_bytes;
};
Scratch scratch_of(const Node& node, std::uint32_t tmpring) {
  const std::uint64_t engines = node.array_count / node.simd_arrays_per_engine;
  if (node.is_gfx9()) return {tmpring & 0xfff, (tmpring >> 12 & 0x1fff) * 1024};
  return {(tmpring & 0xfff) * engines, (tmpring >> 12 & 0x7fff) * 256};  // waves of each engine
}

// The memory of a device, as the interpreter sees it. Memory that a dispatch reads stays mapped
// while it runs.
class DispatchMemory final : public gfx::Memory {
 public:
  explicit DispatchMemory(const AddressSpace& space) : space_(space) {}
  std::optional<gfx::Mapping> find(std::uint64_t address) override {
    const Buffer* const buffer = space_.find(address);
    if (buffer == nullptr) return std::nullopt;
    return gfx::Mapping{buffer->address, buffer->end(), buffer->bytes, buffer->is_writable()};
  }

 private:
  const AddressSpace& space_;
};

}  // namespace

Progress ComputeQueue::dispatch(std::array<std::uint32_t, 3> groups, std::uint32_t initiator) {
  if ((initiator & kShaderEnable) == 0) {
    return fail("dispatch", join("the dispatch initiator ", hex(initiator), " lacks bit 0"));
  }
  const bool is_gfx9 = device_.node.is_gfx9();
  const std::uint32_t rsrc2 = registers_[pm4::kRsrc2];
  const std::uint32_t rsrc3 = is_gfx9 ? pm4::kRsrc3Gfx9 : pm4::kRsrc3Gfx11;
  // Kernels may have more user registers than they want values: for gfx1100 compilers make them up
  // to 16 with those of the system (LLVM, FeatureUserSGPRInit16Bug). So the last ones may be unset.
  std::uint32_t user_data = rsrc2 >> 1 & 31;
  while (user_data != 0 && !is_set_[pm4::kUserData + user_data - 1]) --user_data;
  const auto is_missing = [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = first; i != first + count; ++i) {
      if (is_set_[i]) continue;
      fail("register-not-set",
           join("a dispatch uses register ", hex(i), ", which nothing has set"));
      return true;
    }
    return false;
  };
  if (is_missing(pm4::kPgmLow, 2) || is_missing(pm4::kRsrc1, 2) || is_missing(rsrc3, 1) ||
      is_missing(pm4::kNumThreadX, 3) || is_missing(pm4::kUserData, user_data) ||
      ((initiator & kStartAtZero) == 0 && is_missing(pm4::kStartX, 3))) {
    return Progress::kStopped;
  }
  for (unsigned i = 0; i != 3; ++i) {
    if ((initiator & kStartAtZero) == 0 && registers_[pm4::kStartX + i] != 0) {
      return fail("dispatch", "a dispatch does not start at workgroup 0, which is not built");
    }
  }
  Dispatch dispatch{.kernel = {.code = register64(pm4::kPgmLow) << 8,
                               .rsrc1 = registers_[pm4::kRsrc1],
                               .rsrc2 = rsrc2,
                               .rsrc3 = registers_[rsrc3],
                               .lds_bytes = (rsrc2 >> 15 & 0x1ff) * kLdsGranule,
                               .is_wave32 = (initiator & kWave32) != 0},
                    .groups = groups};
  for (unsigned i = 0; i != 3; ++i) {
    dispatch.block[i] = registers_[pm4::kNumThreadX + i] & 0xffff;
    if ((initiator & kThreadDimensions) == 0 || dispatch.block[i] == 0) continue;
    if (groups[i] % dispatch.block[i] != 0) {
      return fail("dispatch", "a dispatch ends with a partial workgroup, which is not built");
    }
    dispatch.groups[i] = groups[i] / dispatch.block[i];
  }
  if ((rsrc2 & 1) != 0) {
    if (is_missing(pm4::kTmpringSize, 1) || is_missing(pm4::kScratchBaseLow, 2)) {
      return Progress::kStopped;
    }
    const auto [waves, wave_bytes] = scratch_of(device_.node, registers_[pm4::kTmpringSize]);
    const std::uint64_t base = register64(pm4::kScratchBaseLow) << 8;
    if (waves == 0 || wave_bytes == 0) {
      return fail("scratch", "a kernel with scratch is dispatched with COMPUTE_TMPRING_SIZE 0");
    }
    if (reach(base, waves * wave_bytes, Access::kWrite, "the scratch of a dispatch") == nullptr) {
      return Progress::kStopped;
    }
    dispatch.kernel.scratch_bytes =
        static_cast<std::uint32_t>(wave_bytes / (dispatch.kernel.is_wave32 ? 32 : 64));
  }
  for (std::uint32_t i = 0; i != user_data; ++i) {
    dispatch.user_data.push_back(registers_[pm4::kUserData + i]);
  }
  return begin_dispatch(std::move(dispatch));
}

Progress ComputeQueue::begin_dispatch(Dispatch dispatch) {
  const auto& block = dispatch.block;
  const std::uint64_t lanes = std::uint64_t{block[0]} * block[1] * block[2];
  if (lanes == 0 || lanes > kMostLanes) {
    return fail("dispatch", join("a workgroup has ", block[0], " x ", block[1], " x ", block[2],
                                 " work-items: 1 to ", kMostLanes, " are possible"));
  }
  if (dispatch.kernel.lds_bytes > kMostLds) {
    return fail("dispatch", join("a workgroup has ", dispatch.kernel.lds_bytes, " bytes of LDS"));
  }
  const bool is_host = system_.host_kernels.contains(dispatch.kernel.code);
  if (!is_host && dispatch.kernel.code % 256 != 0) {
    return fail("unaligned",
                join("code at ", hex(dispatch.kernel.code), " is not at a multiple of 256 bytes"));
  }
  if (!is_host && reach(dispatch.kernel.code, 4, Access::kExecute, "code") == nullptr) {
    return Progress::kStopped;
  }
  pipeline_.push(std::move(dispatch));
  return Progress::kDone;
}

void ComputeQueue::run(const Dispatch& dispatch) {
  const std::uint64_t code = dispatch.kernel.code;
  if (const auto host = system_.host_kernels.find(code); host != system_.host_kernels.end()) {
    host->second({.groups = dispatch.groups,
                  .block = dispatch.block,
                  .user_data = dispatch.user_data,
                  .memory = [&](std::uint64_t address, std::uint64_t bytes) {
                    return device_.space.bytes(address, bytes);
                  }});
    return end_dispatch(dispatch);
  }
  const bool is_empty = std::ranges::find(dispatch.groups, 0u) != dispatch.groups.end();
  if (is_empty || device_.node.is_gfx9()) return end_dispatch(dispatch);
  const Buffer* const buffer = device_.space.find(code);
  if (buffer == nullptr) {
    reach(code, 4, Access::kExecute, "code");
    return;
  }
  bool is_stale = false;
  const KernelCode& kernel = device_.code.find(dispatch.kernel, *buffer, is_stale);
  if (is_stale) {
    system_.report.add("stale-instructions",
                       join(name(), ": the code at ", hex(code),
                            " is not what was executed there, and no ACQUIRE_MEM invalidated the "
                            "instruction caches since"));
  }
  if (kernel.object == nullptr) {
    fail("code", kernel.error);
    return;
  }
  DispatchMemory memory(device_.space);
  const gfx::Outcome outcome = gfx::run(*kernel.object,
                                        {.grid = dispatch.groups,
                                         .block = dispatch.block,
                                         .image_address = kernel.image_address,
                                         .user_data = dispatch.user_data},
                                        memory,
                                        {.strict = system_.options.strict_kernels,
                                         .seed = system_.random.next(),
                                         .max_instructions = system_.options.max_instructions,
                                         .stop = &system_.stop});
  for (const gfx::Finding& finding : outcome.findings) {
    system_.report.add("kernel", join(name(), ": ", finding.message));
  }
  switch (outcome.kind) {
    case gfx::OutcomeKind::kOk:
      return end_dispatch(dispatch);
    case gfx::OutcomeKind::kInvalidLaunch:
      fail("dispatch", outcome.message);
      return;
    case gfx::OutcomeKind::kIllegalAddress:  // of the kernel, not of the driver: no violation
      return system_.page_fault(device_, outcome.address, Access::kRead);
    case gfx::OutcomeKind::kIllegalInstruction:
    case gfx::OutcomeKind::kTrap:
      return system_.reset_device(device_);
    case gfx::OutcomeKind::kDeadlock:
    case gfx::OutcomeKind::kTimeout:
    case gfx::OutcomeKind::kStopped:
      device_.health = Health::kHung;
      return;
  }
}

}  // namespace halyard::inline v0::sim::kfd
