// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/cuda/ptx/access.h"

#include <cstdio>
#include <string>

#include "simulation/cuda/ptx/shared_checks.h"

namespace halyard::inline v0::sim::ptx {
namespace {

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

const char* name_of(MemorySpace space) {
  switch (space) {
    case MemorySpace::kGeneric:
      return "generic";
    case MemorySpace::kGlobal:
      return "global";
    case MemorySpace::kShared:
      return "shared";
    case MemorySpace::kLocal:
      return "local";
    case MemorySpace::kParameter:
      return "parameter";
  }
  return "";
}

const char* name_of(Warp::Access access) {
  switch (access) {
    case Warp::Access::kRead:
      return "read";
    case Warp::Access::kWrite:
      return "write";
    case Warp::Access::kAtomic:
      return "atomic access";
  }
  return "";
}

}  // namespace

std::byte* Warp::resolve(const Ins& ins, MemorySpace space, std::uint64_t address,
                         std::uint32_t size, Access access, unsigned lane) {
  const auto text = [&] {
    return std::string(name_of(access)) + " of " + std::to_string(size) + " bytes at " +
           name_of(space) + " address " + hexadecimal(address);
  };
  if ((address & (alignment_for(size) - 1)) != 0) {
    fail(OutcomeKind::kMisalignedAddress, ins, lane, text(), address);
    return nullptr;
  }
  std::byte* const bytes =
      find_in_space(*this, space, address, size, access != Access::kRead, lane);
  if (bytes == nullptr) {
    fail(OutcomeKind::kIllegalAddress, ins, lane, text(), address);
    return nullptr;
  }
  if (block->checks != nullptr && bytes >= block->shared.data() &&
      bytes < block->shared.data() + block->shared.size()) {
    const auto offset = static_cast<std::size_t>(bytes - block->shared.data());
    const SharedChecks::Race race = block->checks->access(index, ins.line, offset, size, access);
    if (race.is_found) {
      block->run->report(FindingKind::kSharedRace, *block, ins.line, index * kLanes + lane,
                         text() + " and a " + (race.other_is_write ? "write" : "read") +
                             " by warp " + std::to_string(race.other_warp) + " in line " +
                             std::to_string(race.other_line) + " with no barrier between");
    }
    if (access == Access::kAtomic) block->checks->synchronize(index, offset);
  }
  return bytes;
}

}  // namespace halyard::inline v0::sim::ptx
