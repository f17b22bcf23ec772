// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/nv/constant_bank.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

namespace halyard::nv {
namespace {

constexpr std::uint64_t kShared = 0x7294'0000'0000;
constexpr std::uint64_t kLocal = 0x7293'0000'0000;

// The nonzero words of a bank that held other bytes before.
std::map<std::size_t, std::uint32_t> words(QmdVersion version) {
  std::vector<std::byte> bank(bank_layout(version).parameters + 16, std::byte{0x5a});
  EXPECT_TRUE(write_bank_prefix(bank, version, kShared, kLocal).ok());
  std::map<std::size_t, std::uint32_t> nonzero;
  for (std::size_t i = 0; i < bank.size() / 4; ++i) {
    std::uint32_t word;
    std::memcpy(&word, bank.data() + 4 * i, 4);
    if (word != 0) nonzero[4 * i] = word;
  }
  return nonzero;
}

using Words = std::map<std::size_t, std::uint32_t>;

// cbuf_0[6:12] of tinygrad's NVProgram; parameters from 0x160 on keep what they were.
TEST(ConstantBank, OfAda) {
  EXPECT_EQ(words(QmdVersion::kV3), (Words{{0x1c, 0x7294},
                                           {0x24, 0x7293},
                                           {0x28, 0xfffdc0},
                                           {0x160, 0x5a5a5a5a},
                                           {0x164, 0x5a5a5a5a},
                                           {0x168, 0x5a5a5a5a},
                                           {0x16c, 0x5a5a5a5a}}));
}

// libcuda-research: the stack pointer at 0x28, 0 at 0x208, parameters from 0x210 on.
TEST(ConstantBank, OfHopper) {
  EXPECT_EQ(words(QmdVersion::kV4), (Words{{0x1c, 0x7294},
                                           {0x24, 0x7293},
                                           {0x28, 0xfffdc0},
                                           {0x210, 0x5a5a5a5a},
                                           {0x214, 0x5a5a5a5a},
                                           {0x218, 0x5a5a5a5a},
                                           {0x21c, 0x5a5a5a5a}}));
}

// cbuf_0[188:192] and cbuf_0[223] of tinygrad's NVProgram.
TEST(ConstantBank, OfBlackwell) {
  EXPECT_EQ(words(QmdVersion::kV5), (Words{{189 * 4, 0x7294},
                                           {191 * 4, 0x7293},
                                           {223 * 4, 0xfffdc0},
                                           {0x380, 0x5a5a5a5a},
                                           {0x384, 0x5a5a5a5a},
                                           {0x388, 0x5a5a5a5a},
                                           {0x38c, 0x5a5a5a5a}}));
}

TEST(ConstantBank, TooShort_IsRefused) {
  std::vector<std::byte> bank(0x20f);
  const Status status = write_bank_prefix(bank, QmdVersion::kV4, kShared, kLocal);
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
  EXPECT_EQ(status.message(), "constant bank 0 of 527 bytes: parameters begin at 528");
}

}  // namespace
}  // namespace halyard::nv
