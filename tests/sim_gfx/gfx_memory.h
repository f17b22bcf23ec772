// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of a test. Device addresses equal host addresses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include "simulation/hip/gfx/gfx.h"

namespace halyard::testing {

namespace gfx = sim::gfx;

// Allocations, each with its own mapping.
class GfxMemory : public gfx::Memory {
 public:
  std::uint64_t add(std::size_t bytes) {
    auto& block = blocks_.emplace_back((bytes + 7) / 8 + 1);
    auto* const data = reinterpret_cast<std::byte*>(block.data());
    // A multiple of 16.
    auto* const begin = data + (16 - reinterpret_cast<std::uintptr_t>(data) % 16) % 16;
    const auto address = reinterpret_cast<std::uint64_t>(begin);
    add_mapping({address, address + bytes, begin, true});
    return address;
  }
  void add_mapping(const gfx::Mapping& mapping) { mappings_.push_back(mapping); }
  std::optional<gfx::Mapping> find(std::uint64_t address) override {
    for (const gfx::Mapping& each : mappings_) {
      if (address >= each.begin && address < each.end) return each;
    }
    return std::nullopt;
  }

 private:
  std::list<std::vector<std::uint64_t>> blocks_;
  std::vector<gfx::Mapping> mappings_;
};

// A loaded code object with its image in memory.
struct GfxImage {
  explicit GfxImage(const gfx::CodeObject& code)
      : storage(code.image().size() / 8 + gfx::kPage / 8 + 1) {
    auto* const data = reinterpret_cast<std::byte*>(storage.data());
    auto* const begin =
        data + (gfx::kPage - reinterpret_cast<std::uintptr_t>(data) % gfx::kPage) % gfx::kPage;
    bytes = {begin, code.image().size()};
    std::copy(code.image().begin(), code.image().end(), begin);
    address = reinterpret_cast<std::uint64_t>(begin);
    code.relocate(bytes, address);
  }
  gfx::Mapping mapping() const { return {address, address + bytes.size(), bytes.data(), true}; }

  std::vector<std::uint64_t> storage;
  std::span<std::byte> bytes;
  std::uint64_t address = 0;
};

}  // namespace halyard::testing
