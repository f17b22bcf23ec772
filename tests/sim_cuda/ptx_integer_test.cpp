// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer instructions of PTX, against the host's arithmetic.
#include <algorithm>
#include <bit>

#include "sim_cuda/ptx_test_util.h"

namespace halyard::testing {
namespace {

using U = std::uint64_t;
using I = std::int64_t;
__extension__ typedef __int128 I128;
__extension__ typedef unsigned __int128 U128;

std::uint32_t u32(U value) { return static_cast<std::uint32_t>(value); }
std::int32_t s32(U value) { return static_cast<std::int32_t>(value); }
std::int16_t s16(U value) { return static_cast<std::int16_t>(value); }
std::uint16_t u16(U value) { return static_cast<std::uint16_t>(value); }

TEST(PtxInteger, AddsSubtractsAndMultipliesModulo) {
  expect_lanes("add.u32 %x, %a0, %a1;", [](U a, U b, U) -> U { return u32(a + b); });
  expect_lanes("sub.s64 %y, %l0, %l1;", [](U a, U b, U) -> U { return a - b; });
  expect_lanes("add.s16 %z, %h0, %h1;", [](U a, U b, U) -> U { return u16(a + b); });
  expect_lanes("mul.lo.s32 %x, %a0, %a1;", [](U a, U b, U) -> U { return u32(a * b); });
  expect_lanes("mul.hi.s32 %x, %a0, %a1;",
               [](U a, U b, U) -> U { return u32(static_cast<U>(I{s32(a)} * s32(b)) >> 32); });
  expect_lanes("mul.hi.u64 %y, %l0, %l1;",
               [](U a, U b, U) { return static_cast<U>((U128{a} * b) >> 64); });
  expect_lanes("mul.hi.s64 %y, %l0, %l1;", [](U a, U b, U) {
    return static_cast<U>((I128{static_cast<I>(a)} * static_cast<I>(b)) >> 64);
  });
  expect_lanes("mul.wide.s16 %x, %h0, %h1;",
               [](U a, U b, U) -> U { return u32(static_cast<U>(I{s16(a)} * s16(b))); });
  expect_lanes("mul.wide.s32 %y, %a0, %a1;",
               [](U a, U b, U) { return static_cast<U>(I{s32(a)} * s32(b)); });
  expect_lanes("mad.wide.u32 %y, %a0, %a1, %l2;",
               [](U a, U b, U c) { return U{u32(a)} * u32(b) + c; });
  expect_lanes("mad.hi.s32 %x, %a0, %a1, %a2;", [](U a, U b, U c) -> U {
    return u32((static_cast<U>(I{s32(a)} * s32(b)) >> 32) + c);
  });
  expect_lanes("mul24.lo.s32 %x, %a0, %a1;", [](U a, U b, U) -> U {
    const auto low = [](U x) { return I{s32(x << 8)} >> 8; };
    return u32(static_cast<U>(low(a) * low(b)));
  });
  expect_lanes("add.sat.s32 %x, %a0, %a1;", [](U a, U b, U) -> U {
    return u32(static_cast<U>(std::clamp<I>(I{s32(a)} + s32(b), INT32_MIN, INT32_MAX)));
  });
}

TEST(PtxInteger, DividesAsHardwareDoes) {
  expect_lanes("div.u32 %x, %a0, %a1;",
               [](U a, U b, U) -> U { return u32(b) == 0 ? UINT32_MAX : u32(a) / u32(b); });
  expect_lanes("rem.u64 %y, %l0, %l1;", [](U a, U b, U) { return b == 0 ? a : a % b; });
  expect_lanes("div.s32 %x, %a0, %a1;", [](U a, U b, U) -> U {
    return s32(b) == 0 ? UINT32_MAX : u32(static_cast<U>(I{s32(a)} / s32(b)));
  });
  expect_lanes("rem.s32 %x, %a0, %a1;", [](U a, U b, U) -> U {
    return s32(b) == 0 ? u32(a) : u32(static_cast<U>(I{s32(a)} % s32(b)));
  });
}

TEST(PtxInteger, MinimaMaximaAndDifferences) {
  expect_lanes("min.s32 %x, %a0, %a1;",
               [](U a, U b, U) -> U { return u32(static_cast<U>(std::min(s32(a), s32(b)))); });
  expect_lanes("max.u64 %y, %l0, %l1;", [](U a, U b, U) { return std::max(a, b); });
  expect_lanes("abs.s32 %x, %a0;", [](U a, U, U) -> U { return s32(a) < 0 ? u32(0 - a) : u32(a); });
  expect_lanes("neg.s64 %y, %l0;", [](U a, U, U) { return 0 - a; });
  expect_lanes("sad.u32 %x, %a0, %a1, %a2;", [](U a, U b, U c) -> U {
    return u32(c + (u32(a) < u32(b) ? u32(b) - u32(a) : u32(a) - u32(b)));
  });
}

TEST(PtxInteger, CarriesFromWordToWord) {
  expect_lanes(R"(mov.b64 {%r0, %r1}, %l0; mov.b64 {%r2, %r3}, %l1;
                  add.cc.u32 %r4, %r0, %r2; addc.u32 %r5, %r1, %r3; mov.b64 %y, {%r4, %r5};)",
               [](U a, U b, U) { return a + b; });
  expect_lanes(R"(mov.b64 {%r0, %r1}, %l0; mov.b64 {%r2, %r3}, %l1;
                  sub.cc.u32 %r4, %r0, %r2; subc.u32 %r5, %r1, %r3; mov.b64 %y, {%r4, %r5};)",
               [](U a, U b, U) { return a - b; });
  // The low 64 bits of a product of 64 bits.
  expect_lanes(R"(mov.b64 {%r0, %r1}, %l0; mov.b64 {%r2, %r3}, %l1;
                  mul.lo.u32 %r4, %r0, %r2; mul.hi.u32 %r5, %r0, %r2;
                  mad.lo.cc.u32 %r5, %r0, %r3, %r5; mad.lo.u32 %r5, %r1, %r2, %r5;
                  mov.b64 %y, {%r4, %r5};)",
               [](U a, U b, U) { return a * b; });
  expect_lanes("add.cc.u64 %rd0, %l0, %l1; addc.u32 %x, 0, 0;",
               [](U a, U b, U) -> U { return a + b < a ? 1 : 0; });
  // The carry of a subtraction is 1 if there is no borrow.
  expect_lanes("sub.cc.u32 %r0, %a0, %a1; addc.u32 %x, 0, 0;",
               [](U a, U b, U) -> U { return u32(a) >= u32(b) ? 1 : 0; });
  expect_lanes("add.cc.u32 %r0, %a0, %a1; subc.u32 %x, %a2, 0;",
               [](U a, U b, U c) -> U { return u32(c - (u32(a + b) < u32(a) ? 0 : 1)); });
  expect_lanes("mad.hi.cc.u32 %r0, %a0, %a1, %a2; addc.u32 %x, 0, 0;",
               [](U a, U b, U c) -> U { return ((U{u32(a)} * u32(b) >> 32) + u32(c)) >> 32; });
}

TEST(PtxInteger, ShiftsBeyondTheWidth) {
  expect_lanes("shl.b32 %x, %a0, %a1;",
               [](U a, U b, U) -> U { return u32(b) > 31 ? 0 : u32(a << u32(b)); });
  expect_lanes("shr.s32 %x, %a0, %a1;", [](U a, U b, U) -> U {
    return u32(static_cast<U>(I{s32(a)} >> std::min(u32(b), 31u)));
  });
  expect_lanes("shr.u64 %y, %l0, %a1;",
               [](U a, U b, U) -> U { return u32(b) > 63 ? 0 : a >> u32(b); });
  expect_lanes("shr.s16 %z, %h0, %a1;", [](U a, U b, U) -> U {
    return u16(static_cast<U>(s16(a) >> std::min(u32(b), 15u)));
  });
  expect_lanes("shf.l.wrap.b32 %x, %a0, %a1, %a2;",
               [](U a, U b, U c) -> U { return u32(((b << 32 | u32(a)) << (c & 31)) >> 32); });
  expect_lanes("shf.r.clamp.b32 %x, %a0, %a1, %a2;",
               [](U a, U b, U c) -> U { return u32((b << 32 | u32(a)) >> std::min(u32(c), 32u)); });
}

TEST(PtxInteger, BitFields) {
  expect_lanes("popc.b64 %x, %l0;", [](U a, U, U) -> U { return std::popcount(a); });
  expect_lanes("clz.b32 %x, %a0;", [](U a, U, U) -> U { return std::countl_zero(u32(a)); });
  expect_lanes("bfind.s32 %x, %a0;", [](U a, U, U) -> U {
    const std::uint32_t bits = s32(a) < 0 ? ~u32(a) : u32(a);
    return bits == 0 ? UINT32_MAX : 31 - std::countl_zero(bits);
  });
  expect_lanes("bfind.shiftamt.u64 %x, %l0;",
               [](U a, U, U) -> U { return a == 0 ? UINT32_MAX : std::countl_zero(a); });
  expect_lanes("brev.b32 %x, %a0;", [](U a, U, U) -> U {
    std::uint32_t reversed = 0;
    for (int i = 0; i < 32; ++i) reversed |= (u32(a) >> i & 1) << (31 - i);
    return reversed;
  });
  // As the specification writes it, bit by bit.
  const auto extract = [](U a, U b, U c, bool is_signed) -> U {
    const std::uint32_t position = b & 0xff, length = c & 0xff;
    const bool sign =
        is_signed && length != 0 && (u32(a) >> std::min(position + length - 1, 31u) & 1) != 0;
    std::uint32_t result = 0;
    for (std::uint32_t i = 0; i < 32; ++i) {
      const bool bit =
          i < length && position + i <= 31 ? (u32(a) >> (position + i) & 1) != 0 : sign;
      result |= std::uint32_t{bit} << i;
    }
    return result;
  };
  expect_lanes("bfe.u32 %x, %a0, %a1, %a2;",
               [&](U a, U b, U c) { return extract(a, b, c, false); });
  expect_lanes("bfe.s32 %x, %a0, %a1, %a2;", [&](U a, U b, U c) { return extract(a, b, c, true); });
  expect_lanes("bfi.b32 %x, %a0, %a1, %a2, 7;", [](U a, U b, U c) -> U {
    std::uint32_t result = u32(b);
    const std::uint32_t position = c & 0xff;
    for (std::uint32_t i = 0; i < 7 && position + i <= 31; ++i) {
      result = (result & ~(1u << (position + i))) | (u32(a) >> i & 1) << (position + i);
    }
    return result;
  });
  expect_lanes("fns.b32 %x, %a0, 3, 2;", [](U a, U, U) -> U {
    int left = 2;
    for (int i = 3; i < 32; ++i) {
      if ((u32(a) >> i & 1) != 0 && --left == 0) return i;
    }
    return UINT32_MAX;
  });
}

TEST(PtxInteger, BytesAndTables) {
  expect_lanes("prmt.b32 %x, %a0, %a1, %a2;", [](U a, U b, U c) -> U {
    const U bytes = b << 32 | u32(a);
    std::uint32_t result = 0;
    for (int i = 0; i < 4; ++i) {
      const auto selector = static_cast<std::uint32_t>(c >> (4 * i) & 0xf);
      std::uint32_t byte = bytes >> (8 * (selector & 7)) & 0xff;
      if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
      result |= byte << (8 * i);
    }
    return result;
  });
  expect_lanes("prmt.b32.b4e %x, %a0, %a1, %a2;", [](U a, U b, U c) -> U {
    const U bytes = b << 32 | u32(a);
    std::uint32_t result = 0;
    for (int i = 0; i < 4; ++i) result |= (bytes >> (8 * (((c & 3) - i) & 7)) & 0xff) << (8 * i);
    return result;
  });
  // a & b | ~c; and the parity.
  expect_lanes("lop3.b32 %x, %a0, %a1, %a2, 0xd5;",
               [](U a, U b, U c) -> U { return u32((a & b) | ~c); });
  expect_lanes("lop3.b32 %x, %a0, %a1, %a2, 0x96;",
               [](U a, U b, U c) -> U { return u32(a ^ b ^ c); });
  expect_lanes("dp4a.s32.u32 %x, %a0, %a1, %a2;", [](U a, U b, U c) -> U {
    I sum = s32(c);
    for (int i = 0; i < 4; ++i) {
      sum += static_cast<std::int8_t>(a >> (8 * i)) * static_cast<I>(b >> (8 * i) & 0xff);
    }
    return u32(static_cast<U>(sum));
  });
  expect_lanes(
      "mov.b64 {%r0, %r1}, %l0; mov.b32 {%h3, %h4}, %r1; mov.b32 %r2, {%h4, %h3}; "
      "mov.b64 %y, {%r2, %r0};",
      [](U a, U, U) { return std::rotl(u32(a >> 32), 16) | a << 32; });
}

TEST(PtxInteger, BytesOfVideoInstructions) {
  expect_lanes("vabsdiff4.u32.u32.u32.add %x, %a0, %a1, %a2;", [](U a, U b, U c) -> U {
    std::uint32_t sum = u32(c);
    for (int i = 0; i < 4; ++i) {
      const int x = static_cast<int>(a >> (8 * i) & 0xff),
                y = static_cast<int>(b >> (8 * i) & 0xff);
      sum += static_cast<std::uint32_t>(x < y ? y - x : x - y);
    }
    return sum;
  });
  expect_lanes("vadd2.s32.s32.s32.sat %x, %a0, %a1, 0;", [](U a, U b, U) -> U {
    const auto half = [](U x, U y) {
      return u16(static_cast<U>(std::clamp(s16(x) + s16(y), -32768, 32767)));
    };
    return half(a, b) | U{half(a >> 16, b >> 16)} << 16;
  });
}

TEST(PtxInteger, ScalarVideoInstructions) {
  const auto s8 = [](U a, int byte) { return I{static_cast<std::int8_t>(a >> 8 * byte)}; };
  const auto clamp = [](I value, I low, I high) {
    return u32(static_cast<U>(std::clamp(value, low, high)));
  };
  expect_lanes("vadd.u32.u32.u32.sat %x, %a0, %a1;",
               [&](U a, U b, U) -> U { return clamp(I{u32(a)} + I{u32(b)}, 0, UINT32_MAX); });
  expect_lanes("vsub.s32.s32.u32.sat.min %x, %a0.h1, %a1.b2, %a2;", [&](U a, U b, U c) -> U {
    const I difference =
        I{static_cast<std::int16_t>(a >> 16)} - I{static_cast<std::uint8_t>(b >> 16)};
    return u32(static_cast<U>(std::min<I>(difference, s32(c))));
  });
  expect_lanes("vabsdiff.u32.s32.s32.add %x, %a0.b3, %a1.b0, %a2;", [&](U a, U b, U c) -> U {
    return u32(static_cast<U>(std::abs(s8(a, 3) - s8(b, 0))) + c);
  });
  expect_lanes("vmax.s32.s32.s32.sat %x.b1, %a0, %a1, %a2;", [&](U a, U b, U c) -> U {
    const U byte = clamp(std::max(s32(a), s32(b)), -128, 127) & 0xff;
    return (u32(c) & 0xffff00ff) | byte << 8;
  });
  expect_lanes("vshr.s32.s32.u32.clamp %x, %a0, %a1;", [](U a, U b, U) -> U {
    return u32(static_cast<U>(I{s32(a)} >> std::min(u32(b), 32u)));
  });
  expect_lanes("vshl.u32.u32.u32.wrap %x, %a0.h0, %a1;",
               [](U a, U b, U) -> U { return u32((a & 0xffff) << (b & 31)); });
  expect_lanes("vmad.s32.s32.u32.shr7 %x, %a0.h0, %a1.b1, %a2;", [](U a, U b, U c) -> U {
    const I product = I{static_cast<std::int16_t>(a)} * I{static_cast<std::uint8_t>(b >> 8)};
    return u32(static_cast<U>((product + s32(c)) >> 7));
  });
  expect_lanes("vset.s32.u32.lt.add %x, %a0, %a1, %a2;",
               [](U a, U b, U c) -> U { return u32(c + (I{s32(a)} < I{u32(b)} ? 1 : 0)); });
}

TEST(PtxInteger, ComparesAndSelects) {
  expect_lanes("setp.lt.s32 %p0, %a0, %a1; selp.b32 %x, %a0, %a1, %p0;",
               [](U a, U b, U) -> U { return s32(a) < s32(b) ? u32(a) : u32(b); });
  expect_lanes("setp.hi.u64 %p0, %l0, %l1; selp.b64 %y, %l0, %l1, %p0;",
               [](U a, U b, U) { return std::max(a, b); });
  expect_lanes(R"(setp.ne.u32 %p0, %a2, 0; setp.gt.and.s16 %p1|%p2, %h0, %h1, !%p0;
                  selp.u32 %r0, 1, 0, %p1; selp.u32 %r1, 2, 0, %p2; or.b32 %x, %r0, %r1;)",
               [](U a, U b, U c) -> U {
                 if (u32(c) != 0) return 0;
                 return s16(a) > s16(b) ? 1 : 2;
               });
  expect_lanes("set.ge.u32.s32 %x, %a0, %a1;",
               [](U a, U b, U) -> U { return s32(a) >= s32(b) ? UINT32_MAX : 0; });
  expect_lanes("slct.u32.s32 %x, %a0, %a1, %a2;",
               [](U a, U b, U c) -> U { return s32(c) >= 0 ? u32(a) : u32(b); });
}

TEST(PtxInteger, ConvertsBetweenWidths) {
  expect_lanes("cvt.s64.s8 %y, %a0;",
               [](U a, U, U) { return static_cast<U>(I{static_cast<std::int8_t>(a)}); });
  expect_lanes("cvt.u32.u16 %x, %h0;", [](U a, U, U) -> U { return u16(a); });
  expect_lanes("cvt.s32.u8 %x, %a0;", [](U a, U, U) -> U { return a & 0xff; });
  expect_lanes("cvt.sat.s16.s32 %r0, %a0; mov.b32 %x, %r0;", [](U a, U, U) -> U {
    return u32(static_cast<U>(I{std::clamp(s32(a), -32768, 32767)}));
  });
  expect_lanes("cvt.sat.u8.s32 %x, %a0;",
               [](U a, U, U) -> U { return std::clamp(s32(a), 0, 255); });
}

// ptxas 13.0 takes "!p" wherever an instruction reads a predicate.
TEST(PtxInteger, PredicateOperandsMayBeNegated) {
  const auto with = [](std::string_view body) {
    return "setp.lt.u32 %p0, %a0, %a1; setp.eq.u32 %p1, %a1, %a2;" + std::string(body);
  };
  const auto is_less = [](U a, U b) { return u32(a) < u32(b); };
  const auto is_equal = [](U b, U c) { return u32(b) == u32(c); };
  expect_lanes(with("selp.b32 %x, 3, 4, !%p0;"),
               [&](U a, U b, U) -> U { return is_less(a, b) ? 4 : 3; });
  expect_lanes(with("@%p1 selp.b64 %y, 3, 4, !%p0;"), [&](U a, U b, U c) -> U {
    return !is_equal(b, c) ? 0 : is_less(a, b) ? 4 : 3;
  });
  expect_lanes(with("mov.pred %p2, !%p0; selp.b32 %x, 1, 0, %p2;"),
               [&](U a, U b, U) -> U { return is_less(a, b) ? 0 : 1; });
  expect_lanes(with("not.pred %p2, !%p0; selp.b32 %x, 1, 0, %p2;"),
               [&](U a, U b, U) -> U { return is_less(a, b) ? 1 : 0; });
  expect_lanes(with("and.pred %p2, !%p0, %p1; or.pred %p3, %p0, !%p1; xor.pred %p4, !%p0, !%p1;"
                    "selp.b32 %r0, 1, 0, %p2; selp.b32 %r1, 2, 0, %p3; selp.b32 %r2, 4, 0, %p4;"
                    "or.b32 %x, %r0, %r1; or.b32 %x, %x, %r2;"),
               [&](U a, U b, U c) -> U {
                 const bool p = is_less(a, b), q = is_equal(b, c);
                 return (!p && q ? 1 : 0) | (p || !q ? 2 : 0) | (p != q ? 4 : 0);
               });
  expect_lanes(with("setp.eq.and.u32 %p2, %a0, %a0, !%p0; selp.b32 %x, 1, 0, %p2;"),
               [&](U a, U b, U) -> U { return is_less(a, b) ? 0 : 1; });
}

}  // namespace
}  // namespace halyard::testing
