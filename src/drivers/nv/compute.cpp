// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/nv/compute.h"

#include "base/format.h"
#include "drivers/nv/qmd.h"

namespace halyard::inline v0::nv {
namespace {

using hcq::FieldRole;
using hcq::Operand;
using hcq::WordList;

constexpr std::uint32_t kReportPayloadLower = 0x0158;  // then UPPER, ADDRESS_LOWER, UPPER, EXECUTE
constexpr std::uint32_t kInvalidateTextureHeaders = 0x0244;  // ..._NO_WFI
constexpr std::uint32_t kInvalidateSked = 0x0298;
constexpr std::uint32_t kSharedWindow = 0x02a0;  // upper half first, as in all registers below
constexpr std::uint32_t kSendPcasA = 0x02b4;
constexpr std::uint32_t kSendSignalingPcas2B = 0x02c0;
constexpr std::uint32_t kLocalMemorySize = 0x02e4;  // SET_SHADER_LOCAL_MEMORY_NON_THROTTLED_A
constexpr std::uint32_t kLocalMemoryAddress = 0x0790;
constexpr std::uint32_t kLocalWindow = 0x07b0;
constexpr std::uint32_t kInvalidateSamplers = 0x1424;      // ..._NO_WFI
constexpr std::uint32_t kInvalidateShaderCaches = 0x1698;  // ..._NO_WFI
constexpr std::uint32_t kReportSemaphoreA = 0x1b00;        // upper, lower, payload, D

constexpr std::uint32_t kInstructions = 1u << 0;
constexpr std::uint32_t kGlobalData = 1u << 4;
constexpr std::uint32_t kConstants = 1u << 12;

// RELEASE of four words is 0 in both registers.
constexpr std::uint32_t kAwakenD = 1u << 20;       // SET_REPORT_SEMAPHORE_D
constexpr std::uint32_t kAwakenExecute = 1u << 2;  // REPORT_SEMAPHORE_EXECUTE
constexpr std::uint32_t kPayload64 = 1u << 12;

constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 32;
constexpr std::uint64_t kLocalMemoryAlignment = 1 << 17;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

void append_high_low(WordList& list, std::uint32_t method, std::uint64_t value) {
  list.word(incrementing(Subchannel::kCompute, method, 2));
  list.word(static_cast<std::uint32_t>(value >> 32));
  list.word(static_cast<std::uint32_t>(value));
}

Status check_window(const char* name, std::uint64_t window) {
  if (window % kWindowBytes != 0)
    return error(StatusCode::kInvalidArgument, "{} window at {:#x}: not a multiple of 4 GiB", name,
                 window);
  if (window == 0 || window >= kAddressLimit)
    return error(StatusCode::kOutOfRange, "{} window at {:#x}: 0, or more than 49 bits", name,
                 window);
  return {};
}

Status check_local_memory(const LocalMemory& memory) {
  if (memory.address % kLocalMemoryAlignment != 0)
    return error(StatusCode::kInvalidArgument, "local memory at {:#x}: not a multiple of {:#x}",
                 memory.address, kLocalMemoryAlignment);
  if (memory.address == 0 || memory.address >= kCommandAddressLimit)
    return error(StatusCode::kOutOfRange, "local memory at {:#x}: 0, or more than 40 bits",
                 memory.address);
  if (memory.bytes_per_tpc >> 40 != 0)
    return error(StatusCode::kOutOfRange, "local memory of {} bytes for a TPC: more than 40 bits",
                 memory.bytes_per_tpc);
  if (memory.max_sms > 0x1ff)
    return error(StatusCode::kOutOfRange, "local memory for {} SMs: more than 9 bits",
                 memory.max_sms);
  return {};
}

void append_local_memory(WordList& list, const LocalMemory& memory) {
  append_high_low(list, kLocalMemoryAddress, memory.address);
  list.word(incrementing(Subchannel::kCompute, kLocalMemorySize, 3));
  list.word(static_cast<std::uint32_t>(memory.bytes_per_tpc >> 32));
  list.word(static_cast<std::uint32_t>(memory.bytes_per_tpc));
  list.word(memory.max_sms);
}

}  // namespace

std::uint64_t local_memory_bytes_per_tpc(std::uint32_t bytes_per_thread, std::uint32_t warps_per_sm,
                                         std::uint32_t sms_per_tpc) noexcept {
  constexpr std::uint64_t kThreadsOfWarp = 32;
  const std::uint64_t warp = round_up(kThreadsOfWarp * bytes_per_thread, 512);
  return round_up(warp * warps_per_sm * sms_per_tpc, 32768);
}

Status set_up_compute(WordList& list, const ComputeSetup& setup) {
  HALYARD_RETURN_IF_ERROR(check_window("shared", setup.shared_window));
  HALYARD_RETURN_IF_ERROR(check_window("local", setup.local_window));
  if (setup.shared_window == setup.local_window)
    return error(StatusCode::kInvalidArgument, "the shared and the local window are both at {:#x}",
                 setup.shared_window);
  const bool has_local_memory = setup.local_memory.bytes_per_tpc != 0;
  if (has_local_memory) HALYARD_RETURN_IF_ERROR(check_local_memory(setup.local_memory));
  HALYARD_RETURN_IF_ERROR(bind_class(list, Subchannel::kCompute, setup.class_id));
  if (setup.invalidate_caches)
    for (const std::uint32_t method :
         {kInvalidateSked, kInvalidateSamplers, kInvalidateTextureHeaders})
      list.word(method_header(MethodKind::kImmediate, Subchannel::kCompute, method, 0));
  append_high_low(list, kLocalWindow, setup.local_window);
  append_high_low(list, kSharedWindow, setup.shared_window);
  if (has_local_memory) append_local_memory(list, setup.local_memory);
  return {};
}

Status set_local_memory(WordList& list, const LocalMemory& memory) {
  HALYARD_RETURN_IF_ERROR(check_local_memory(memory));
  append_local_memory(list, memory);
  return {};
}

Status launch(WordList& list, std::uint64_t address, LaunchAction action) {
  if (address % kQmdAlignment != 0)
    return error(StatusCode::kInvalidArgument, "QMD at {:#x}: not a multiple of 256", address);
  if (address == 0 || address >= kCommandAddressLimit)
    return error(StatusCode::kOutOfRange, "QMD at {:#x}: 0, or more than 40 bits", address);
  list.word(incrementing(Subchannel::kCompute, kSendPcasA, 1));
  list.word(static_cast<std::uint32_t>(address >> 8));
  list.word(incrementing(Subchannel::kCompute, kSendSignalingPcas2B, 1));
  list.word(static_cast<std::uint32_t>(action));
  return {};
}

void invalidate_shader_caches(WordList& list) {
  list.word(incrementing(Subchannel::kCompute, kInvalidateShaderCaches, 1));
  list.word(kInstructions | kGlobalData | kConstants);
}

Status release_semaphore_by_compute(WordList& list, std::uint64_t address, const Operand& value,
                                    PayloadBits bits, Interrupt interrupt) {
  HALYARD_RETURN_IF_ERROR(check_semaphore(address));
  HALYARD_RETURN_IF_ERROR(check_payload(value, bits));
  const bool awaken = interrupt == Interrupt::kNonStall;
  const auto low = static_cast<std::uint32_t>(address);
  const auto high = static_cast<std::uint32_t>(address >> 32);
  if (bits == PayloadBits::k32) {
    list.word(incrementing(Subchannel::kCompute, kReportSemaphoreA, 4));
    list.word(high);
    list.word(low);
    list.field32({FieldRole::kSignal, value});
    list.word(awaken ? kAwakenD : 0);
  } else {
    list.word(incrementing(Subchannel::kCompute, kReportPayloadLower, 5));
    list.field64({FieldRole::kSignal, value});
    list.word(low);
    list.word(high);
    list.word(kPayload64 | (awaken ? kAwakenExecute : 0));
  }
  return {};
}

}  // namespace halyard::inline v0::nv
