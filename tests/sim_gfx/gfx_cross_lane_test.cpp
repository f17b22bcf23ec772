// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that move between lanes, and products of matrices. Expectations are the manual's formulas
// (7.7, 7.9, 16.9, 16.13); layouts of matrices are those of tinygrad's test/amd/hw/test_vop3p.py
// and of AMD's "How to accelerate AI applications on RDNA 3 using WMMA".
#include <bit>
#include <cmath>
#include <random>

#include "sim_gfx/gfx_assembler.h"

namespace halyard::testing {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// a is the lane's number, b 1000 more.
GfxInputs lane_inputs() {
  GfxInputs inputs;
  for (u64 lane = 0; lane < 32; ++lane) inputs.push_back({lane, 1000 + lane, 0});
  return inputs;
}

constexpr u64 kKept = 7, kNoLane = ~u64{0};

// v10 is initially kKept; the body writes it from v2. `source` returns the lane that each lane
// reads.
GfxCase moves(const std::string& body, std::function<u64(u64)> source) {
  return {"v_mov_b32 v10, 7\n" + body, [source](u64 lane, u64, u64) {
            const u64 from = source(lane);
            return from == kNoLane ? kKept : 1000 + from;
          }};
}

TEST(GfxCrossLane, DataParallelPrimitives) {
  HALYARD_NEEDS_ASSEMBLER();
  const auto row = [](u64 lane) { return lane & ~u64{15}; };
  check_gfx_cases(
      {
          moves("v_mov_b32_dpp v10, v2 quad_perm:[3,0,1,2] row_mask:0xf bank_mask:0xf",
                [](u64 lane) { return (lane & ~u64{3}) | ((lane + 3) & 3); }),
          moves("v_mov_b32_dpp v10, v2 row_shl:3 row_mask:0xf bank_mask:0xf",
                [](u64 lane) { return lane % 16 + 3 < 16 ? lane + 3 : kNoLane; }),
          moves("v_mov_b32_dpp v10, v2 row_shr:1 row_mask:0xf bank_mask:0xf",
                [](u64 lane) { return lane % 16 >= 1 ? lane - 1 : kNoLane; }),
          moves("v_mov_b32_dpp v10, v2 row_ror:5 row_mask:0xf bank_mask:0xf",
                [=](u64 lane) { return row(lane) | ((lane - 5) & 15); }),
          moves("v_mov_b32_dpp v10, v2 row_mirror row_mask:0xf bank_mask:0xf",
                [=](u64 lane) { return row(lane) | (15 - lane % 16); }),
          moves("v_mov_b32_dpp v10, v2 row_half_mirror row_mask:0xf bank_mask:0xf",
                [](u64 lane) { return (lane & ~u64{7}) | (7 - lane % 8); }),
          moves("v_mov_b32_dpp v10, v2 row_share:6 row_mask:0xf bank_mask:0xf",
                [=](u64 lane) { return row(lane) | 6; }),
          moves("v_mov_b32_dpp v10, v2 row_xmask:9 row_mask:0xf bank_mask:0xf",
                [](u64 lane) { return lane ^ 9; }),
          // Masks of rows and of banks of four lanes.
          moves("v_mov_b32_dpp v10, v2 row_xmask:1 row_mask:0x1 bank_mask:0x6",
                [](u64 lane) {
                  const u64 bank = lane % 16 / 4;
                  return lane < 16 && (bank == 1 || bank == 2) ? lane ^ 1 : kNoLane;
                }),
          moves("v_mov_b32_dpp v10, v2 dpp8:[7,6,5,4,3,2,1,0]", [](u64 lane) { return lane ^ 7; }),
          // With bound_ctrl, reading a lane out of bounds returns 0.
          {"v_mov_b32 v10, 7\nv_mov_b32_dpp v10, v2 row_shl:15 row_mask:0xf bank_mask:0xf "
           "bound_ctrl:1",
           [](u64 lane, u64, u64) { return lane % 16 == 0 ? 1000 + lane + 15 : 0; }},
          // A lane that EXEC disables is invalid, unless inactive lanes are fetched.
          moves("s_mov_b32 exec_lo, 0x55555555\n"
                "v_mov_b32_dpp v10, v2 row_xmask:1 row_mask:0xf bank_mask:0xf\n"
                "s_mov_b32 exec_lo, -1",
                [](u64) { return kNoLane; }),
          moves("s_mov_b32 exec_lo, 0x55555555\n"
                "v_mov_b32_dpp v10, v2 row_xmask:1 row_mask:0xf bank_mask:0xf fi:1\n"
                "s_mov_b32 exec_lo, -1",
                [](u64 lane) { return lane % 2 == 0 ? lane ^ 1 : kNoLane; }),
          // The other operand stays in its lane.
          {"v_add_nc_u32_dpp v10, v2, v0 row_xmask:3 row_mask:0xf bank_mask:0xf",
           [](u64 lane, u64, u64) { return 1000 + (lane ^ 3) + lane; }},
          // A sum of rows, as compilers generate it.
          {"v_mov_b32 v10, v0\n"
           "v_add_nc_u32_dpp v10, v10, v10 row_xmask:1 row_mask:0xf bank_mask:0xf\n"
           "v_add_nc_u32_dpp v10, v10, v10 row_xmask:2 row_mask:0xf bank_mask:0xf\n"
           "v_add_nc_u32_dpp v10, v10, v10 row_xmask:4 row_mask:0xf bank_mask:0xf\n"
           "v_add_nc_u32_dpp v10, v10, v10 row_xmask:8 row_mask:0xf bank_mask:0xf",
           [](u64 lane, u64, u64) { return u64{lane < 16 ? 120u : 376u}; }},
      },
      lane_inputs());
}

TEST(GfxCrossLane, LanesByNumber) {
  HALYARD_NEEDS_ASSEMBLER();
  check_gfx_cases(
      {
          {"v_readlane_b32 s20, v2, 5\nv_mov_b32 v10, s20",
           [](u64, u64, u64) { return u64{1005}; }},
          {"s_mov_b32 s21, 37\nv_readlane_b32 s20, v2, s21\nv_mov_b32 v10, s20",
           [](u64, u64, u64) { return u64{1005}; }},
          {"s_mov_b32 exec_lo, 0xff00\nv_readfirstlane_b32 s20, v2\ns_mov_b32 exec_lo, -1\n"
           "v_mov_b32 v10, s20",
           [](u64, u64, u64) { return u64{1008}; }},
          {"v_mov_b32 v10, 3\ns_mov_b32 exec_lo, 0\nv_writelane_b32 v10, 9, 30\n"
           "s_mov_b32 exec_lo, -1",
           [](u64 lane, u64, u64) { return u64{lane == 30 ? 9u : 3u}; }},
          {"s_mov_b32 s20, 0x76543210\ns_mov_b32 s21, 0x0edcba98\n"
           "v_permlane16_b32 v10, v2, s20, s21",
           [](u64 lane, u64, u64) {
             return 1000 + (lane & 16) + (lane % 16 == 15 ? 0 : lane % 16);
           }},
          {"s_mov_b32 s20, 0x01234567\ns_mov_b32 s21, 0x89abcdef\n"
           "v_permlanex16_b32 v10, v2, s20, s21",
           [](u64 lane, u64, u64) {
             const u64 in_row = lane % 16;
             const u64 select = in_row < 8 ? 7 - in_row : 15 - (in_row - 8);
             return 1000 + ((lane & 16) ^ 16) + select;
           }},
          {"v_mbcnt_lo_u32_b32 v10, 0x0f0f0f0f, v0\nv_mbcnt_hi_u32_b32 v10, -1, v10",
           [](u64 lane, u64, u64) {
             return lane + static_cast<u64>(std::popcount(0x0f0f0f0fu & ((u32{1} << lane) - 1)));
           }},
          // Operations of LDS's crossbar.
          {"v_xor_b32 v6, 5, v0\nv_lshlrev_b32 v6, 2, v6\nds_bpermute_b32 v10, v6, v2\n"
           "s_waitcnt lgkmcnt(0)",
           [](u64 lane, u64, u64) { return 1000 + (lane ^ 5); }},
          {"v_lshlrev_b32 v6, 1, v0\nv_and_b32 v6, 0x3c, v6\nds_permute_b32 v10, v6, v2\n"
           "s_waitcnt lgkmcnt(0)",
           // Two lanes name one target, the highest wins; other targets get 0.
           [](u64 lane, u64, u64) { return lane < 16 ? 1000 + 2 * lane + 1 : 0; }},
          {"ds_swizzle_b32 v10, v2 offset:swizzle(BITMASK_PERM, \"01p0i\")\n"
           "s_waitcnt lgkmcnt(0)",
           [](u64 lane, u64, u64) { return 1000 + (8 | (lane & 4) | ((lane & 1) ^ 1)); }},
          {"ds_swizzle_b32 v10, v2 offset:swizzle(QUAD_PERM, 1, 0, 3, 2)\ns_waitcnt lgkmcnt(0)",
           [](u64 lane, u64, u64) { return 1000 + (lane ^ 1); }},
          {"ds_swizzle_b32 v10, v2 offset:swizzle(REVERSE, 8)\ns_waitcnt lgkmcnt(0)",
           [](u64 lane, u64, u64) { return 1000 + (lane ^ 7); }},
          {"v_mov_b32 v6, 1\nv_mov_b32 v7, 2\nv_swap_b32 v6, v7\nv_lshl_or_b32 v10, v6, 4, v7",
           [](u64, u64, u64) { return u64{0x21}; }},
          // Both instructions of a pair read before either writes.
          {"v_mov_b32 v6, v0\nv_mov_b32 v7, v2\n"
           "v_dual_mov_b32 v6, v7 :: v_dual_mov_b32 v7, v6\nv_sub_nc_u32 v10, v6, v7",
           [](u64, u64, u64) { return u64{1000}; }},
      },
      lane_inputs());
}

std::uint16_t half_of(int value) {  // small integers
  if (value == 0) return 0;
  const bool negative = value < 0;
  const auto magnitude = static_cast<unsigned>(std::abs(value));
  const int exponent = std::bit_width(magnitude) - 1;
  return static_cast<std::uint16_t>((negative ? 0x8000 : 0) | (exponent + 15) << 10 |
                                    ((magnitude << (10 - exponent)) & 0x3ff));
}
std::uint16_t bfloat_of(int value) {
  return static_cast<std::uint16_t>(std::bit_cast<u32>(static_cast<float>(value)) >> 16);
}

// Memory of A, B and C by lane and register, and of D.
struct Product {
  int a[16][16], b[16][16], c[16][16];
  explicit Product(int range) {
    std::mt19937 random(3);
    const auto number = [&] { return static_cast<int>(random() % (2 * range + 1)) - range; };
    for (int i = 0; i < 16; ++i) {
      for (int k = 0; k < 16; ++k) {
        a[i][k] = number();
        b[i][k] = number();
        c[i][k] = number();
      }
    }
  }
  int d(int row, int column) const {
    int sum = c[row][column];
    for (int k = 0; k < 16; ++k) sum += a[row][k] * b[k][column];
    return sum;
  }
};

// Runs the product; `put` packs 16 elements into registers, `c` gives a register of C.
std::vector<u32> run_product(const Product& product, const std::string& opcode, unsigned registers,
                             auto put, auto c_bits, const std::string& modifiers = {}) {
  GfxSource source;
  std::string& body = source.body;
  body = R"(s_load_b128 s[4:7], s[0:1], 0
v_and_b32 v0, 0x3ff, v0
v_lshlrev_b32 v1, 7, v0
s_waitcnt lgkmcnt(0)
)";
  for (int i = 0; i < 6; ++i) {
    const std::string first = std::to_string(16 + 4 * i), last = std::to_string(19 + 4 * i);
    body += "global_load_b128 v[" + first + ":" + last +
            "], v1, s[4:5] offset:" + std::to_string(16 * i) + "\n";
  }
  const auto range = [](unsigned first, unsigned count) {
    return "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
  };
  body += "s_waitcnt vmcnt(0)\n" + opcode + " v[32:39], " + range(16, registers) + ", " +
          range(24, registers) + ", v[32:39]" + modifiers +
          "\nglobal_store_b128 v1, v[32:35], s[6:7]\nglobal_store_b128 v1, v[36:39], s[6:7] "
          "offset:16\n";
  GfxModule module(source);
  std::vector<u32> results(32 * 8);
  if (!module) return results;
  const std::uint64_t in = module.memory.add(32 * 128), out = module.memory.add(32 * 128);
  auto* const words = reinterpret_cast<u32*>(in);
  for (int lane = 0; lane < 32; ++lane) {
    int row[16], column[16];
    for (int k = 0; k < 16; ++k) {
      row[k] = product.a[lane % 16][k];
      column[k] = product.b[k][lane % 16];
    }
    put(row, words + 32 * lane);
    put(column, words + 32 * lane + 8);
    for (int r = 0; r < 8; ++r) {
      words[32 * lane + 16 + r] = c_bits(product.c[2 * r + lane / 16][lane % 16]);
    }
  }
  gfx::Options options;
  options.strict = true;
  const gfx::Outcome outcome = module.run("test", {1, 1, 1}, {32, 1, 1}, {in, out}, options);
  EXPECT_EQ(outcome.kind, gfx::OutcomeKind::kOk) << outcome.message;
  for (const auto& finding : outcome.findings) ADD_FAILURE() << finding.message;
  for (int lane = 0; lane < 32; ++lane) {
    std::memcpy(&results[8 * lane], reinterpret_cast<const u32*>(out) + 32 * lane, 32);
  }
  return results;
}

template <class F>
void expect_product(const Product& product, const std::vector<u32>& results, F bits) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int r = 0; r < 8; ++r) {
      ASSERT_EQ(results[8 * lane + r], bits(product.d(2 * r + lane / 16, lane % 16)))
          << "lane " << lane << ", register " << r;
    }
  }
}

TEST(GfxCrossLane, ProductsOfMatrices) {
  HALYARD_NEEDS_ASSEMBLER();
  const auto pack16 = [](auto convert) {
    return [convert](const int(&values)[16], u32* words) {
      for (int i = 0; i < 8; ++i) {
        words[i] = convert(values[2 * i]) | u32{convert(values[2 * i + 1])} << 16;
      }
    };
  };
  const auto as_float = [](int value) { return std::bit_cast<u32>(static_cast<float>(value)); };
  const Product small(9);
  expect_product(small, run_product(small, "v_wmma_f32_16x16x16_f16", 8, pack16(half_of), as_float),
                 as_float);
  expect_product(small,
                 run_product(small, "v_wmma_f32_16x16x16_bf16", 8, pack16(bfloat_of), as_float),
                 as_float);
  const auto as_half = [](int value) { return u32{half_of(value)}; };
  expect_product(small, run_product(small, "v_wmma_f16_16x16x16_f16", 8, pack16(half_of), as_half),
                 as_half);
  const Product tiny(2);
  const auto as_bfloat = [](int value) { return u32{bfloat_of(value)}; };
  expect_product(tiny,
                 run_product(tiny, "v_wmma_bf16_16x16x16_bf16", 8, pack16(bfloat_of), as_bfloat),
                 as_bfloat);
}

TEST(GfxCrossLane, ProductsOfMatricesOfIntegers) {
  HALYARD_NEEDS_ASSEMBLER();
  const auto pack = [](int bits) {
    return [bits](const int(&values)[16], u32* words) {
      for (int i = 0; i < 16; ++i) {
        u32& word = words[i * bits / 32];
        if (i * bits % 32 == 0) word = 0;
        word |= (static_cast<u32>(values[i]) & ((u32{1} << bits) - 1)) << (i * bits % 32);
      }
    };
  };
  const auto as_int = [](int value) { return static_cast<u32>(value); };
  const Product bytes(127), nibbles(7);
  expect_product(
      bytes, run_product(bytes, "v_wmma_i32_16x16x16_iu8", 4, pack(8), as_int, " neg_lo:[1,1,0]"),
      as_int);
  expect_product(
      nibbles,
      run_product(nibbles, "v_wmma_i32_16x16x16_iu4", 2, pack(4), as_int, " neg_lo:[1,1,0]"),
      as_int);
}

}  // namespace
}  // namespace halyard::testing
