// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/nv/methods.h"

#include <array>
#include <cassert>

#include "base/format.h"

namespace halyard::inline v0::nv {
namespace {

using hcq::FieldRole;
using hcq::Operand;
using hcq::WordList;

constexpr std::uint32_t kSetObject = 0x0000;
constexpr std::uint32_t kNonStallInterrupt = 0x0020;
constexpr std::uint32_t kMemOpA = 0x0028;
constexpr std::uint32_t kMemOpMembar = 5u << 27;  // OPERATION of MEM_OP_D
constexpr std::uint32_t kSemAddrLo = 0x005c;      // then ADDR_HI, PAYLOAD_LO, PAYLOAD_HI, EXECUTE

// SEM_EXECUTE
constexpr std::uint32_t kSemRelease = 1;
constexpr std::uint32_t kSemAcquireCircular = 3;
constexpr std::uint32_t kSemSwitchGroup = 1u << 12;
constexpr std::uint32_t kSemWaitForIdle = 1u << 20;
constexpr std::uint32_t kSem64Bits = 1u << 24;
constexpr std::uint32_t kSemTimestamp = 1u << 25;

constexpr std::uint64_t kMaxGpWords = (1u << 21) - 1;

void append_semaphore(WordList& list, std::uint64_t address, const Operand& value,
                      std::uint32_t execute) {
  list.word(incrementing(Subchannel::kHost, kSemAddrLo, 5));
  list.word(static_cast<std::uint32_t>(address));
  list.word(static_cast<std::uint32_t>(address >> 32));
  list.field64({FieldRole::kSignal, value});
  list.word(execute);
}

}  // namespace

Status append_method(WordList& list, MethodKind kind, Subchannel subchannel, std::uint32_t method,
                     std::span<const std::uint32_t> data) {
  if (method % 4 != 0 || method >= kMethodLimit)
    return error(StatusCode::kInvalidArgument,
                 "method {:#x}: not a multiple of 4 below {:#x}, as offsets of methods are", method,
                 kMethodLimit);
  if (kind == MethodKind::kImmediate) {
    if (data.size() != 1)
      return error(StatusCode::kInvalidArgument, "method {:#x}: {} immediate data, not one", method,
                   data.size());
    if (data[0] > kMaxMethodData)
      return error(StatusCode::kOutOfRange, "method {:#x}: immediate datum {:#x} is over {:#x}",
                   method, data[0], kMaxMethodData);
    list.word(method_header(kind, subchannel, method, data[0]));
    return {};
  }
  if (data.size() > kMaxMethodData)
    return error(StatusCode::kOutOfRange, "method {:#x}: {} words of data are more than {}", method,
                 data.size(), kMaxMethodData);
  list.word(method_header(kind, subchannel, method, static_cast<std::uint32_t>(data.size())));
  list.words(data);
  return {};
}

Status bind_class(WordList& list, Subchannel subchannel, std::uint32_t class_id) {
  if (class_id == 0 || class_id > 0xffff)
    return error(StatusCode::kOutOfRange, "class {:#x}: a class has a number of 16 bits", class_id);
  list.word(incrementing(subchannel, kSetObject, 1));
  list.word(class_id);
  return {};
}

Result<std::uint64_t> gp_entry(std::uint64_t address, std::uint64_t words, GpFetch fetch) {
  if (address % 4 != 0)
    return error(StatusCode::kInvalidArgument, "segment at {:#x}: not a multiple of 4", address);
  if (address >= kCommandAddressLimit)
    return error(StatusCode::kOutOfRange, "segment at {:#x}: a GP entry has 40 bits of address",
                 address);
  if (words == 0 || words > kMaxGpWords)
    return error(StatusCode::kOutOfRange, "segment at {:#x}: {} words, not 1 to {}", address, words,
                 kMaxGpWords);
  constexpr std::uint64_t kSubroutine = std::uint64_t{1} << 41;
  const std::uint64_t wait = fetch == GpFetch::kAfterPreceding ? 1 : 0;
  return address | words << 42 | kSubroutine | wait << 63;
}

Result<std::size_t> write_gp_entries(const WordList& list, std::uint64_t address,
                                     std::span<std::uint64_t> entries) {
  assert(entries.size() >= list.segment_count());
  std::size_t count = 0;
  for (std::size_t i = 0; i < list.segment_count(); ++i) {
    const std::size_t words = list.segment(i).size();
    if (words == 0) continue;
    HALYARD_ASSIGN_OR_RETURN(
        entries[count],
        gp_entry(address, words, count == 0 ? GpFetch::kAhead : GpFetch::kAfterPreceding));
    address += words * sizeof(std::uint32_t);
    ++count;
  }
  return count;
}

Status check_semaphore(std::uint64_t address) {
  if (address % 16 != 0)
    return error(StatusCode::kInvalidArgument, "semaphore at {:#x}: not a multiple of 16", address);
  if (address >= kCommandAddressLimit)
    return error(StatusCode::kOutOfRange, "semaphore at {:#x}: its address has more than 40 bits",
                 address);
  return {};
}

Status check_payload(const Operand& value, PayloadBits bits) {
  if (bits == PayloadBits::k32 && !value.symbolic() && value.resolve() >> 32 != 0)
    return error(StatusCode::kOutOfRange, "semaphore value {:#x}: more than 32 bits",
                 value.resolve());
  return {};
}

Status wait_semaphore(WordList& list, std::uint64_t address, const Operand& value,
                      bool switch_group) {
  HALYARD_RETURN_IF_ERROR(check_semaphore(address));
  append_semaphore(list, address, value,
                   kSemAcquireCircular | kSem64Bits | (switch_group ? kSemSwitchGroup : 0));
  list.end_segment();
  return {};
}

Status release_semaphore(WordList& list, std::uint64_t address, const Operand& value,
                         Interrupt interrupt) {
  HALYARD_RETURN_IF_ERROR(check_semaphore(address));
  append_semaphore(list, address, value,
                   kSemRelease | kSemWaitForIdle | kSem64Bits | kSemTimestamp);
  if (interrupt == Interrupt::kNonStall) interrupt_cpu(list);
  return {};
}

Status write_timestamp(WordList& list, std::uint64_t address) {
  HALYARD_RETURN_IF_ERROR(check_semaphore(address));
  list.words(std::array<std::uint32_t, 6>{
      incrementing(Subchannel::kHost, kSemAddrLo, 5), static_cast<std::uint32_t>(address),
      static_cast<std::uint32_t>(address >> 32), 0, 0,
      kSemRelease | kSemWaitForIdle | kSem64Bits | kSemTimestamp});
  return {};
}

Status write_value(WordList& list, const Operand& target, const Operand& value, unsigned bytes) {
  if (bytes != 4 && bytes != 8)
    return error(StatusCode::kInvalidArgument, "write of {} bytes: not 4 or 8", bytes);
  if (!target.symbolic() && target.resolve() % bytes != 0)
    return error(StatusCode::kInvalidArgument, "write to {:#x}: not a multiple of {}",
                 target.resolve(), bytes);
  if (!target.symbolic() && target.resolve() >= kCommandAddressLimit)
    return error(StatusCode::kOutOfRange, "write to {:#x}: the address has more than 40 bits",
                 target.resolve());
  if (bytes == 4 && !value.symbolic() && value.resolve() >> 32 != 0)
    return error(StatusCode::kOutOfRange, "write of {:#x}: more than 4 bytes", value.resolve());
  list.word(incrementing(Subchannel::kHost, kSemAddrLo, 5));
  list.field64({FieldRole::kTarget, target});
  if (bytes == 8) {
    list.field64({FieldRole::kValue, value});
  } else {
    list.field32({FieldRole::kValue, value});
    list.word(0);
  }
  list.word(kSemRelease | kSemWaitForIdle | (bytes == 8 ? kSem64Bits : 0));
  return {};
}

void interrupt_cpu(WordList& list) {
  list.word(incrementing(Subchannel::kHost, kNonStallInterrupt, 1));
  list.word(0);
}

void memory_barrier(WordList& list, BarrierScope scope) {
  list.words(std::array<std::uint32_t, 5>{incrementing(Subchannel::kHost, kMemOpA, 4), 0, 0,
                                          static_cast<std::uint32_t>(scope), kMemOpMembar});
}

}  // namespace halyard::inline v0::nv
