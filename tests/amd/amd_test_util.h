// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words for tests, and the values of the golden words. These are the output of tinygrad's encoders
// (tinygrad/runtime/ops_amd.py at a9069c17) for the same values.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "drivers/amd/kernel_descriptor.h"
#include "hcq/word_list.h"

namespace halyard::amd {

using Words = std::vector<std::uint32_t>;

// "c0053c00 15" as words.
inline Words hex(const std::string& text) {
  std::istringstream in(text);
  Words words;
  for (std::uint32_t word; in >> std::hex >> word;) words.push_back(word);
  EXPECT_TRUE(in.eof()) << text;
  return words;
}

inline Words words_of(const hcq::WordList& list) {
  return {list.words().begin(), list.words().end()};
}

inline Words words_of(std::span<const std::uint32_t> words) { return {words.begin(), words.end()}; }

// Memory for the blocks of a list, at addresses of the device that begin at 0x7300_0001_0000.
class TestBlocks final : public hcq::WordList::BlockMemory {
 public:
  Result<hcq::DeviceSpan> allocate(std::size_t size, std::size_t alignment) override {
    EXPECT_LE(alignment, 64u);
    blocks_.push_back(std::make_unique<std::byte[]>(size));
    return hcq::DeviceSpan{blocks_.back().get(), 0x7300'0001'0000 + 0x100 * blocks_.size() - 0x100,
                           size};
  }
  Words block(std::size_t number) const {
    Words words(16);
    std::memcpy(words.data(), blocks_[number].get(), 64);
    return words;
  }

 private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

inline constexpr std::uint64_t kSignal = 0x7000'0000'1000;
inline constexpr std::uint64_t kTimeline = 0x7000'0000'2000;
inline constexpr Mailbox kMailbox{0x7000'0000'0008, 1};
inline constexpr Scratch kScratch{
    .address = 0x7100'0000'0000, .size = 1 << 20, .lane_bytes = 16, .tmpring_size = 0x2c00};

inline Kernel golden_kernel() {
  return {.descriptor = {.shared_bytes = 512,
                         .private_bytes = 16,
                         .entry_offset = 0x1100 - 0x540,
                         .rsrc1 = 0x00af'0080,
                         .rsrc2 = 0x84,
                         .properties = 0x408},  // arguments, 32 lanes
          .descriptor_address = 0x7200'0000'0540};
}

inline Launch golden_launch() {
  return {.groups = {4, 2, 1}, .group_size = {64, 2, 1}, .arguments = 0x7300'0000'0100};
}

}  // namespace halyard::amd
