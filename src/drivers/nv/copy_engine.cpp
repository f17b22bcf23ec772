// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/nv/copy_engine.h"

#include <algorithm>

#include "base/format.h"

namespace halyard::inline v0::nv {
namespace {

using hcq::Field;
using hcq::FieldRole;
using hcq::Operand;
using hcq::WordList;

constexpr std::uint32_t kSetSemaphoreA = 0x0240;  // upper, lower, payload, payload's upper half
constexpr std::uint32_t kLaunchDma = 0x0300;
constexpr std::uint32_t kOffsetInUpper = 0x0400;  // then IN_LOWER, OUT_UPPER, OUT_LOWER
constexpr std::uint32_t kLineLengthIn = 0x0418;

// LAUNCH_DMA
constexpr std::uint32_t kNonPipelined = 2u << 0;  // after earlier launches
constexpr std::uint32_t kFlush = 1u << 2;
constexpr std::uint32_t kReleaseFourWords = 2u << 3;
constexpr std::uint32_t kNonBlockingInterrupt = 2u << 5;
constexpr std::uint32_t kSourcePitch = 1u << 7;
constexpr std::uint32_t kTargetPitch = 1u << 8;
constexpr std::uint32_t kPayloadTwoWords = 1u << 27;

// Upper half first.
void append_address(WordList& list, FieldRole role, const Operand& address, std::uint64_t offset) {
  const hcq::Field field{role, address, 1, offset};
  list.field32(field, -32);
  list.field32(field);
}

void append_launch(WordList& list, std::uint32_t launch) {
  list.word(incrementing(Subchannel::kCopy, kLaunchDma, 1));
  list.word(launch);
}

void append_copy(WordList& list, const Operand& target, const Operand& source,
                 std::uint64_t offset) {
  list.word(incrementing(Subchannel::kCopy, kOffsetInUpper, 4));
  append_address(list, FieldRole::kSource, source, offset);
  append_address(list, FieldRole::kTarget, target, offset);
  list.word(incrementing(Subchannel::kCopy, kLineLengthIn, 1));
}

Status check_range(const char* name, const Operand& address, std::uint64_t bytes) {
  if (address.symbolic()) return {};
  const std::uint64_t begin = address.resolve();
  if (bytes > kAddressLimit || begin > kAddressLimit - bytes)
    return error(StatusCode::kOutOfRange, "copy: the {} at {:#x} of {} bytes ends above 2^49", name,
                 begin, base::number(bytes));
  return {};
}

constexpr std::uint32_t kCopy = kNonPipelined | kSourcePitch | kTargetPitch;

}  // namespace

Status copy(WordList& list, const Operand& target, const Operand& source, const Operand& bytes) {
  const std::uint64_t size = bytes.symbolic() ? 0 : bytes.resolve();
  HALYARD_RETURN_IF_ERROR(check_range("target", target, size));
  HALYARD_RETURN_IF_ERROR(check_range("source", source, size));
  if (bytes.symbolic() || (size != 0 && size <= kMaxCopyBytes)) {
    append_copy(list, target, source, 0);
    list.field32({FieldRole::kSize, bytes});
    append_launch(list, kCopy);
    return {};
  }
  for (std::uint64_t offset = 0; offset < size; offset += kMaxCopyBytes) {
    append_copy(list, target, source, offset);
    list.word(static_cast<std::uint32_t>(std::min(size - offset, kMaxCopyBytes)));
    append_launch(list, kCopy);
  }
  return {};
}

Status release_semaphore_by_copy(WordList& list, std::uint64_t address, const Operand& value,
                                 PayloadBits bits, Interrupt interrupt) {
  HALYARD_RETURN_IF_ERROR(check_semaphore(address));
  HALYARD_RETURN_IF_ERROR(check_payload(value, bits));
  const bool two_words = bits == PayloadBits::k64;
  list.word(incrementing(Subchannel::kCopy, kSetSemaphoreA, two_words ? 4 : 3));
  list.word(static_cast<std::uint32_t>(address >> 32));
  list.word(static_cast<std::uint32_t>(address));
  if (two_words) {
    list.field64({FieldRole::kSignal, value});
  } else {
    list.field32({FieldRole::kSignal, value});
  }
  append_launch(list, kFlush | kReleaseFourWords | (two_words ? kPayloadTwoWords : 0) |
                          (interrupt == Interrupt::kNonStall ? kNonBlockingInterrupt : 0));
  return {};
}

}  // namespace halyard::inline v0::nv
