// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MemoryCheck: the addresses that a launch may read and write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulation/metal/msl/launch.h"

namespace halyard::inline v0::sim::msl {

class MemoryCheck {
 public:
  struct Region {
    std::uint64_t begin = 0, end = 0;
    Residency residency = Residency::kReadWrite;
    bool threadgroup = false;
    bool code = false;  // constants of the library
    std::string name;   // "buffer 2 (x)"
  };

  explicit MemoryCheck(Observer* observer) : observer_(observer) {}
  void add(Region region) { regions_.push_back(std::move(region)); }

  // Returns a region that contains all bytes and allows the access, otherwise a region that
  // contains them, otherwise null. Queries the observer for unknown memory.
  const Region* find(std::uint64_t address, std::uint64_t size, bool write);
  // Text for a report: the region that is nearest to the address.
  std::string nearest(std::uint64_t address) const;
  const std::vector<Region>& regions() const noexcept { return regions_; }

 private:
  const Region* known(std::uint64_t address, std::uint64_t size, bool write);

  Observer* observer_;
  std::vector<Region> regions_;
  std::size_t last_ = 0;
};

}  // namespace halyard::inline v0::sim::msl
