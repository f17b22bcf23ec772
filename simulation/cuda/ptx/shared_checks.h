// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds races of warps within the shared memory of a block.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "simulation/cuda/ptx/machine.h"

namespace halyard::inline v0::sim::ptx {

// Each warp has a vector clock; a barrier joins the clocks of the warps that pass it. An access is
// ordered after another warp's access if the accessing warp's clock has reached the other's clock
// at that access. Accesses of the same warp are ordered. Atomic and volatile accesses of a word
// order the warps that make them. For each byte the last write and the last reads of four warps are
// kept, so a race with an older read may go unnoticed, but every report is a race.
class SharedChecks {
 public:
  SharedChecks(std::size_t bytes, std::size_t warps);

  struct Race {
    bool is_found = false;
    std::uint32_t other_warp = 0;
    std::uint32_t other_line = 0;
    bool other_is_write = false;
  };
  // `offset` is relative to the bytes given to the constructor.
  Race access(std::uint32_t warp, std::uint32_t line, std::size_t offset, std::size_t size,
              Warp::Access access);
  // An access that synchronizes: volatile, atomic, acquire or release.
  void synchronize(std::uint32_t warp, std::size_t offset);

  void arrive(std::uint32_t warp, unsigned barrier);
  void depart(std::uint32_t warp, unsigned barrier);
  void open(unsigned barrier);

 private:
  using Clock = std::vector<std::uint32_t>;
  struct Use {
    std::uint32_t clock = 0;  // 0: none
    std::uint32_t line = 0;
    std::uint8_t warp = 0;
    bool is_atomic = false;
  };
  struct Byte {
    Use write;
    std::array<Use, 4> reads;
  };

  static void join(Clock& to, const Clock& from);
  bool is_ordered(std::uint32_t warp, const Use& use) const {
    return use.clock == 0 || use.warp == warp || clocks_[warp][use.warp] >= use.clock;
  }

  std::vector<Byte> bytes_;
  std::vector<Clock> clocks_;
  std::array<Clock, 16> barriers_;
  std::vector<Clock> words_;  // empty until something synchronizes by the word
};

}  // namespace halyard::inline v0::sim::ptx
