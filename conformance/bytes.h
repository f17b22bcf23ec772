// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model of transfers on plain bytes, with which the suites `transfer` and `command_buffer`
// compare.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "conformance/context.h"
#include "halyard/halyard.h"

namespace halyard::inline v0::conformance {

using ByteVector = std::vector<std::byte>;

struct FillClass {
  std::uint32_t pattern_size;
  std::uint64_t offset, length;
};
// Offsets aligned and not, lengths around the sizes by which copy loops unroll, and long ones.
inline constexpr FillClass kFillClasses[] = {
    {1, 0, 4},    {1, 0, 8},      {1, 3, 31},     {1, 17, 32},   {1, 1, 33}, {1, 16, 64},
    {1, 7, 1024}, {1, 31, 65536}, {2, 0, 4},      {2, 0, 8},     {2, 2, 30}, {2, 6, 32},
    {2, 18, 34},  {2, 4, 1024},   {2, 14, 65536}, {4, 0, 4},     {4, 0, 8},  {4, 4, 28},
    {4, 8, 32},   {4, 20, 36},    {4, 4, 1024},   {4, 12, 65536}};

struct CopyClass {
  std::uint64_t source, target, length;
};
inline constexpr CopyClass kUpdateClasses[] = {{0, 0, 4}, {3, 0, 8},  {5, 4, 8},
                                               {1, 1, 4}, {0, 0, 16}, {11, 13, 70000}};
// Source and target offsets by alignment: 16, 8, 4, none.
inline constexpr CopyClass kCopyAlignments[] = {{16, 32, 0}, {8, 24, 0}, {4, 12, 0}, {1, 2, 0}};
inline constexpr std::uint64_t kCopyLengths[] = {4,   8,   16,   31,   32,    33,   64,
                                                 128, 256, 1024, 4096, 16384, 65536};

// Bytes that differ between neighbours and between pages.
inline ByteVector ramp(std::size_t size) {
  ByteVector bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

inline void model_fill(std::span<std::byte> target, std::uint32_t pattern,
                       std::uint32_t pattern_size) {
  for (std::size_t i = 0; i < target.size(); ++i) {
    target[i] = static_cast<std::byte>(pattern >> (8 * (i % pattern_size)));
  }
}

inline ByteVector contents(const hal::Buffer& buffer) {
  const hal::Mapping mapping = buffer.map().value();
  return {mapping.bytes().begin(), mapping.bytes().end()};
}

inline void set_contents(const hal::Buffer& buffer, std::span<const std::byte> bytes) {
  std::ranges::copy(bytes, buffer.map().value().bytes().begin());
}

// Verifies the result of work that writes round + 1 to the `size` bytes of each round's own part of
// `all`. Because rounds share no bytes, no later round hides a missed write.
template <class T>
void verify_rounds(Context& t, const hal::Buffer& all, std::uint64_t size) {
  const hal::Mapping mapping = all.map().value();
  const std::uint64_t length = size / sizeof(T);
  const std::span<const T> values = mapping.as<T>();
  for (std::uint64_t round = 0; round < values.size() / length; ++round) {
    const auto part = values.subspan(length * round, length);
    const auto expected = static_cast<T>(round + 1);
    const auto other = std::ranges::find_if(part, [&](T value) { return value != expected; });
    if (other != part.end()) VERIFY_EQ(*other, expected);
  }
}

}  // namespace halyard::inline v0::conformance
