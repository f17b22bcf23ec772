// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/msl/memory_check.h"

#include <algorithm>

namespace halyard::inline v0::sim::msl {
namespace {

bool allows(const MemoryCheck::Region& region, bool write) noexcept {
  if (write) return region.residency == Residency::kReadWrite;
  return region.residency == Residency::kReadWrite || region.residency == Residency::kRead;
}

}  // namespace

const MemoryCheck::Region* MemoryCheck::known(std::uint64_t address, std::uint64_t size,
                                              bool write) {
  const auto has = [&](const Region& r) {
    return address >= r.begin && address < r.end && size <= r.end - address;
  };
  if (last_ < regions_.size() && has(regions_[last_]) && allows(regions_[last_], write))
    return &regions_[last_];
  const Region* found = nullptr;
  for (const Region& r : regions_) {
    if (!has(r)) continue;
    if (allows(r, write)) {
      last_ = static_cast<std::size_t>(&r - regions_.data());
      return &r;
    }
    if (found == nullptr) found = &r;
  }
  return found;
}

const MemoryCheck::Region* MemoryCheck::find(std::uint64_t address, std::uint64_t size,
                                             bool write) {
  const Region* region = known(address, size, write);
  if (region != nullptr || observer_ == nullptr) return region;
  const MemoryRange range = observer_->memory_at(address);
  if (range.residency == Residency::kUnknown || address < range.begin || address >= range.end)
    return nullptr;
  add({range.begin, range.end, range.residency, false, false, "memory behind a pointer"});
  return known(address, size, write);
}

std::string MemoryCheck::nearest(std::uint64_t address) const {
  const Region* best = nullptr;
  std::uint64_t distance = ~std::uint64_t{0};
  for (const Region& r : regions_) {
    if (r.code) continue;
    const std::uint64_t d = address < r.begin  ? r.begin - address
                            : address >= r.end ? address - r.end
                                               : 0;
    if (d < distance) {
      distance = d;
      best = &r;
    }
  }
  if (best == nullptr || distance > (1u << 20)) return "far from all memory of the launch";
  if (address < best->begin)
    return std::to_string(best->begin - address) + " bytes before " + best->name;
  return "at byte " + std::to_string(address - best->begin) + " of " + best->name + ", which has " +
         std::to_string(best->end - best->begin);
}

}  // namespace halyard::inline v0::sim::msl
