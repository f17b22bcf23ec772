// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim_gfx/random_words.h"

#include <array>

namespace halyard::testing {
namespace {

using sim::gfx::Encoding;

constexpr std::array<std::uint32_t, 14> kSpecialSources = {250, 233, 234, 255, 106, 124, 125,
                                                           126, 253, 240, 242, 248, 128, 193};
constexpr std::array<std::uint32_t, 10> kDppControls = {0xe4,  0x1b,  0x101, 0x111, 0x12f,
                                                        0x140, 0x141, 0x150, 0x165, 0x1ff};

}  // namespace

std::uint32_t RandomWords::source() {
  switch (bits(3)) {
    case 4:
      return bits(6) & ~1u;
    case 5:
      return 128 + bits(6);
    case 6:
      return kSpecialSources[bits(8) % kSpecialSources.size()];
    case 7:
      return bits(9);
    default:
      return 256 + bits(7);
  }
}

std::uint32_t RandomWords::scalar_source() {
  switch (bits(2)) {
    case 0:
      return bits(8);
    case 1:
      return 128 + bits(6);
    case 2:
      return one_in(3) ? 255 : 240 + bits(3);
    default:
      return bits(6) & ~3u;
  }
}

std::uint32_t RandomWords::extra() {
  if (one_in(2)) return bits(32);
  return 0xff00'0000 | rarely(4) << 20 | rarely(2) << 18 |
         kDppControls[bits(8) % kDppControls.size()] << 8 | bits(7);
}

Words RandomWords::of(Encoding encoding, unsigned number) {
  const std::uint32_t scalar = one_in(4) ? bits(7) : bits(6) & ~3u;
  const std::uint32_t second = one_in(2) ? source() : 0, third = one_in(2) ? source() : 0;
  switch (encoding) {
    case Encoding::kSop2:
      return {0x8000'0000 | number << 23 | scalar << 16 | scalar_source() << 8 | scalar_source(),
              bits(32), bits(32)};
    case Encoding::kSop1:
      return {0xbe80'0000 | scalar << 16 | number << 8 | scalar_source(), bits(32), bits(32)};
    case Encoding::kSopc:
      return {0xbf00'0000 | number << 16 | scalar_source() << 8 | scalar_source(), bits(32),
              bits(32)};
    case Encoding::kSopk:
      return {0xb000'0000 | number << 23 | (one_in(2) ? 124 : scalar) << 16 | bits(16), bits(32),
              bits(32)};
    case Encoding::kSopp:
      return {0xbf80'0000 | number << 16 | (one_in(2) ? bits(16) : 0), bits(32), bits(32)};
    case Encoding::kSmem:
      return {0xf400'0000 | number << 18 | rarely(2) << 13 | scalar << 6 | (bits(5) & ~1u),
              (one_in(2) ? 124 : bits(7)) << 25 | bits(one_in(3) ? 21 : 20), bits(32)};
    case Encoding::kVop1:
      return {0x7e00'0000 | bits(7) << 17 | number << 9 | source(), extra(), bits(32)};
    case Encoding::kVop2:
      return {number << 25 | bits(7) << 17 | bits(7) << 9 | source(), extra(), bits(32)};
    case Encoding::kVopc:
      return {0x7c00'0000 | number << 17 | bits(7) << 9 | source(), extra(), bits(32)};
    case Encoding::kVop3:
      return {0xd400'0000 | number << 16 | rarely(8) << 8 | (one_in(4) ? 106 : bits(6)),
              rarely(5) << 27 | third << 18 | second << 9 | source(), extra()};
    case Encoding::kVop3p:
      return {
          0xcc00'0000 | number << 16 | rarely(6) << 8 | bits(1) << 14 | rarely(1) << 15 | vector(),
          rarely(3) << 29 | bits(2) << 27 | (one_in(4) ? third : 256 + vector()) << 18 |
              (one_in(4) ? second : 256 + vector()) << 9 | (one_in(4) ? source() : 256 + vector()),
          extra()};
    case Encoding::kVopdX:
    case Encoding::kVopdY: {
      // The other half is v_dual_mov_b32, whose source 1 is not used. Sources and results of the
      // halves are in different banks.
      const bool is_x = encoding == Encoding::kVopdX;
      const std::uint32_t x = is_x ? number : 8, y = is_x ? 8 : number;
      const std::uint32_t x1 = is_x ? bits(6) * 4 + 1 : 0, y1 = is_x ? 0 : bits(6) * 4 + 2;
      return {
          0xc800'0000 | x << 22 | y << 17 | x1 << 9 | (one_in(3) ? source() : 256 + bits(6) * 4),
          (bits(6) * 4) << 24 | bits(7) << 17 | y1 << 9 | (256 + bits(6) * 4 + 3), bits(32)};
    }
    case Encoding::kDs:
      return {0xd800'0000 | number << 18 | bits(16),
              bits(8) | (one_in(2) ? bits(7) << 8 : 0) | (one_in(2) ? bits(7) << 16 : 0) |
                  (one_in(2) ? bits(7) << 24 : 0),
              bits(32)};
    case Encoding::kFlat:
    case Encoding::kGlobal:
    case Encoding::kScratch: {
      const std::uint32_t segment = encoding == Encoding::kFlat      ? 0
                                    : encoding == Encoding::kScratch ? 1
                                                                     : 2;
      const bool has_base = encoding != Encoding::kFlat && one_in(2);
      return {0xdc00'0000 | segment << 16 | number << 18 | rarely(3) << 13 |
                  bits(encoding == Encoding::kFlat ? 12 : 13),
              bits(8) | (one_in(2) ? bits(7) << 8 : 0) | (has_base ? bits(6) & ~1u : 124) << 16 |
                  (encoding == Encoding::kScratch ? bits(1) << 23 : 0) |
                  (one_in(2) ? bits(7) << 24 : 0),
              bits(32)};
    }
    case Encoding::kMubuf:
      return {0xe000'0000 | number << 18 | rarely(3) << 12 | bits(12),
              (one_in(4) ? 0
                         : bits(7) | bits(7) << 8 | bits(4) << 16 | bits(2) << 22 |
                               (one_in(2) ? bits(6) : 128 + bits(6)) << 24),
              bits(32)};
  }
  return {};
}

}  // namespace halyard::testing
