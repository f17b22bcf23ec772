// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RaceCheck: finds two accesses to a byte by different threads of a launch, one of them a write,
// that no barrier orders (Metal Shading Language Specification 3.2, section 4.8: a barrier orders
// the memory that its flags name, of the threads that it is for). The result depends only on the
// accesses, not on the order in which threads ran.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace halyard::inline v0::sim::msl {

// The accessing thread, and the number of barriers for this memory before the access.
struct Accessor {
  std::uint32_t group = 0;
  std::uint16_t thread = 0;
  std::uint16_t simdgroup = 0;
  std::uint32_t epoch = 0;       // barriers of the group
  std::uint32_t simd_epoch = 0;  // barriers of the simdgroup
};

struct Conflict {
  bool found = false;
  Accessor other;
  bool many = false;  // `other` is one of several readers
  bool other_writes = false;
  std::uint64_t address = 0;
};

class RaceCheck {
 public:
  // Discards the accesses of the previous group to the group's memory.
  void forget(std::uint64_t begin, std::uint64_t end);

  Conflict access(const Accessor& who, std::uint64_t address, std::uint64_t size, bool write,
                  bool atomic);

  // A fence for all threads of the device. Accesses of this group before the fence are ordered
  // before accesses of another group if this group then writes an atomic, and the other group reads
  // that value and then also has a fence.
  void fence(std::uint32_t group);
  void synchronize(std::uint32_t group, std::uint64_t address, bool write);

 private:
  enum class Readers : std::uint8_t { kNone, kOne, kSimdgroup, kGroup, kGroups };
  struct Cell {
    Accessor writer, reader;
    bool written = false, write_atomic = false, read_atomic = false;
    Readers readers = Readers::kNone;
  };
  // Each cell covers 4 bytes, or one byte if some access covered only a part of 4 bytes.
  struct Page {
    std::vector<Cell> cells;
    bool bytes = false;
  };
  static constexpr std::uint64_t kPage = 1024;

  Page& page(std::uint64_t number);
  static void split(Page& page);
  bool ordered(const Accessor& before, const Accessor& now) const;
  void cell_access(Cell& cell, const Accessor& who, bool write, bool atomic, std::uint64_t address,
                   Conflict& conflict);

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  Page* last_ = nullptr;

  using Groups = std::vector<bool>;
  struct Order {
    Groups before;   // groups ordered before this group
    Groups pending;  // ordered from the next fence on
    bool fenced = false;
  };
  std::unordered_map<std::uint32_t, Order> orders_;
  std::unordered_map<std::uint64_t, Groups> released_;  // by the address of an atomic
};

}  // namespace halyard::inline v0::sim::msl
