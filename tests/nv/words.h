// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of a list as hexadecimal text, and memory for its blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hcq/word_list.h"

namespace halyard::nv {

inline constexpr std::uint64_t kSemaphore = 0x1'0000'1000;

inline std::string hex(std::span<const std::uint32_t> words) {
  std::string text;
  for (const std::uint32_t word : words) {
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, "%s%x", text.empty() ? "" : " ", word);
    text += buffer;
  }
  return text;
}
inline std::string hex(const hcq::WordList& list) { return hex(list.words()); }

// Blocks at consecutive addresses.
class Blocks final : public hcq::WordList::BlockMemory {
 public:
  Result<hcq::DeviceSpan> allocate(std::size_t size, std::size_t alignment) override {
    next_ = (next_ + alignment - 1) / alignment * alignment;
    memory_.push_back(std::make_unique<std::byte[]>(size));
    const hcq::DeviceSpan span{memory_.back().get(), next_, size};
    next_ += size;
    return span;
  }

 private:
  std::uint64_t next_ = 0x2'0002'0200;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

}  // namespace halyard::nv
