// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The descriptor of a buffer: four scalar registers (manual, 9.1.5).
#pragma once

#include <cstdint>

#include "simulation/hip/gfx/machine.h"

namespace halyard::inline v0::sim::gfx {

struct BufferDescriptor {
  // The range check. Out of range, loads return 0 and stores are dropped.
  enum class Range : std::uint8_t {
    kStructured = 0,  // an index beyond the records, or an offset beyond the stride
    kIndex = 1,       // an index beyond the records
    kNothing = 2,     // all, if there are no records
    kRaw = 3,         // bytes beyond `records` bytes
  };

  std::uint64_t base = 0;
  std::uint32_t stride = 0;   // bytes
  std::uint32_t records = 0;  // of the stride's size, or bytes
  bool is_swizzled = false;
  bool adds_lane = false;  // the lane's number to the index
  Range range = Range::kStructured;

  BufferDescriptor(const Wave& wave, unsigned first)
      : base(wave.s[first] | std::uint64_t{wave.s[first + 1] & 0xffffu} << 32),
        stride(wave.s[first + 1] >> 16 & 0x3fffu),
        records(wave.s[first + 2]),
        is_swizzled((wave.s[first + 1] >> 30 & 3) != 0),
        adds_lane((wave.s[first + 3] >> 23 & 1) != 0),
        range(static_cast<Range>(wave.s[first + 3] >> 28 & 3)) {}
};

}  // namespace halyard::inline v0::sim::gfx
