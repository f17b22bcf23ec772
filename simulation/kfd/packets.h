// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packets of AMD's queues. PM4: amdgpu/nvd.h and soc15d.h of Linux. AQL: "HSA Runtime Programmer's
// Reference Manual" and hsa_ext_amd.h. SDMA: amdgpu/sdma_v6_0_0_pkt_open.h and
// vega10_sdma_pkt_open.h of Linux.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace halyard::inline v0::sim::kfd {

// The address of which words `low` and `low` + 1 of a packet are the halves.
inline std::uint64_t address_of(std::span<const std::uint32_t> words, std::size_t low) {
  return words[low] | std::uint64_t{words[low + 1]} << 32;
}

namespace pm4 {
enum Opcode : std::uint32_t {
  kNop = 0x10,
  kDispatchDirect = 0x15,
  kDispatchIndirect = 0x16,
  kPredExec = 0x23,
  kWriteData = 0x37,
  kWaitRegMem = 0x3c,
  kIndirectBuffer = 0x3f,
  kCopyData = 0x40,
  kEventWrite = 0x46,
  kReleaseMem = 0x49,
  kAcquireMem = 0x58,
  kSetShReg = 0x76,
  kSetUconfigReg = 0x79,
  kWaitRegMem64 = 0x93,
};
// Compute registers, relative to 0x2c00 (PACKET3_SET_SH_REG_START): amdgpu gc_11_0_0_offset.h.
enum Register : std::uint32_t {
  kStartX = 0x204,
  kNumThreadX = 0x207,
  kPgmLow = 0x20c,
  kScratchBaseLow = 0x210,
  kRsrc1 = 0x212,
  kRsrc2 = 0x213,
  kTmpringSize = 0x218,
  kRsrc3Gfx11 = 0x228,
  kRsrc3Gfx9 = 0x22d,
  kUserData = 0x240,
  kShRegisters = 0x400,
};
// HDP_FLUSH_REQ and HDP_FLUSH_DONE, as registers that WAIT_REG_MEM writes and waits for.
inline constexpr std::uint32_t kHdpFlushRequest = 0xe26, kHdpFlushDone = 0xe27;
inline constexpr std::uint32_t kCacheFlushAndInvTs = 0x14, kBottomOfPipeTs = 0x28, kCsDone = 0x2f;
inline constexpr std::uint32_t kCsPartialFlush = 7;
}  // namespace pm4

namespace aql {
enum PacketType : std::uint32_t {
  kVendor = 0,
  kInvalid = 1,
  kDispatch = 2,
  kBarrierAnd = 3,
  kBarrierOr = 5
};
enum VendorFormat : std::uint32_t { kPm4Ib = 1, kBarrierValue = 2 };  // hsa_amd_packet_type_t
inline constexpr std::uint32_t kPacketBytes = 64;
}  // namespace aql

namespace sdma {
enum Opcode : std::uint32_t {
  kNop = 0,
  kCopy = 1,
  kWrite = 2,
  kIndirect = 4,
  kFence = 5,
  kTrap = 6,
  kPollRegmem = 8,
  kConstantFill = 11,
  kTimestamp = 13,
  kGcr = 17,
};
}  // namespace sdma

}  // namespace halyard::inline v0::sim::kfd
