// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decoder of gfx1100, by itself and against LLVM's assembler.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim_gfx/llvm_mc.h"
#include "sim_gfx/random_words.h"
#include "simulation/hip/gfx/decode.h"
#include "simulation/hip/gfx/print.h"

namespace halyard::testing {
namespace {

using namespace sim::gfx;  // NOLINT: names of the layer under test

std::span<const Instruction> instructions(const Decoded& decoded) {
  return std::span(decoded.instructions).first(decoded.count);
}

Instruction decode_one(const Words& words) {
  const Decoded decoded = decode(words);
  EXPECT_EQ(decoded.count, 1u) << decoded.error;
  return decoded.instructions[0];
}

std::string refusal(const Words& words) {
  const Decoded decoded = decode(words);
  EXPECT_EQ(decoded.count, 0u) << print(instructions(decoded));
  return decoded.error;
}

// ---- By itself
// -----------------------------------------------------------------------------------

TEST(GfxDecode, OneOpcodeForAllEncodingsOfAnOperation) {
  const Instruction vop2 = decode_one({0x06040501});              // v_add_f32_e32 v2, s1, v2
  const Instruction vop3 = decode_one({0xd5030002, 0x00000401});  // v_add_f32_e64 v2, s1, s2
  const Instruction dpp = decode_one({0x060404fa, 0xff001b01});   // v_add_f32_dpp
  const Decoded dual = decode(Words{0xc9080501, 0x02000302});     // v_dual_add :: v_dual_add
  EXPECT_EQ(vop2.opcode, Opcode::v_add_f32);
  EXPECT_EQ(vop3.opcode, Opcode::v_add_f32);
  EXPECT_EQ(dpp.opcode, Opcode::v_add_f32);
  ASSERT_EQ(dual.count, 2u) << dual.error;
  EXPECT_EQ(dual.instructions[0].opcode, Opcode::v_add_f32);
  EXPECT_EQ(dual.instructions[1].opcode, Opcode::v_add_f32);
}

TEST(GfxDecode, ConstantsHaveTheBitsOfTheirOperandsType) {
  // 242 is 1.0 and 193 is -1.
  EXPECT_EQ(decode_one({0x060404f2}).sources[0].bits, 0x3f800000u);  // v_add_f32
  EXPECT_EQ(decode_one({0x640404f2}).sources[0].bits, 0x3c00u);      // v_add_f16
  EXPECT_EQ(decode_one({0xd7270002, 0x000208f2}).sources[0].bits, 0x3ff0'0000'0000'0000u);  // f64
  EXPECT_EQ(decode_one({0xbe8201f2}).sources[0].bits, 0x3ff0'0000'0000'0000u);  // s_mov_b64
  EXPECT_EQ(decode_one({0x360404c1}).sources[0].bits, ~std::uint64_t{0});       // v_and_b32
  // Literals: the high half of an f64, all of an f32, the low half of an f16.
  EXPECT_EQ(decode_one({0xd7270002, 0x000208ff, 0x40080000}).sources[0].bits,
            0x4008'0000'0000'0000u);
  EXPECT_EQ(decode_one({0x060404ff, 0x12345678}).sources[0].bits, 0x12345678u);
  EXPECT_EQ(decode_one({0x640404ff, 0x12345678}).sources[0].bits, 0x5678u);
}

TEST(GfxDecode, ImpliedOperandsAreThere) {
  const Instruction select = decode_one({0x02040501});  // v_cndmask_b32_e32
  EXPECT_EQ(select.sources[2].index, kVccLow);
  const Instruction compare = decode_one({0x7c220501});  // v_cmp_lt_f32_e32
  EXPECT_EQ(compare.destination.index, kVccLow);
  const Instruction compare_exec = decode_one({0x7d220501});  // v_cmpx_lt_f32_e32
  EXPECT_EQ(compare_exec.destination.index, kExecLow);
  const Instruction accumulate = decode_one({0x56040501});  // v_fmac_f32_e32 v2
  EXPECT_EQ(accumulate.sources[2], accumulate.destination);
  const Instruction carry = decode_one({0x40040501});  // v_add_co_ci_u32_e32
  EXPECT_EQ(carry.second_destination.index, kVccLow);
  EXPECT_EQ(carry.sources[2].index, kVccLow);
}

TEST(GfxDecode, FusedConstantsStandWhereTheyAreMultipliedOrAdded) {
  const Instruction multiplied = decode_one({0x58040501, 0x40000000});  // v_fmamk_f32
  EXPECT_EQ(multiplied.sources[1].bits, 0x40000000u);
  EXPECT_EQ(multiplied.sources[2].index, 2u);
  const Instruction added = decode_one({0x5a040501, 0x40000000});  // v_fmaak_f32
  EXPECT_EQ(added.sources[2].bits, 0x40000000u);
  EXPECT_EQ(added.sources[1].index, 2u);
}

TEST(GfxDecode, HalvesOf16BitRegisters) {
  const Instruction vop1 = decode_one({0x7f043981});  // v_mov_b16_e32 v2.h, v1.h
  EXPECT_TRUE(vop1.destination.high);
  EXPECT_EQ(vop1.destination.index, 2u);
  EXPECT_TRUE(vop1.sources[0].high);
  EXPECT_EQ(vop1.sources[0].index, 1u);
  const Instruction moved = decode_one({0xd59c4802, 0x00000101});  // v_mov_b16_e64 v2.h, v1.h
  EXPECT_EQ(moved.opcode, Opcode::v_mov_b16);
  EXPECT_EQ(moved.destination, vop1.destination);
  EXPECT_EQ(moved.sources[0], vop1.sources[0]);
  const Instruction swapped = decode_one({0x7f04cd01});  // v_swap_b16 v2.h, v1.l
  EXPECT_EQ(swapped.opcode, Opcode::v_swap_b16);
  EXPECT_TRUE(swapped.destination.high);
  EXPECT_FALSE(swapped.sources[0].high);
  const Instruction vop3 = decode_one({0xd5325002, 0x00020501});  // v_add_f16_e64 op_sel:[0,1,1]
  EXPECT_FALSE(vop3.sources[0].high);
  EXPECT_TRUE(vop3.sources[1].high);
  EXPECT_TRUE(vop3.destination.high);
}

TEST(GfxDecode, WaitCountsWithAllBitsSetDoNotWait) {
  const Instruction wait = decode_one({0xbf8903f7});  // vmcnt(0)
  EXPECT_EQ(wait.wait.vector_loads, 0u);
  EXPECT_EQ(wait.wait.scalar_and_lds, WaitCounts::kAny);
  EXPECT_EQ(wait.wait.exports, WaitCounts::kAny);
  const Instruction stores = decode_one({0xbc7c0000});  // s_waitcnt_vscnt null, 0x0
  EXPECT_EQ(stores.wait.vector_stores, 0u);
}

TEST(GfxDecode, AtomicsHaveAResultWhereItIsAskedFor) {
  EXPECT_FALSE(decode_one({0xdcd60000, 0x007c0100}).destination);  // global_atomic_add_u32
  EXPECT_TRUE(decode_one({0xdcd64000, 0x007c0100}).destination);   // the same, glc
  EXPECT_FALSE(decode_one({0xd8000000, 0x00000100}).destination);  // ds_add_u32
  EXPECT_TRUE(decode_one({0xd8800000, 0x00000100}).destination);   // ds_add_rtn_u32
  EXPECT_TRUE(decode_one({0xd8b40000, 0x00000100}).destination);   // ds_storexchg_rtn_b32
}

TEST(GfxDecode, UnusedFieldsAreIgnored) {
  // Newer versions of LLVM write 0x80 for the source that v_ldexp_f32 lacks.
  const Instruction plain = decode_one({0xd71c0000, 0x00020501});
  EXPECT_EQ(decode_one({0xd71c0000, 0x02020501}), plain);
}

TEST(GfxDecode, WhatIsRefusedIsNamedWithItsWords) {
  EXPECT_EQ(refusal({0xe0000000, 0x80000000}),
            "0xe0000000 0x80000000: buffer_load_format_x is not built");
  EXPECT_EQ(refusal({0xd5030802, 0x00000401}),
            "0xd5030802 0x00000401: v_add_f32 with op_sel of source 0");
  EXPECT_EQ(refusal({0xd5250102, 0x00000401}),
            "0xd5250102 0x00000401: v_add_nc_u32 with a sign modifier of source 0");
  EXPECT_EQ(refusal({0x060404fe}), "0x060404fe: a source is lds_direct, which is not built");
  EXPECT_EQ(refusal({0x060404f9, 0}), "0x060404f9: a source is by SDWA, which gfx11 does not have");
  EXPECT_EQ(refusal({0xbe830105}),
            "0xbe830105: 2 scalar registers from number 3 on do not go together");
  EXPECT_EQ(refusal({0xf0000000, 0}), "0xf0000000: an instruction MIMG");
  EXPECT_EQ(refusal({0x060404ff}), "0x060404ff: the code ends within the instruction");
  EXPECT_EQ(refusal({0xd8020000, 0x00000100}),
            "0xd8020000 0x00000100: ds_add_u32 of GDS is not built");
}

TEST(GfxDecode, AnyWordsGiveAnInstructionOrAReason) {
  RandomWords random(11);
  for (unsigned i = 0; i != 200'000; ++i) {
    const Words words = random.any();
    for (std::size_t size = 0; size <= words.size(); ++size) {
      const Decoded decoded = decode(std::span(words).first(size));
      if (decoded.count == 0) {
        ASSERT_FALSE(decoded.error.empty());
      } else {
        ASSERT_LE(decoded.instructions[0].size, size * 4);
        ASSERT_FALSE(print(instructions(decoded)).empty());
      }
    }
  }
}

// ---- Against LLVM
// --------------------------------------------------------------------------------

// An instruction without the differences that do not matter, such as the encoding of a constant.
Instruction meaning(Instruction instruction) {
  for (Operand& operand : instruction.sources) {
    operand.encoded = 0;
    if (operand.is(OperandKind::kConstant) && bits_of(operand.type) < 64) {
      operand.bits &= (std::uint64_t{1} << bits_of(operand.type)) - 1;
    }
  }
  instruction.size = 0;
  return instruction;
}

bool mean_the_same(const Decoded& a, const Decoded& b) {
  return a.count == b.count && a.count != 0 &&
         meaning(a.instructions[0]) == meaning(b.instructions[0]) &&
         (a.count == 1 || meaning(a.instructions[1]) == meaning(b.instructions[1]));
}

// Operations that the processor has and this assembler lacks.
bool is_unknown_to_llvm(const EncodingEntry& entry) {
  return entry.opcode == Opcode::v_swap_b16 ||
         (entry.encoding == Encoding::kVop3 &&
          (entry.opcode == Opcode::v_mov_b16 || entry.opcode == Opcode::v_readfirstlane_b32));
}

// LLVM 19 assembles no halves of 16-bit registers but for v_mov_b16, no literals of 64 bits with a
// sign, and no literals of v_fma_mix_f32 beyond 16 bits.
bool has_no_text_in_llvm(const Decoded& decoded) {
  for (const Instruction& instruction : instructions(decoded)) {
    const EncodingEntry entry{instruction.encoding, 0, instruction.opcode};
    if (is_unknown_to_llvm(entry)) return true;
    const bool is_packed = instruction.encoding == Encoding::kVop3p;
    if (instruction.destination.high && !is_packed) return true;
    for (const Operand& source : instruction.sources) {
      if (source.high && !is_packed) return true;
      if (!source.is(OperandKind::kConstant)) continue;
      if (source.type == Type::kF64 && (source.negate || source.absolute)) return true;
      if (source.type == Type::kMix && source.bits > 0xffff) return true;
    }
  }
  return false;
}

// Errors of operand combinations: too many scalar values or literals, or registers of the same
// bank.
bool is_combination(const std::string& error) {
  return error.find("constant bus") != std::string::npos ||
         error.find("different VGPR banks") != std::string::npos ||
         error.find("unique literal") != std::string::npos;
}

enum class Verdict { kSame, kBothRefuse, kOnlyLlvm, kNotAssembled, kWrong };

struct Comparison {
  Words words;
  Verdict verdict = Verdict::kWrong;
  std::string text;  // our text, and its defect
};

std::vector<Comparison> compare(const std::vector<Words>& all) {
  std::vector<Decoded> decoded;
  std::vector<Words> exact;
  std::vector<std::string> texts;
  for (const Words& words : all) {
    decoded.push_back(decode(words));
    const Decoded& one = decoded.back();
    const std::size_t size =
        one.count == 0 ? size_in_words(words) : one.instructions[0].size / std::size_t{4};
    exact.push_back({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(size)});
    texts.push_back(one.count == 0 ? "s_nop 0" : print(instructions(one)));
  }
  const std::vector<std::string> theirs = disassemble(exact);
  const std::vector<Assembled> assembled = assemble(texts);
  std::vector<std::string> their_texts;
  for (const std::string& text : theirs) their_texts.push_back(text.empty() ? "s_nop 0" : text);
  const std::vector<Assembled> their_assembled = assemble(their_texts);

  std::vector<Comparison> results;
  for (std::size_t i = 0; i != all.size(); ++i) {
    Comparison& result = results.emplace_back();
    result.words = exact[i];
    result.text = decoded[i].count == 0 ? decoded[i].error : texts[i];
    if (decoded[i].count == 0) {
      result.verdict = theirs[i].empty() ? Verdict::kBothRefuse : Verdict::kOnlyLlvm;
    } else if (assembled[i].words.empty()) {
      // LLVM refuses invalid combinations of operands when it assembles, but not when it
      // disassembles.
      const bool is_excused = has_no_text_in_llvm(decoded[i]) ||
                              is_combination(assembled[i].error) ||
                              (!theirs[i].empty() && their_assembled[i].words.empty());
      result.verdict = is_excused ? Verdict::kNotAssembled : Verdict::kWrong;
      result.text += ": " + assembled[i].error;
    } else if (assembled[i].words == exact[i]) {
      result.verdict = Verdict::kSame;
    } else {
      // Unused fields may differ, or the encoding of a constant.
      const bool is_same = mean_the_same(decode(assembled[i].words), decoded[i]) &&
                           (theirs[i].empty() || their_assembled[i].words.empty() ||
                            mean_the_same(decode(their_assembled[i].words), decoded[i]));
      result.verdict = is_same ? Verdict::kSame : Verdict::kWrong;
      result.text += ", LLVM: " + theirs[i];
    }
  }
  return results;
}

void report(const Comparison& result) {
  std::string words;
  for (const std::uint32_t word : result.words) {
    char text[16];
    std::snprintf(text, sizeof text, " 0x%08x", word);
    words += text;
  }
  ADD_FAILURE() << words << ": " << result.text;
}

class GfxDecodeAgainstLlvm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_llvm_mc()) GTEST_SKIP() << "llvm-mc is not installed";
  }
};

TEST_F(GfxDecodeAgainstLlvm, EveryOpcodeInEveryEncodingAssemblesToItsWords) {
  constexpr unsigned kVariations = 48;
  RandomWords random(1);
  std::vector<Words> all;
  std::vector<EncodingEntry> entries;
  std::ranges::remove_copy_if(encoding_table(), std::back_inserter(entries), is_unknown_to_llvm);
  for (const EncodingEntry& entry : entries) {
    for (unsigned i = 0; i != kVariations; ++i) {
      all.push_back(random.of(entry.encoding, entry.number));
    }
  }
  const std::vector<Comparison> results = compare(all);
  std::size_t same = 0, wrong = 0, index = 0;
  for (const EncodingEntry& entry : entries) {
    bool is_confirmed = false;
    for (unsigned i = 0; i != kVariations; ++i) {
      const Comparison& result = results[index++];
      is_confirmed = is_confirmed || result.verdict == Verdict::kSame;
      same += result.verdict == Verdict::kSame ? 1 : 0;
      if (result.verdict == Verdict::kWrong && ++wrong <= 20) report(result);
    }
    EXPECT_TRUE(is_confirmed) << facts_of(entry.opcode).name << " as " << to_string(entry.encoding)
                              << ": no variation was assembled";
  }
  EXPECT_EQ(wrong, 0u);
  RecordProperty("entries", static_cast<int>(entries.size()));
  RecordProperty("same", static_cast<int>(same));
}

TEST_F(GfxDecodeAgainstLlvm, RandomWordsMeanTheSameOrAreRefused) {
  RandomWords random(2);
  std::vector<Words> all;
  for (unsigned i = 0; i != 30'000; ++i) all.push_back(random.any());
  // Includes opcode numbers that are not in the table.
  for (unsigned encoding = 0; encoding <= static_cast<unsigned>(Encoding::kMubuf); ++encoding) {
    for (unsigned i = 0; i != 2000; ++i) {
      const auto numbers = std::map<Encoding, unsigned>{
          {Encoding::kSop1, 256},  {Encoding::kSop2, 96}, {Encoding::kSopk, 29},
          {Encoding::kVop3, 1024}, {Encoding::kVop2, 62}, {Encoding::kVopc, 256},
          {Encoding::kSmem, 256},  {Encoding::kDs, 256},  {Encoding::kMubuf, 256},
          {Encoding::kVopdX, 16},  {Encoding::kVopdY, 32}};
      const auto found = numbers.find(static_cast<Encoding>(encoding));
      const unsigned count = found == numbers.end() ? 128 : found->second;
      all.push_back(random.of(static_cast<Encoding>(encoding), i % count));
    }
  }
  std::map<Verdict, std::size_t> count;
  for (const Comparison& result : compare(all)) {
    if (++count[result.verdict] <= 20 && result.verdict == Verdict::kWrong) report(result);
  }
  EXPECT_EQ(count[Verdict::kWrong], 0u);
  EXPECT_GT(count[Verdict::kSame], 10'000u);
  EXPECT_GT(count[Verdict::kBothRefuse], 10'000u);
}

}  // namespace
}  // namespace halyard::testing
