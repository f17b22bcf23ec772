// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The positions of a QMD's fields against those that NVIDIA publishes in open-gpu-doc,
// classes/compute/: clc6c0qmd.h (V03_00), clcbc0qmd.h (V04_00), clcdc0qmd.h (V05_00).
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/nv/qmd.h"

namespace halyard::nv {
namespace {

using F = QmdField;

// Names without their prefix and MW(hi:lo); for those with an (i), element 0 and the stride.
constexpr std::string_view kV3 = R"(
QMD_GROUP_ID 133:128
SM_GLOBAL_CACHING_ENABLE 134:134
QMD_MAJOR_VERSION 583:580
SASS_VERSION 1663:1656
API_VISIBLE_CALL_LIMIT 378:378
SAMPLER_INDEX 382:382
INVALIDATE_TEXTURE_HEADER_CACHE 186:186
INVALIDATE_TEXTURE_SAMPLER_CACHE 187:187
INVALIDATE_TEXTURE_DATA_CACHE 188:188
INVALIDATE_SHADER_DATA_CACHE 189:189
INVALIDATE_INSTRUCTION_CACHE 190:190
INVALIDATE_SHADER_CONSTANT_CACHE 191:191
CWD_MEMBAR_TYPE 369:368
PROGRAM_ADDRESS_LOWER 1567:1536
PROGRAM_ADDRESS_UPPER 1584:1568
PROGRAM_PREFETCH_ADDR_LOWER_SHIFTED 287:256
PROGRAM_PREFETCH_SIZE 1649:1641
REGISTER_COUNT_V 656:648
BARRIER_COUNT 767:763
SHADER_LOCAL_MEMORY_LOW_SIZE 759:736
SHADER_LOCAL_MEMORY_HIGH_SIZE 1623:1600
SHARED_MEMORY_SIZE 561:544
MIN_SM_CONFIG_SHARED_MEM_SIZE 567:562
MAX_SM_CONFIG_SHARED_MEM_SIZE 574:569
TARGET_SM_CONFIG_SHARED_MEM_SIZE 662:657
SHARED_ALLOCATION_ENABLE 663:663
CTA_RASTER_WIDTH 415:384
CTA_RASTER_HEIGHT 431:416
CTA_RASTER_DEPTH 463:448
CTA_THREAD_DIMENSION0 607:592
CTA_THREAD_DIMENSION1 623:608
CTA_THREAD_DIMENSION2 639:624
CONSTANT_BUFFER_VALID(i) 640:640 +1
CONSTANT_BUFFER_INVALIDATE(i) 1074:1074 +64
CONSTANT_BUFFER_ADDR_LOWER(i) 1055:1024 +64
CONSTANT_BUFFER_ADDR_UPPER(i) 1072:1056 +64
CONSTANT_BUFFER_SIZE_SHIFTED4(i) 1087:1075 +64
DEPENDENT_QMD0_ENABLE 512:512
DEPENDENT_QMD0_ACTION 515:513
DEPENDENT_QMD0_PREFETCH 516:516
DEPENDENT_QMD0_POINTER 511:480
RELEASE0_ENABLE 823:823
RELEASE1_ENABLE 951:951
RELEASE0_STRUCTURE_SIZE 831:830
RELEASE1_STRUCTURE_SIZE 959:958
RELEASE0_PAYLOAD64B 829:829
RELEASE1_PAYLOAD64B 957:957
RELEASE0_ADDRESS_LOWER 799:768
RELEASE1_ADDRESS_LOWER 927:896
RELEASE0_ADDRESS_UPPER 807:800
RELEASE1_ADDRESS_UPPER 935:928
RELEASE0_PAYLOAD_LOWER 863:832
RELEASE1_PAYLOAD_LOWER 991:960
RELEASE0_PAYLOAD_UPPER 895:864
RELEASE1_PAYLOAD_UPPER 1023:992
)";

constexpr std::string_view kV4 = R"(
QMD_GROUP_ID 21:16
QMD_TYPE 25:23
QMD_MAJOR_VERSION 583:580
SASS_VERSION 543:536
API_VISIBLE_CALL_LIMIT 568:568
SAMPLER_INDEX 569:569
INVALIDATE_TEXTURE_HEADER_CACHE 602:602
INVALIDATE_TEXTURE_SAMPLER_CACHE 603:603
INVALIDATE_TEXTURE_DATA_CACHE 604:604
INVALIDATE_SHADER_DATA_CACHE 605:605
INVALIDATE_INSTRUCTION_CACHE 606:606
INVALIDATE_SHADER_CONSTANT_CACHE 607:607
CWD_MEMBAR_TYPE 1137:1136
PROGRAM_ADDRESS_LOWER 1247:1216
PROGRAM_ADDRESS_UPPER 1272:1248
PROGRAM_PREFETCH_ADDR_LOWER_SHIFTED 1375:1344
PROGRAM_PREFETCH_ADDR_UPPER_SHIFTED 1392:1376
PROGRAM_PREFETCH_SIZE 1401:1393
REGISTER_COUNT 1208:1200
BARRIER_COUNT 1215:1211
SHADER_LOCAL_MEMORY_LOW_SIZE 535:512
SHADER_LOCAL_MEMORY_HIGH_SIZE 567:544
SHARED_MEMORY_SIZE 601:584
MIN_SM_CONFIG_SHARED_MEM_SIZE 613:608
MAX_SM_CONFIG_SHARED_MEM_SIZE 619:614
TARGET_SM_CONFIG_SHARED_MEM_SIZE 625:620
SHARED_ALLOCATION_ENABLE 626:626
GRID_WIDTH 1055:1024
GRID_HEIGHT 1071:1056
GRID_DEPTH 1103:1088
CTA_THREAD_DIMENSION0 1167:1152
CTA_THREAD_DIMENSION1 1183:1168
CTA_THREAD_DIMENSION2 1199:1184
CONSTANT_BUFFER_VALID(i) 416:416 +4
CONSTANT_BUFFER_INVALIDATE(i) 419:419 +4
CONSTANT_BUFFER_ADDR_LOWER_SHIFTED6(i) 1567:1536 +64
CONSTANT_BUFFER_ADDR_UPPER_SHIFTED6(i) 1586:1568 +64
CONSTANT_BUFFER_SIZE_SHIFTED4(i) 1599:1587 +64
DEPENDENT_QMD_ENABLE(i) 368:368 +5
DEPENDENT_QMD_ACTION(i) 371:369 +5
DEPENDENT_QMD_PREFETCH(i) 372:372 +5
DEPENDENT_QMD0_POINTER 479:448
RELEASE_ENABLE(i) 320:320 +16
RELEASE_STRUCTURE_SIZE(i) 322:321 +16
RELEASE_PAYLOAD64B(i) 332:332 +16
RELEASE_SEMAPHORE0_ADDR_LOWER 671:640
RELEASE_SEMAPHORE1_ADDR_LOWER 799:768
RELEASE_SEMAPHORE0_ADDR_UPPER 696:672
RELEASE_SEMAPHORE1_ADDR_UPPER 824:800
RELEASE_SEMAPHORE0_PAYLOAD_LOWER 735:704
RELEASE_SEMAPHORE1_PAYLOAD_LOWER 863:832
RELEASE_SEMAPHORE0_PAYLOAD_UPPER 767:736
RELEASE_SEMAPHORE1_PAYLOAD_UPPER 895:864
)";

constexpr std::string_view kV5 = R"(
QMD_GROUP_ID 149:144
QMD_TYPE 153:151
QMD_MAJOR_VERSION 471:468
SASS_VERSION 455:448
API_VISIBLE_CALL_LIMIT 456:456
SAMPLER_INDEX 457:457
INVALIDATE_TEXTURE_HEADER_CACHE 472:472
INVALIDATE_TEXTURE_SAMPLER_CACHE 473:473
INVALIDATE_TEXTURE_DATA_CACHE 474:474
INVALIDATE_SHADER_DATA_CACHE 475:475
INVALIDATE_INSTRUCTION_CACHE 476:476
INVALIDATE_SHADER_CONSTANT_CACHE 477:477
CWD_MEMBAR_TYPE 625:624
PROGRAM_ADDRESS_LOWER_SHIFTED4 1055:1024
PROGRAM_ADDRESS_UPPER_SHIFTED4 1076:1056
PROGRAM_PREFETCH_ADDR_LOWER_SHIFTED 1919:1888
PROGRAM_PREFETCH_ADDR_UPPER_SHIFTED 1936:1920
PROGRAM_PREFETCH_SIZE 1085:1077
REGISTER_COUNT 1136:1128
BARRIER_COUNT 1141:1137
SHADER_LOCAL_MEMORY_LOW_SIZE_SHIFTED4 1199:1184
SHADER_LOCAL_MEMORY_HIGH_SIZE_SHIFTED4 1215:1200
SHARED_MEMORY_SIZE_SHIFTED7 1162:1152
MIN_SM_CONFIG_SHARED_MEM_SIZE 1168:1163
MAX_SM_CONFIG_SHARED_MEM_SIZE 1174:1169
TARGET_SM_CONFIG_SHARED_MEM_SIZE 1180:1175
SHARED_ALLOCATION_ENABLE 351:351
GRID_WIDTH 1279:1248
GRID_HEIGHT 1295:1280
GRID_DEPTH 1327:1312
CTA_THREAD_DIMENSION0 1103:1088
CTA_THREAD_DIMENSION1 1119:1104
CTA_THREAD_DIMENSION2 1127:1120
CONSTANT_BUFFER_VALID(i) 1856:1856 +4
CONSTANT_BUFFER_INVALIDATE(i) 1859:1859 +4
CONSTANT_BUFFER_ADDR_LOWER_SHIFTED6(i) 1375:1344 +64
CONSTANT_BUFFER_ADDR_UPPER_SHIFTED6(i) 1394:1376 +64
CONSTANT_BUFFER_SIZE_SHIFTED4(i) 1407:1395 +64
DEPENDENT_QMD0_ENABLE 336:336
DEPENDENT_QMD0_ACTION 339:337
DEPENDENT_QMD0_PREFETCH 340:340
DEPENDENT_QMD0_POINTER 415:384
RELEASE_ENABLE(i) 288:288 +16
RELEASE_STRUCTURE_SIZE(i) 290:289 +16
RELEASE_PAYLOAD64B(i) 300:300 +16
RELEASE_SEMAPHORE0_ADDR_LOWER 511:480
RELEASE_SEMAPHORE1_ADDR_LOWER 799:768
RELEASE_SEMAPHORE0_ADDR_UPPER 536:512
RELEASE_SEMAPHORE1_ADDR_UPPER 824:800
RELEASE_SEMAPHORE0_PAYLOAD_LOWER 575:544
RELEASE_SEMAPHORE1_PAYLOAD_LOWER 863:832
RELEASE_SEMAPHORE0_PAYLOAD_UPPER 607:576
RELEASE_SEMAPHORE1_PAYLOAD_UPPER 895:864
)";

// '#' stands for the index. A name with LOWER goes on with the one with UPPER, if that is above.
// One name is that of all versions; an empty one says that the version has no such field.
struct Names {
  QmdField field;
  unsigned count;
  std::vector<std::string_view> names;
};
const Names kNames[] = {
    {F::kGroupId, 1, {"QMD_GROUP_ID"}},
    {F::kType, 1, {"", "QMD_TYPE", "QMD_TYPE"}},
    {F::kSmGlobalCaching, 1, {"SM_GLOBAL_CACHING_ENABLE", "", ""}},
    {F::kMajorVersion, 1, {"QMD_MAJOR_VERSION"}},
    {F::kSassVersion, 1, {"SASS_VERSION"}},
    {F::kApiVisibleCallLimit, 1, {"API_VISIBLE_CALL_LIMIT"}},
    {F::kSamplerIndex, 1, {"SAMPLER_INDEX"}},
    {F::kInvalidateTextureHeaders, 1, {"INVALIDATE_TEXTURE_HEADER_CACHE"}},
    {F::kInvalidateTextureSamplers, 1, {"INVALIDATE_TEXTURE_SAMPLER_CACHE"}},
    {F::kInvalidateTextureData, 1, {"INVALIDATE_TEXTURE_DATA_CACHE"}},
    {F::kInvalidateShaderData, 1, {"INVALIDATE_SHADER_DATA_CACHE"}},
    {F::kInvalidateInstructions, 1, {"INVALIDATE_INSTRUCTION_CACHE"}},
    {F::kInvalidateConstants, 1, {"INVALIDATE_SHADER_CONSTANT_CACHE"}},
    {F::kMembar, 1, {"CWD_MEMBAR_TYPE"}},
    {F::kProgram,
     1,
     {"PROGRAM_ADDRESS_LOWER", "PROGRAM_ADDRESS_LOWER", "PROGRAM_ADDRESS_LOWER_SHIFTED4"}},
    {F::kPrefetchAddress,
     1,
     {"PROGRAM_PREFETCH_ADDR_LOWER_SHIFTED", "PROGRAM_PREFETCH_ADDR_LOWER_SHIFTED",
      "PROGRAM_PREFETCH_ADDR_LOWER_SHIFTED"}},
    {F::kPrefetchSize, 1, {"PROGRAM_PREFETCH_SIZE"}},
    {F::kRegisters, 1, {"REGISTER_COUNT_V", "REGISTER_COUNT", "REGISTER_COUNT"}},
    {F::kBarriers, 1, {"BARRIER_COUNT"}},
    {F::kLocalLow,
     1,
     {"SHADER_LOCAL_MEMORY_LOW_SIZE", "SHADER_LOCAL_MEMORY_LOW_SIZE",
      "SHADER_LOCAL_MEMORY_LOW_SIZE_SHIFTED4"}},
    {F::kLocalHigh,
     1,
     {"SHADER_LOCAL_MEMORY_HIGH_SIZE", "SHADER_LOCAL_MEMORY_HIGH_SIZE",
      "SHADER_LOCAL_MEMORY_HIGH_SIZE_SHIFTED4"}},
    {F::kShared, 1, {"SHARED_MEMORY_SIZE", "SHARED_MEMORY_SIZE", "SHARED_MEMORY_SIZE_SHIFTED7"}},
    {F::kMinSharedConfig, 1, {"MIN_SM_CONFIG_SHARED_MEM_SIZE"}},
    {F::kMaxSharedConfig, 1, {"MAX_SM_CONFIG_SHARED_MEM_SIZE"}},
    {F::kTargetSharedConfig, 1, {"TARGET_SM_CONFIG_SHARED_MEM_SIZE"}},
    {F::kSharedAllocation, 1, {"SHARED_ALLOCATION_ENABLE"}},
    {F::kGridX, 1, {"CTA_RASTER_WIDTH", "GRID_WIDTH", "GRID_WIDTH"}},
    {F::kGridY, 1, {"CTA_RASTER_HEIGHT", "GRID_HEIGHT", "GRID_HEIGHT"}},
    {F::kGridZ, 1, {"CTA_RASTER_DEPTH", "GRID_DEPTH", "GRID_DEPTH"}},
    {F::kGroupX, 1, {"CTA_THREAD_DIMENSION0"}},
    {F::kGroupY, 1, {"CTA_THREAD_DIMENSION1"}},
    {F::kGroupZ, 1, {"CTA_THREAD_DIMENSION2"}},
    {F::kBankValid, 8, {"CONSTANT_BUFFER_VALID(i)"}},
    {F::kBankInvalidate, 8, {"CONSTANT_BUFFER_INVALIDATE(i)"}},
    {F::kBankAddress,
     8,
     {"CONSTANT_BUFFER_ADDR_LOWER(i)", "CONSTANT_BUFFER_ADDR_LOWER_SHIFTED6(i)",
      "CONSTANT_BUFFER_ADDR_LOWER_SHIFTED6(i)"}},
    {F::kBankSize, 8, {"CONSTANT_BUFFER_SIZE_SHIFTED4(i)"}},
    {F::kDependentEnable,
     1,
     {"DEPENDENT_QMD0_ENABLE", "DEPENDENT_QMD_ENABLE(i)", "DEPENDENT_QMD0_ENABLE"}},
    {F::kDependentAction,
     1,
     {"DEPENDENT_QMD0_ACTION", "DEPENDENT_QMD_ACTION(i)", "DEPENDENT_QMD0_ACTION"}},
    {F::kDependentPrefetch,
     1,
     {"DEPENDENT_QMD0_PREFETCH", "DEPENDENT_QMD_PREFETCH(i)", "DEPENDENT_QMD0_PREFETCH"}},
    {F::kDependentAddress, 1, {"DEPENDENT_QMD0_POINTER"}},
    {F::kReleaseEnable, 2, {"RELEASE#_ENABLE", "RELEASE_ENABLE(i)", "RELEASE_ENABLE(i)"}},
    {F::kReleaseStructure,
     2,
     {"RELEASE#_STRUCTURE_SIZE", "RELEASE_STRUCTURE_SIZE(i)", "RELEASE_STRUCTURE_SIZE(i)"}},
    {F::kReleasePayload64,
     2,
     {"RELEASE#_PAYLOAD64B", "RELEASE_PAYLOAD64B(i)", "RELEASE_PAYLOAD64B(i)"}},
    {F::kReleaseAddress,
     2,
     {"RELEASE#_ADDRESS_LOWER", "RELEASE_SEMAPHORE#_ADDR_LOWER", "RELEASE_SEMAPHORE#_ADDR_LOWER"}},
    {F::kReleaseValue,
     2,
     {"RELEASE#_PAYLOAD_LOWER", "RELEASE_SEMAPHORE#_PAYLOAD_LOWER",
      "RELEASE_SEMAPHORE#_PAYLOAD_LOWER"}},
};

struct Range {
  unsigned high;
  unsigned low;
  unsigned stride;
};
using Positions = std::map<std::string, Range>;

Positions parse(std::string_view text) {
  Positions positions;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    Range range{};
    char separator = 0;
    if (!(words >> name >> range.high >> separator >> range.low)) continue;
    if (words >> separator) words >> range.stride;
    positions[name] = range;
  }
  return positions;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// The positions of a field's bits, from the lowest bit of its value on.
std::vector<unsigned> published_bits(const Positions& positions, std::string name, unsigned index) {
  std::vector<unsigned> bits;
  name = replaced(name, "#", std::to_string(index));
  const std::string upper = replaced(name, "LOWER", "UPPER");
  for (const std::string& part : std::set<std::string>{name, upper}) {
    const auto found = positions.find(part);
    if (found == positions.end()) continue;
    const Range& range = found->second;
    for (unsigned bit = range.low; bit <= range.high; ++bit)
      bits.push_back(bit + index * range.stride);
  }
  return bits;
}

unsigned published_shift(QmdField field, std::string_view name) {
  // Names of these two say nothing, or no number. They are addresses of 256-byte units: tinygrad.
  if (field == F::kPrefetchAddress || field == F::kDependentAddress) return 8;
  const std::size_t at = name.find("SHIFTED");
  return at == std::string_view::npos ? 0 : static_cast<unsigned>(name[at + 7] - '0');
}

std::vector<unsigned> bits_set(const Qmd& qmd) {
  std::vector<unsigned> bits;
  for (unsigned byte = 0; byte < qmd.bytes().size(); ++byte)
    for (unsigned bit = 0; bit < 8; ++bit)
      if ((qmd.bytes()[byte] >> bit & std::byte{1}) != std::byte{0}) bits.push_back(byte * 8 + bit);
  return bits;
}

class QmdPositions : public testing::TestWithParam<QmdVersion> {
 protected:
  const Positions positions =
      parse(std::array{kV3, kV4, kV5}[static_cast<std::size_t>(GetParam())]);
  std::string name(const Names& names) const {
    const std::size_t version = static_cast<std::size_t>(GetParam());
    return std::string(names.names.size() == 1 ? names.names[0] : names.names[version]);
  }
};

TEST_P(QmdPositions, EveryBitOfAFieldIsWhereTheHeaderHasIt) {
  std::size_t fields = 0;
  for (const Names& names : kNames) {
    EXPECT_EQ(static_cast<std::size_t>(names.field), fields++);
    const std::string name = this->name(names);
    SCOPED_TRACE(name);
    if (name.empty()) {
      EXPECT_EQ(Qmd(GetParam()).set(names.field, 0).code(), StatusCode::kInvalidArgument);
      continue;
    }
    const unsigned shift = published_shift(names.field, name);
    for (unsigned index = 0; index < names.count; ++index) {
      const std::vector<unsigned> bits = published_bits(positions, name, index);
      ASSERT_FALSE(bits.empty());
      for (unsigned i = 0; i < bits.size(); ++i) {
        Qmd qmd(GetParam());
        const std::uint64_t value = std::uint64_t{1} << (i + shift);
        ASSERT_TRUE(qmd.set(names.field, value, index).ok());
        ASSERT_EQ(bits_set(qmd), std::vector{bits[i]});
        ASSERT_EQ(qmd.get(names.field, index), value);
        ASSERT_TRUE(qmd.set(names.field, 0, index).ok());
        ASSERT_TRUE(bits_set(qmd).empty());
      }
    }
  }
  EXPECT_EQ(fields, static_cast<std::size_t>(F::kCount));
}

TEST_P(QmdPositions, WhatDoesNotFitIsRefused) {
  for (const Names& names : kNames) {
    const std::string name = this->name(names);
    if (name.empty()) continue;
    SCOPED_TRACE(name);
    const unsigned shift = published_shift(names.field, name);
    const auto width = static_cast<unsigned>(published_bits(positions, name, 0).size());
    Qmd qmd(GetParam());
    EXPECT_EQ(qmd.set(names.field, 0, names.count).code(), StatusCode::kInvalidArgument);
    if (width + shift < 64) {
      const Status status = qmd.set(names.field, std::uint64_t{1} << (width + shift));
      EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
      EXPECT_NE(status.message().find("does not fit"), std::string_view::npos);
    }
    if (shift != 0) {
      const Status status = qmd.set(names.field, std::uint64_t{1} << (shift - 1));
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
      EXPECT_NE(status.message().find("not a multiple"), std::string_view::npos);
    }
    EXPECT_TRUE(bits_set(qmd).empty());
  }
}

TEST_P(QmdPositions, NoTwoFieldsShareABit) {
  std::set<unsigned> taken;
  for (std::size_t field = 0; field < static_cast<std::size_t>(F::kCount); ++field) {
    const QmdBits& bits = qmd_bits(GetParam(), static_cast<QmdField>(field));
    for (unsigned index = 0; index < bits.count; ++index)
      for (unsigned i = 0; i < bits.width; ++i)
        EXPECT_TRUE(taken.insert(bits.first + index * bits.stride + i).second) << field;
  }
  EXPECT_LT(*taken.rbegin(), qmd_bytes(GetParam()) * 8);
}

INSTANTIATE_TEST_SUITE_P(Versions, QmdPositions,
                         testing::Values(QmdVersion::kV3, QmdVersion::kV4, QmdVersion::kV5),
                         [](const auto& version) {
                           return "V" + std::to_string(static_cast<int>(version.param) + 3);
                         });

}  // namespace
}  // namespace halyard::nv
