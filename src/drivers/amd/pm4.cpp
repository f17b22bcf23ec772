// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/amd/pm4.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "drivers/amd/aql.h"
#include "drivers/amd/packets.h"

namespace halyard::inline v0::amd {
namespace {

using hcq::FieldRole;

constexpr std::uint64_t kMax32 = ~std::uint32_t{0};
constexpr std::uint32_t kAll = ~std::uint32_t{0};
constexpr std::uint32_t kReleaseWords = 8;
constexpr std::uint32_t kLdsGranule = 512;  // of COMPUTE_PGM_RSRC2, in bytes

// The caches that ACQUIRE_MEM invalidates and writes back: those of a compute unit before a kernel,
// or also the L2 and the instructions.
constexpr std::uint32_t kGcrKernel = pm4::kAcquireGlmWb | pm4::kAcquireGlmInv | pm4::kAcquireGlkWb |
                                     pm4::kAcquireGlkInv | pm4::kAcquireGlvInv |
                                     pm4::kAcquireGl1Inv;
constexpr std::uint32_t kGcrAll =
    kGcrKernel | pm4::kAcquireGliInv | pm4::kAcquireGl2Inv | pm4::kAcquireGl2Wb;
constexpr std::uint32_t kCoherKernel = pm4::kCoherTcl1 | pm4::kCoherShKcache;
constexpr std::uint32_t kCoherAll =
    kCoherKernel | pm4::kCoherTcWb | pm4::kCoherTc | pm4::kCoherShIcache;

// The caches that RELEASE_MEM writes back before a signal.
constexpr std::uint32_t kFlushGfx11 = pm4::kReleaseGlmWb | pm4::kReleaseGlmInv |
                                      pm4::kReleaseGlvInv | pm4::kReleaseGl1Inv |
                                      pm4::kReleaseGl2Inv | pm4::kReleaseGl2Wb | pm4::kReleaseSeq;
constexpr std::uint32_t kFlushGfx9 = pm4::kReleaseTcWb | pm4::kReleaseTcNc;

std::uint32_t low_half(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high_half(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

Status check_user_values(const KernelDescriptor& descriptor) {
  constexpr std::array<std::string_view, kUserValueCount> names{
      "private segment buffer", {}, "queue", {}, "dispatch id", "flat scratch",
      "private segment's size"};
  std::string_view wanted = descriptor.preloaded_words() != 0 ? "preloaded arguments" : "";
  for (std::size_t i = 0; i < kUserValueCount; ++i) {
    if (descriptor.wants(static_cast<UserValue>(i)) && !names[i].empty()) wanted = names[i];
  }
  if (wanted.empty()) return Status();
  return error(StatusCode::kUnimplemented,
               "amd: exec: the kernel wants its {} in registers, which PM4 queues do not provide",
               wanted);
}

Status check_exec(const Kernel& kernel, const Launch& launch, const Scratch& scratch) {
  const KernelDescriptor& descriptor = kernel.descriptor;
  HALYARD_RETURN_IF_ERROR(descriptor.wants(UserValue::kDispatchPacket)
                              ? check_dispatch(kernel, launch)
                              : check_launch(kernel, launch));
  HALYARD_RETURN_IF_ERROR(check_user_values(descriptor));
  HALYARD_RETURN_IF_ERROR(check_address(scratch.address, 256, "exec: the scratch memory"));
  if (descriptor.private_bytes <= scratch.lane_bytes) return Status();
  return error(StatusCode::kFailedPrecondition,
               "amd: exec: the kernel needs {} bytes of private memory for a lane, the scratch "
               "memory has {}",
               descriptor.private_bytes, scratch.lane_bytes);
}

}  // namespace

void Pm4Encoder::on_first_xcc(std::uint32_t words) {
  if (xccs_ == 1) return;
  list_.word(pm4_header(pm4::kPredExec, 1));
  list_.word(1u << pm4::kPredExecXccShift | words);
}

void Pm4Encoder::set_registers(std::uint32_t first, std::initializer_list<std::uint32_t> values) {
  list_.word(pm4_header(pm4::kSetShReg, static_cast<std::uint32_t>(values.size()) + 1));
  list_.word(first);
  list_.words({values.begin(), values.size()});
}

void Pm4Encoder::acquire(bool all) {
  // The whole address space.
  if (generation_ == Generation::kGfx11) {
    list_.word(pm4_header(pm4::kAcquireMem, 7));
    list_.words(std::array{0u, kAll, kAll, 0u, 0u, 0u, all ? kGcrAll : kGcrKernel});
  } else {
    list_.word(pm4_header(pm4::kAcquireMem, 6));
    list_.words(
        std::array{all ? kCoherAll : kCoherKernel, kAll, kAll, 0u, 0u, pm4::kCoherPollInterval});
  }
}

// The first three words of RELEASE_MEM. Five follow: the address, the data and the context of the
// interrupt.
void Pm4Encoder::release(std::uint32_t event, std::uint32_t select) {
  list_.word(pm4_header(pm4::kReleaseMem, kReleaseWords - 1));
  list_.word(event);
  list_.word(select);
}

Status Pm4Encoder::wait(const hcq::Operand& address, const hcq::Operand& value) {
  HALYARD_RETURN_IF_ERROR(check_address(address, 4, "wait: the signal's address"));
  HALYARD_RETURN_IF_ERROR(check_at_most(value, kMax32, "wait: the value"));
  list_.word(pm4_header(pm4::kWaitRegMem, 6));
  list_.word(pm4::kWaitGreaterOrEqual | pm4::kWaitMemory);
  list_.field64({FieldRole::kSignalAddress, address});
  list_.field32({FieldRole::kSignal, value});
  list_.word(kAll);  // mask
  list_.word(pm4::kPollInterval);
  list_.end_segment();
  return Status();
}

Status Pm4Encoder::signal(const hcq::Operand& address, const hcq::Operand& value,
                          const Mailbox* mailbox) {
  HALYARD_RETURN_IF_ERROR(check_address(address, 4, "signal: the address"));
  HALYARD_RETURN_IF_ERROR(check_at_most(value, kMax32, "signal: the value"));
  if (mailbox != nullptr)
    HALYARD_RETURN_IF_ERROR(check_address(mailbox->address, 4, "signal: the mailbox's address"));
  const bool gfx11 = generation_ == Generation::kGfx11;
  on_first_xcc(mailbox != nullptr ? 2 * kReleaseWords : kReleaseWords);
  release(pm4::kCacheFlushAndInvTs | (gfx11 ? kFlushGfx11 : kFlushGfx9), pm4::kData32);
  list_.field64({FieldRole::kSignalAddress, address});
  list_.field32({FieldRole::kSignal, value});
  list_.words(std::array{0u, 0u});  // the data's high half; no context of an interrupt
  if (mailbox == nullptr) return Status();
  release(pm4::kCacheFlushAndInvTs, pm4::kData32 | pm4::kInterruptAfterWrite);
  // Gfx11 passes the event as the interrupt's context as well.
  list_.words(std::array{low_half(mailbox->address), high_half(mailbox->address), mailbox->event,
                         0u, gfx11 ? mailbox->event : 0u});
  return Status();
}

Status Pm4Encoder::timestamp(const hcq::Operand& address) {
  HALYARD_RETURN_IF_ERROR(check_address(address, 8, "timestamp: the address"));
  on_first_xcc(2 * kReleaseWords);
  // Two events at the end of the pipe, as tinygrad has them. The second one writes the clock.
  release(pm4::kCacheFlushAndInvTs, pm4::kDataNone | pm4::kInterruptAfterWrite);
  list_.words(std::array{0u, 0u, 0u, 0u, 0u});
  release(pm4::kCacheFlushAndInvTs, pm4::kDataClock);
  list_.field64({FieldRole::kTarget, address});
  list_.words(std::array{0u, 0u, 0u});
  acquire(true);
  return Status();
}

void Pm4Encoder::barrier() {
  // The host's writes through the BAR pass the HDP. All bits: every client of it.
  list_.word(pm4_header(pm4::kWaitRegMem, 6));
  list_.word(pm4::kWaitGreaterOrEqual | pm4::kWaitWriteThenWait);
  list_.word(pm4::kHdpFlushRequest);
  list_.word(pm4::kHdpFlushDone);
  list_.word(kAll);
  list_.word(kAll);
  list_.word(pm4::kPollInterval);
  acquire(true);
}

Status Pm4Encoder::exec(const Kernel& kernel, const Launch& launch, const Scratch& scratch) {
  const KernelDescriptor& descriptor = kernel.descriptor;
  const bool reads_packet = descriptor.wants(UserValue::kDispatchPacket);
  if (xccs_ > 1)
    return Status(StatusCode::kUnimplemented, "amd: exec: several XCCs need an AQL dispatch");
  HALYARD_RETURN_IF_ERROR(check_exec(kernel, launch, scratch));
  std::optional<std::uint32_t> packet;
  if (reads_packet) {
    HALYARD_ASSIGN_OR_RETURN(packet, list_.block(64, 64));
    write_dispatch_block(list_, *packet, kernel, launch);
  }

  const bool gfx11 = generation_ == Generation::kGfx11;
  const std::uint64_t entry = kernel.entry() >> 8;
  const std::uint64_t scratch_base = scratch.address >> 8;
  const std::uint32_t lds_granules =
      (descriptor.shared_bytes + launch.shared_bytes + kLdsGranule - 1) / kLdsGranule;
  acquire(false);
  set_registers(pm4::kPgmLo, {low_half(entry), high_half(entry)});
  // For dispatch packets the hardware sets PRIV itself (LLVM, compute_pgm_rsrc1). Gfx11 needs it to
  // save and restore waves; ROCm's librocdxg sets it there too (cmd_util.cpp).
  set_registers(pm4::kRsrc1, {descriptor.rsrc1 | (gfx11 ? pm4::kRsrc1Priv : 0),
                              descriptor.rsrc2 | lds_granules << pm4::kRsrc2LdsShift});
  set_registers(gfx11 ? pm4::kRsrc3Gfx11 : pm4::kRsrc3Gfx9, {descriptor.rsrc3});
  set_registers(pm4::kTmpringSize, {scratch.tmpring_size});
  set_registers(pm4::kScratchBaseLo, {low_half(scratch_base), high_half(scratch_base)});
  set_registers(pm4::kRestartX, {0, 0, 0});
  const bool reads_arguments = descriptor.wants(UserValue::kArguments);
  if (reads_packet || reads_arguments) {
    const std::uint32_t words = (reads_packet ? 2 : 0) + (reads_arguments ? 2 : 0);
    list_.word(pm4_header(pm4::kSetShReg, words + 1));
    list_.word(pm4::kUserData0);
    if (reads_packet) {
      const std::uint64_t address = list_.block_span(*packet).address;
      list_.word(low_half(address));
      list_.word(high_half(address));
    }
    if (reads_arguments) list_.field64({FieldRole::kArguments, launch.arguments});
  }
  set_registers(pm4::kResourceLimits, {0});

  list_.word(pm4_header(pm4::kSetShReg, 9));
  list_.word(pm4::kStartX);
  list_.words(std::array{0u, 0u, 0u});
  // A dispatch packet has the products of groups and sizes. What is fixed there is fixed here.
  const auto dimension = [&](bool fixed, FieldRole role, const hcq::Operand& operand,
                             std::uint32_t mask) {
    if (fixed) {
      list_.word(low_half(operand.resolve()));
    } else {
      list_.field32({role, operand}, 0, mask);
    }
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const hcq::Operand& size = launch.group_size[axis];
    dimension(reads_packet && !size.symbolic(), kLocalRoles[axis], size, 0xffff);
  }
  list_.words(std::array{0u, 0u});  // no statistics of the pipeline, no counters

  list_.word(pm4_header(pm4::kDispatchDirect, 4));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    dimension(reads_packet && launch.group_size[axis].symbolic(), kGridRoles[axis],
              launch.groups[axis], kAll);
  }
  list_.word(pm4::kComputeShaderEnable | pm4::kForceStartAt000 |
             (descriptor.wave32() ? pm4::kWave32 : 0));
  list_.word(pm4_header(pm4::kEventWrite, 1));
  list_.word(pm4::kCsPartialFlush);
  return Status();
}

Status Pm4Encoder::write(const hcq::Operand& target, const hcq::Operand& value, unsigned bytes) {
  HALYARD_RETURN_IF_ERROR(check_address(target, 4, "write: the target"));
  if (bytes != 4 && bytes != 8)
    return error(StatusCode::kInvalidArgument, "amd: write: {} bytes; it can be 4 or 8", bytes);
  HALYARD_RETURN_IF_ERROR(
      check_at_most(value, ~std::uint64_t{0} >> (64 - 8 * bytes), "write: the value"));
  const std::uint32_t body = 3 + bytes / 4;
  on_first_xcc(body + 1);
  list_.word(pm4_header(pm4::kWriteData, body));
  list_.word(pm4::kWriteToMemory | pm4::kWriteConfirm);
  list_.field64({FieldRole::kTarget, target});
  if (bytes == 4) {
    list_.field32({FieldRole::kValue, value});
  } else {
    list_.field64({FieldRole::kValue, value});
  }
  return Status();
}

Status Pm4Encoder::raw(std::span<const std::uint32_t> words) {
  for (std::size_t at = 0; at < words.size();) {
    const std::uint32_t header = words[at];
    if (header >> 30 != 3) {
      return error(StatusCode::kInvalidArgument,
                   "amd: word {} of the custom words, {:#x}, is not a PM4 header of type 3", at,
                   header);
    }
    at += header == pm4::kNopOfOneWord ? 1 : (header >> 16 & 0x3fff) + 2;
    if (at > words.size())
      return Status(StatusCode::kInvalidArgument, "amd: the custom words end within a packet");
  }
  list_.words(words);
  return Status();
}

Result<std::array<std::uint32_t, 4>> indirect_buffer(std::uint64_t address, std::size_t words) {
  HALYARD_RETURN_IF_ERROR(check_address(address, 4, "the address of an indirect buffer"));
  if (words == 0)
    return Status(StatusCode::kInvalidArgument, "amd: an indirect buffer without words");
  HALYARD_RETURN_IF_ERROR(
      check_at_most(words, pm4::kMaxIndirectWords, "the number of an indirect buffer's words"));
  return std::array{pm4_header(pm4::kIndirectBuffer, 3), low_half(address), high_half(address),
                    static_cast<std::uint32_t>(words) | pm4::kIndirectValid};
}

void fill_with_nops(std::span<std::uint32_t> words) noexcept {
  constexpr std::size_t longest = 0x3fff + 1;  // the count of a longer one would mean one word
  while (!words.empty()) {
    const std::size_t size = std::min(words.size(), longest);
    std::ranges::fill(words.first(size), 0);
    words[0] = size == 1 ? pm4::kNopOfOneWord
                         : pm4_header(pm4::kNop, static_cast<std::uint32_t>(size) - 1);
    words = words.subspan(size);
  }
}

}  // namespace halyard::inline v0::amd
