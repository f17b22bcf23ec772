// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole QMDs against golden words, launches in lists, chains, releases and updates of fields.
#include "drivers/nv/qmd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "drivers/nv/compute.h"
#include "words.h"

namespace halyard::nv {
namespace {

using hcq::FieldPlace;
using hcq::FieldRole;
using hcq::Operand;
using hcq::WordList;

constexpr std::uint64_t kCode = 0x2'0001'0000;
constexpr std::uint64_t kBank = 0x2'0002'0000;

// Number and value of the words that are not zero.
std::string nonzero_words(const WordList& list, QmdBlock qmd) {
  std::string text;
  for (unsigned i = 0; i < qmd_bytes(qmd.version) / 4; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, list.block_span(qmd.block).host + 4 * i, 4);
    if (word == 0) continue;
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%s%u %x", text.empty() ? "" : ", ", i, word);
    text += buffer;
  }
  return text;
}

// As tinygrad's NVProgram describes a kernel.
QmdKernel kernel_of_tinygrad(std::uint8_t sass_version) {
  QmdKernel kernel{
      .program = kCode,
      .prefetch_bytes = 0x400,
      .registers = 24,
      .local_high = 0x240,
      .shared_bytes = 0x400,
      .sass_version = sass_version,
      .group_id = 0x3f,
      .sampler_via_header = true,
      .invalidate = kQmdTextureHeaders | kQmdTextureSamplers | kQmdTextureData | kQmdShaderData};
  kernel.banks[0] = {.bytes = 0x1780, .invalidate = true};
  return kernel;
}

// The recipe of libcuda-research for Hopper.
QmdKernel kernel_of_hopper() {
  QmdKernel kernel{.program = kCode, .registers = 24, .membar = QmdMembar::kNone};
  kernel.banks[0] = {.bytes = 0x300};
  return kernel;
}

const LaunchShape kShape{.grid = {4, 2, 1}, .group = {64, 2, 1}, .bank = kBank};

struct Launch {
  Blocks blocks;
  WordList list{&blocks};
  QmdBlock append(QmdVersion version, const QmdKernel& kernel, const LaunchShape& shape = kShape) {
    list.begin_command();
    return append_qmd(list, make_qmd(version, kernel).value(), shape).value();
  }
  std::uint64_t read(QmdBlock qmd, QmdField field, unsigned index = 0) const {
    return read_qmd(list.block_span(qmd.block).host, qmd.version, field, index);
  }
};

// Words that tinygrad a9069c17 writes for Ampere and Ada. It puts bytes into the bank's size, which
// counts 16 bytes: its 0x178 are 0x1780 bytes here.
TEST(Qmd, OfAda_EqualsGoldenWords) {
  Launch launch;
  const QmdBlock qmd = launch.append(QmdVersion::kV3, kernel_of_tinygrad(0x89));
  ASSERT_TRUE(release_semaphore_by_qmd(launch.list, qmd, kSemaphore, 6, PayloadBits::k32).ok());
  EXPECT_EQ(nonzero_words(launch.list, qmd),
            "4 7f, 5 3c000000, 8 2000100, 11 44010000, 12 4, 13 2, 14 1, 17 34240400, 18 400030, "
            "19 10002, 20 121801, 23 8000000, 24 1000, 25 800001, 26 6, 32 20000, 33 bc40002, "
            "48 10000, 49 2, 50 240, 51 89000800");
}

// The same for Blackwell.
TEST(Qmd, OfBlackwell_EqualsGoldenWords) {
  Launch launch;
  const QmdBlock qmd = launch.append(QmdVersion::kV5, kernel_of_tinygrad(0xa0));
  ASSERT_TRUE(release_semaphore_by_qmd(launch.list, qmd, kSemaphore, 6, PayloadBits::k32).ok());
  EXPECT_EQ(nonzero_words(launch.list, qmd),
            "4 13f0000, 9 1, 14 f5003a0, 15 1000, 16 1, 17 6, 19 10000, 32 20001000, 33 800000, "
            "34 20040, 35 21801, 36 4b44808, 37 240000, 39 4, 40 2, 41 1, 42 8000800, 43 bc00000, "
            "58 9, 59 2000100");
}

TEST(Qmd, OfHopper_EqualsGoldenWords) {
  Launch launch;
  const QmdBlock qmd = launch.append(QmdVersion::kV4, kernel_of_hopper());
  EXPECT_EQ(nonzero_words(launch.list, qmd),
            "0 1000000, 13 1, 17 1000000, 18 40, 32 4, 33 2, 34 1, 36 20040, 37 8180001, 38 10000, "
            "39 2, 48 8000800, 49 1800000");
}

TEST(Qmd, OfHopperWithSharedMemoryAndRelease_EqualsGoldenWords) {
  Launch launch;
  QmdKernel kernel = kernel_of_hopper();
  kernel.shared_bytes = 0x400;
  kernel.largest_shared_kib = 228;
  kernel.shared_allocation = true;
  const QmdBlock qmd = launch.append(QmdVersion::kV4, kernel);
  ASSERT_TRUE(release_semaphore_by_qmd(launch.list, qmd, kSemaphore, 6, PayloadBits::k64).ok());
  EXPECT_EQ(nonzero_words(launch.list, qmd),
            "0 1000000, 10 1001, 13 1, 17 1000000, 18 40040, 19 49e89, 20 1000, 21 1, 22 6, 32 4, "
            "33 2, 34 1, 36 20040, 37 8180001, 38 10000, 39 2, 48 8000800, 49 1800000");
}

TEST(Qmd, MakeQmd_AsksForTheSmallestShareOfSharedMemory) {
  QmdKernel kernel = kernel_of_hopper();
  kernel.largest_shared_kib = 228;
  const auto share = [&](std::uint32_t bytes) {
    kernel.shared_bytes = bytes;
    return make_qmd(QmdVersion::kV4, kernel).value().get(QmdField::kTargetSharedConfig);
  };
  EXPECT_EQ(share(32 * 1024), 32u / 4 + 1);
  EXPECT_EQ(share(32 * 1024 + 128), 64u / 4 + 1);
  EXPECT_EQ(share(200 * 1024), 228u / 4 + 1);
}

TEST(Qmd, MakeQmd_BadKernel_IsRefusedWithWords) {
  const auto refused = [](QmdVersion version, auto change) {
    QmdKernel kernel = kernel_of_hopper();
    change(kernel);
    return std::string(make_qmd(version, kernel).status().message());
  };
  EXPECT_EQ(refused(QmdVersion::kV4, [](QmdKernel& k) { k.program = 0; }),
            "kernel at 0x0: 0, or more than 40 bits");
  EXPECT_EQ(refused(QmdVersion::kV5, [](QmdKernel& k) { k.program += 8; }),
            "QMD version 5: program address 0x200010008 is not a multiple of 16");
  EXPECT_EQ(refused(QmdVersion::kV4, [](QmdKernel& k) { k.registers = 512; }),
            "QMD version 4: registers 0x200 does not fit into 9 bits");
  EXPECT_EQ(refused(QmdVersion::kV3, [](QmdKernel& k) { k.banks[7] = {0x100, 0x20008, false}; }),
            "QMD version 3: bank size 0x20008 is not a multiple of 16");
  EXPECT_EQ(refused(QmdVersion::kV4, [](QmdKernel& k) { k.banks[7] = {0x120, 0x100, false}; }),
            "QMD version 4: bank address 0x120 is not a multiple of 64");
  EXPECT_EQ(refused(QmdVersion::kV5, [](QmdKernel& k) { k.shared_bytes = 0x440; }),
            "QMD version 5: shared memory 0x440 is not a multiple of 128");
  EXPECT_EQ(refused(QmdVersion::kV4, [](QmdKernel& k) { k.shared_bytes = 101 * 1024; }),
            "kernel with 103424 bytes of shared memory: an SM has 100 KiB");
}

TEST(Qmd, AppendQmd_BadShape_IsRefusedWithWords) {
  const Qmd kernel = make_qmd(QmdVersion::kV4, kernel_of_hopper()).value();
  const auto refused = [&](const LaunchShape& shape) {
    Launch launch;
    launch.list.begin_command();
    const Status status = append_qmd(launch.list, kernel, shape).status();
    EXPECT_TRUE(launch.list.places().empty());
    return std::string(status.message());
  };
  EXPECT_EQ(refused({{0, 1, 1}, {1, 1, 1}, kBank}), "launch: grid x is 0, not 1 to 2147483647");
  EXPECT_EQ(refused({{1, 65536, 1}, {1, 1, 1}, kBank}), "launch: grid y is 65536, not 1 to 65535");
  EXPECT_EQ(refused({{1, 1, 1}, {1025, 1, 1}, kBank}), "launch: group x is 1025, not 1 to 1024");
  EXPECT_EQ(refused({{1, 1, 1}, {1, 1, 65}, kBank}), "launch: group z is 65, not 1 to 64");
  EXPECT_EQ(refused({{1, 1, 1}, {64, 32, 1}, kBank}),
            "launch: 2048 work-items in a workgroup, not 1 to 1024");
  EXPECT_EQ(refused({{1, 1, 1}, {1, 1, 1}, kBank + 32}),
            "QMD version 4: bank address 0x200020020 is not a multiple of 64");
}

// Memory at an address that a QMD may not have.
struct WrongMemory : WordList::BlockMemory {
  explicit WrongMemory(std::uint64_t at) : address(at) {}
  Result<hcq::DeviceSpan> allocate(std::size_t size, std::size_t) override {
    return hcq::DeviceSpan{memory.data(), address, size};
  }
  std::uint64_t address;
  std::array<std::byte, 384> memory{};
};

TEST(Qmd, AppendQmd_MemoryForBlocks_IsChecked) {
  const Qmd kernel = make_qmd(QmdVersion::kV4, kernel_of_hopper()).value();
  WordList none;
  none.begin_command();
  EXPECT_EQ(append_qmd(none, kernel, kShape).status().code(), StatusCode::kFailedPrecondition);
  const auto refused = [&](std::uint64_t address) {
    WrongMemory memory(address);
    WordList list(&memory);
    list.begin_command();
    return std::string(append_qmd(list, kernel, kShape).status().message());
  };
  EXPECT_EQ(
      refused(kCommandAddressLimit),
      "launch: the memory of a QMD at 0x10000000000 is not aligned to 256 or has more than 40 "
      "bits");
  EXPECT_EQ(refused(0x2'0000'0080),
            "launch: the memory of a QMD at 0x200000080 is not aligned to 256 or has more than 40 "
            "bits");
}

TEST(Qmd, AppendQmd_TheAddressIsThatOfTheBlock) {
  Launch launch;
  const QmdBlock qmd = launch.append(QmdVersion::kV4, kernel_of_hopper());
  ASSERT_TRUE(nv::launch(launch.list, qmd_address(launch.list, qmd)).ok());
  EXPECT_EQ(hex(launch.list), "200120ad 2000202 200120b0 9");
}

class EachVersion : public testing::TestWithParam<QmdVersion> {};

TEST_P(EachVersion, ChainQmd_SchedulesTheNextOnce) {
  Launch launch;
  const QmdBlock first = launch.append(GetParam(), kernel_of_tinygrad(0));
  const QmdBlock second = launch.append(GetParam(), kernel_of_tinygrad(0));
  const std::string before = nonzero_words(launch.list, second);
  ASSERT_TRUE(chain_qmd(launch.list, first, second).ok());
  EXPECT_EQ(launch.read(first, QmdField::kDependentEnable), 1u);
  EXPECT_EQ(launch.read(first, QmdField::kDependentAction), 1u);
  EXPECT_EQ(launch.read(first, QmdField::kDependentPrefetch), 1u);
  EXPECT_EQ(launch.read(first, QmdField::kDependentAddress), qmd_address(launch.list, second));
  EXPECT_EQ(nonzero_words(launch.list, second), before);
  EXPECT_EQ(chain_qmd(launch.list, first, second).code(), StatusCode::kFailedPrecondition);
}

TEST_P(EachVersion, ReleaseSemaphore_TakesTheSlotsInTurn) {
  Launch launch;
  const QmdBlock qmd = launch.append(GetParam(), kernel_of_tinygrad(0));
  const auto release = [&](std::uint64_t address, std::uint64_t value, PayloadBits bits) {
    return release_semaphore_by_qmd(launch.list, qmd, address, value, bits);
  };
  EXPECT_EQ(release(kSemaphore + 8, 1, PayloadBits::k64).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(release(kSemaphore, 1ull << 32, PayloadBits::k32).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(launch.read(qmd, QmdField::kReleaseEnable, 0), 0u);
  ASSERT_TRUE(release(kSemaphore, 6, PayloadBits::k32).ok());
  ASSERT_TRUE(release(0xff'0000'0010, 0x7'0000'0008, PayloadBits::k64).ok());
  EXPECT_EQ(release(kSemaphore, 9, PayloadBits::k64).code(), StatusCode::kResourceExhausted);
  for (unsigned slot = 0; slot < kQmdReleases; ++slot) {
    EXPECT_EQ(launch.read(qmd, QmdField::kReleaseEnable, slot), 1u);
    EXPECT_EQ(launch.read(qmd, QmdField::kReleasePayload64, slot), slot);
    EXPECT_EQ(launch.read(qmd, QmdField::kReleaseStructure, slot), 0u);
  }
  EXPECT_EQ(launch.read(qmd, QmdField::kReleaseAddress, 0), kSemaphore);
  EXPECT_EQ(launch.read(qmd, QmdField::kReleaseAddress, 1), 0xff'0000'0010u);
  EXPECT_EQ(launch.read(qmd, QmdField::kReleaseValue, 0), 6u);
  EXPECT_EQ(launch.read(qmd, QmdField::kReleaseValue, 1), 0x7'0000'0008u);
}

// Every field of a launch, by the role of its places.
struct Drawn {
  std::array<std::uint64_t, 8> values;  // in the order of kRoles
};
constexpr std::array kRoles{FieldRole::kGridX,     FieldRole::kGridY,  FieldRole::kGridZ,
                            FieldRole::kLocalX,    FieldRole::kLocalY, FieldRole::kLocalZ,
                            FieldRole::kArguments, FieldRole::kSignal};

QmdBlock append(Launch& launch, QmdVersion version, const Drawn& drawn) {
  const auto& v = drawn.values;
  const QmdBlock qmd = launch.append(version, kernel_of_tinygrad(0x89),
                                     {{v[0], v[1], v[2]}, {v[3], v[4], v[5]}, v[6]});
  EXPECT_TRUE(release_semaphore_by_qmd(launch.list, qmd, kSemaphore, v[7], PayloadBits::k64).ok());
  return qmd;
}

TEST_P(EachVersion, Update_OfOneField_EqualsAFreshQmd) {
  std::mt19937_64 random(5);
  const auto draw = [&](std::size_t field) -> std::uint64_t {
    switch (field) {
      case 0:
        return random() % 0x7fff'ffff + 1;
      case 1:
      case 2:
        return random() % 65535 + 1;
      case 3:
        return random() % 16 + 1;  // so that any three are a workgroup
      case 4:
      case 5:
        return random() % 8 + 1;
      case 6:
        return random() % kAddressLimit / 64 * 64;
      default:
        return random();
    }
  };
  for (int round = 0; round < 300; ++round) {
    Drawn drawn{};
    for (std::size_t i = 0; i < drawn.values.size(); ++i) drawn.values[i] = draw(i);
    Launch updated;
    const QmdBlock qmd = append(updated, GetParam(), drawn);
    const std::size_t changed = static_cast<std::size_t>(round) % kRoles.size();
    drawn.values[changed] = draw(changed);
    std::size_t places = 0;
    for (const FieldPlace& place : updated.list.places()) {
      if (place.field.role != kRoles[changed]) continue;
      EXPECT_TRUE(place.in_block);
      updated.list.write(place, drawn.values[changed]);
      ++places;
    }
    ASSERT_EQ(places, 1u);
    Launch fresh;
    ASSERT_EQ(nonzero_words(updated.list, qmd),
              nonzero_words(fresh.list, append(fresh, GetParam(), drawn)));
  }
}

TEST_P(EachVersion, Update_OfSymbols_FillsWhatWasZero) {
  hcq::SymbolTable symbols;
  Launch bound;
  const QmdBlock qmd = bound.append(
      GetParam(), kernel_of_tinygrad(0x89),
      {{symbols.add(), symbols.add(), symbols.add()}, {symbols.add(), 2, 1}, symbols.add()});
  EXPECT_EQ(bound.read(qmd, QmdField::kGridX), 0u);
  EXPECT_EQ(bound.read(qmd, QmdField::kGroupY), 2u);
  for (const FieldPlace& place : bound.list.places()) {
    if (!place.field.operand.symbolic()) continue;
    const std::array<std::uint64_t, 7> values{4, 2, 1, 64, 2, 1, kBank};
    bound.list.write(place, values[static_cast<std::size_t>(
                                std::ranges::find(kRoles, place.field.role) - kRoles.begin())]);
  }
  Launch fresh;
  EXPECT_EQ(nonzero_words(bound.list, qmd),
            nonzero_words(fresh.list, fresh.append(GetParam(), kernel_of_tinygrad(0x89))));
}

INSTANTIATE_TEST_SUITE_P(Versions, EachVersion,
                         testing::Values(QmdVersion::kV3, QmdVersion::kV4, QmdVersion::kV5),
                         [](const auto& version) {
                           return "V" + std::to_string(static_cast<int>(version.param) + 3);
                         });

}  // namespace
}  // namespace halyard::nv
