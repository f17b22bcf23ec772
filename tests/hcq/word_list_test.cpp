// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words of commands, and the places of their fields.
#include "hcq/word_list.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace halyard::hcq {
namespace {

std::vector<std::uint32_t> segment(const WordList& list, std::size_t number) {
  const auto words = list.segment(number);
  return {words.begin(), words.end()};
}

using Words = std::vector<std::uint32_t>;

class OneBlock final : public WordList::BlockMemory {
 public:
  Result<DeviceSpan> allocate(std::size_t size, std::size_t alignment) override {
    EXPECT_LE(size, memory.size());
    EXPECT_EQ(alignment, 256u);
    return DeviceSpan{memory.data(), 0x7000, size};
  }
  alignas(256) std::array<std::byte, 256> memory{};
};

TEST(WordList, FieldsStandWhereTheyWereAppended) {
  WordList list;
  list.begin_command();
  list.word(0xc0);
  list.field32({FieldRole::kGridX, 5}, 8, 0xff00, 0x11);
  list.field64({FieldRole::kTarget, 0x1234'5678'9abc});
  EXPECT_EQ(segment(list, 0), (Words{0xc0, 0x511, 0x5678'9abc, 0x1234}));
}

TEST(WordList, WriteChangesTheBitsOfItsPlaceAlone) {
  WordList list;
  list.begin_command();
  list.field32({FieldRole::kLocalX, 3}, 0, 0xffff, 0x7777'0000);
  list.field32({FieldRole::kTarget, 0x40'0000'0200}, -8);
  for (const FieldPlace& place : list.places()) {
    list.write(place, place.field.role == FieldRole::kLocalX ? 0x1'0009 : 0x50'0000'0300);
  }
  EXPECT_EQ(segment(list, 0), (Words{0x7777'0009, 0x5000'0003}));
}

TEST(WordList, AScaledFieldIsItsOperandTimesTheScale) {
  WordList list;
  list.begin_command();
  list.field32({FieldRole::kGridX, 7, 64});
  EXPECT_EQ(segment(list, 0), Words{448});
  EXPECT_EQ(list.places()[0].field.scale, 64u);
}

TEST(WordList, AFieldMayHaveAnOffset) {
  WordList list;
  list.begin_command();
  list.field32({FieldRole::kSize, 4096, 1, 0 - std::uint64_t{1}}, 0, 0xffff);
  EXPECT_EQ(segment(list, 0), Words{4095});
  const FieldPlace& place = list.places()[0];
  list.write(place, place.field.value(256));
  EXPECT_EQ(segment(list, 0), Words{255});
}

TEST(WordList, AWordMayHoldSeveralFields) {
  WordList list;
  list.begin_command();
  list.words(Words{1, 0xff00'0000});
  const FieldPlace place{{FieldRole::kLocalX, 0x12}, 0, 0, 4, 4, false, 0, 0xff};
  list.field_at(place);
  FieldPlace other = place;
  other.field = {FieldRole::kLocalY, 0x34};
  other.shift = 8;
  other.mask = 0xff00;
  list.field_at(other);
  EXPECT_EQ(segment(list, 0), (Words{1, 0xff00'3412}));
  list.write(list.places()[1], 0);
  EXPECT_EQ(segment(list, 0), (Words{1, 0xff00'0012}));
}

TEST(WordList, SegmentsEndWhereTheyAreTold) {
  WordList list;
  list.begin_command();
  list.words(Words{1, 2});
  list.end_segment();
  list.end_segment();
  list.begin_command();
  list.field32({FieldRole::kSignal, 3});
  ASSERT_EQ(list.segment_count(), 2u);
  EXPECT_EQ(segment(list, 0), (Words{1, 2}));
  EXPECT_EQ(segment(list, 1), Words{3});
  list.write(list.places()[0], 4);
  EXPECT_EQ(segment(list, 1), Words{4});
  EXPECT_EQ(list.places()[0].command, 1u);
}

TEST(WordList, FieldsOfABlockAreInTheMemoryOfTheDevice) {
  OneBlock memory;
  WordList list(&memory);
  list.begin_command();
  const Result<std::uint32_t> block = list.block(256, 256);
  ASSERT_TRUE(block.ok());
  list.block_bits(*block, 8, 4, 0xffff'ffff);
  list.block_field(*block, 8, 4, {FieldRole::kGridY, 0x12}, 4, 0xff0);
  EXPECT_EQ(memory.memory[8], std::byte{0x2f});
  EXPECT_EQ(memory.memory[9], std::byte{0xf1});
  EXPECT_EQ(memory.memory[12], std::byte{0});
  list.write(list.places()[0], 0);
  EXPECT_EQ(memory.memory[8], std::byte{0x0f});
  EXPECT_EQ(list.block_span(*block).address, 0x7000u);
}

TEST(WordList, WithoutMemoryThereAreNoBlocks) {
  WordList list;
  EXPECT_EQ(list.block(64, 64).status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace halyard::hcq
