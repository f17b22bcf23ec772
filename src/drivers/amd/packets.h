// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packets and registers of AMD's queues. Sources:
//   PM4    Linux, drivers/gpu/drm/amd/amdgpu: soc15d.h (gfx9), nvd.h (gfx10 and later). Registers:
//          drivers/gpu/drm/amd/include/asic_reg/gc/gc_9_4_3_offset.h, gc_11_0_0_offset.h
//   SDMA   Linux, drivers/gpu/drm/amd/amdgpu: vega10_sdma_pkt_open.h (4.x), sdma_v6_0_0_pkt_open.h
//   AQL    HSA Runtime Programmer's Reference Manual 1.2, 2.9 "Architected Queuing Language";
//          AMD's vendor packets: ROCR-Runtime, hsa_ext_amd.h and core/inc/amd_aql_pm4_ib.h
#pragma once

#include <cstdint>

namespace halyard::inline v0::amd {

// A type 3 packet of PM4 with `body` words after this header, at least 1.
constexpr std::uint32_t pm4_header(std::uint32_t opcode, std::uint32_t body) {
  return 3u << 30 | (body - 1) << 16 | opcode << 8;
}

namespace pm4 {

inline constexpr std::uint32_t kNop = 0x10;
inline constexpr std::uint32_t kDispatchDirect = 0x15;
inline constexpr std::uint32_t kPredExec = 0x23;
inline constexpr std::uint32_t kWriteData = 0x37;
inline constexpr std::uint32_t kWaitRegMem = 0x3c;
inline constexpr std::uint32_t kIndirectBuffer = 0x3f;
inline constexpr std::uint32_t kEventWrite = 0x46;
inline constexpr std::uint32_t kReleaseMem = 0x49;
inline constexpr std::uint32_t kAcquireMem = 0x58;
inline constexpr std::uint32_t kSetShReg = 0x76;

// A NOP that is its header only.
inline constexpr std::uint32_t kNopOfOneWord = 3u << 30 | 0x3fffu << 16 | kNop << 8;

// PRED_EXEC: the XCCs in bits 31:24 execute the next words, whose number is in bits 13:0.
inline constexpr unsigned kPredExecXccShift = 24;

// WAIT_REG_MEM, word 1.
inline constexpr std::uint32_t kWaitGreaterOrEqual = 5;
inline constexpr std::uint32_t kWaitMemory = 1u << 4;
inline constexpr std::uint32_t kWaitWriteThenWait = 1u << 6;  // registers: write one, wait for one
inline constexpr std::uint32_t kPollInterval = 4;

// WRITE_DATA, word 1. As in Linux, gfx_v11_0.c, gfx_v11_0_ring_test_ib(): the host sees the write.
inline constexpr std::uint32_t kWriteToMemory = 5u << 8;
inline constexpr std::uint32_t kWriteConfirm = 1u << 20;

// INDIRECT_BUFFER: the number of words, and a bit.
inline constexpr std::uint32_t kMaxIndirectWords = 0xfffff;
inline constexpr std::uint32_t kIndirectValid = 1u << 23;

// EVENT_WRITE and RELEASE_MEM: the event in bits 5:0, its index in bits 11:8.
inline constexpr std::uint32_t kCsPartialFlush = 0x07 | 4u << 8;
inline constexpr std::uint32_t kCacheFlushAndInvTs = 0x14 | 5u << 8;  // at the end of the pipe

// RELEASE_MEM, word 1: caches. Gfx10 and later.
inline constexpr std::uint32_t kReleaseGlmWb = 1u << 12;
inline constexpr std::uint32_t kReleaseGlmInv = 1u << 13;
inline constexpr std::uint32_t kReleaseGlvInv = 1u << 14;
inline constexpr std::uint32_t kReleaseGl1Inv = 1u << 15;
inline constexpr std::uint32_t kReleaseGl2Inv = 1u << 20;
inline constexpr std::uint32_t kReleaseGl2Wb = 1u << 21;
inline constexpr std::uint32_t kReleaseSeq = 1u << 22;
// Gfx9.
inline constexpr std::uint32_t kReleaseTcWb = 1u << 15;
inline constexpr std::uint32_t kReleaseTcNc = 1u << 19;
// RELEASE_MEM, word 2.
inline constexpr std::uint32_t kDataNone = 0u << 29;
inline constexpr std::uint32_t kData32 = 1u << 29;
inline constexpr std::uint32_t kDataClock = 3u << 29;
inline constexpr std::uint32_t kInterruptAfterWrite = 2u << 24;

// ACQUIRE_MEM, last word (GCR_CNTL). Gfx10 and later.
inline constexpr std::uint32_t kAcquireGliInv = 1u << 0;
inline constexpr std::uint32_t kAcquireGlmWb = 1u << 4;
inline constexpr std::uint32_t kAcquireGlmInv = 1u << 5;
inline constexpr std::uint32_t kAcquireGlkWb = 1u << 6;
inline constexpr std::uint32_t kAcquireGlkInv = 1u << 7;
inline constexpr std::uint32_t kAcquireGlvInv = 1u << 8;
inline constexpr std::uint32_t kAcquireGl1Inv = 1u << 9;
inline constexpr std::uint32_t kAcquireGl2Inv = 1u << 14;
inline constexpr std::uint32_t kAcquireGl2Wb = 1u << 15;
// ACQUIRE_MEM, word 1 (CP_COHER_CNTL), and its last word. Gfx9.
inline constexpr std::uint32_t kCoherTcWb = 1u << 18;
inline constexpr std::uint32_t kCoherTcl1 = 1u << 22;
inline constexpr std::uint32_t kCoherTc = 1u << 23;
inline constexpr std::uint32_t kCoherShKcache = 1u << 27;
inline constexpr std::uint32_t kCoherShIcache = 1u << 29;
inline constexpr std::uint32_t kCoherPollInterval = 10;

// SET_SH_REG: numbers of compute registers, from 0x2c00.
inline constexpr std::uint32_t kStartX = 0x204;  // START_X, _Y, _Z, NUM_THREAD_X, _Y, _Z, ...
inline constexpr std::uint32_t kPgmLo = 0x20c;
inline constexpr std::uint32_t kScratchBaseLo = 0x210;
inline constexpr std::uint32_t kRsrc1 = 0x212;
inline constexpr std::uint32_t kResourceLimits = 0x215;
inline constexpr std::uint32_t kTmpringSize = 0x218;
inline constexpr std::uint32_t kRestartX = 0x21b;
inline constexpr std::uint32_t kRsrc3Gfx11 = 0x228;
inline constexpr std::uint32_t kRsrc3Gfx9 = 0x22d;
inline constexpr std::uint32_t kUserData0 = 0x240;

// COMPUTE_PGM_RSRC1 and 2.
inline constexpr std::uint32_t kRsrc1Priv = 1u << 20;
inline constexpr unsigned kRsrc2LdsShift = 15;

// DISPATCH_INITIATOR, the last word of DISPATCH_DIRECT.
inline constexpr std::uint32_t kComputeShaderEnable = 1u << 0;
inline constexpr std::uint32_t kForceStartAt000 = 1u << 2;
inline constexpr std::uint32_t kWave32 = 1u << 15;

// COMPUTE_TMPRING_SIZE: waves in bits 11:0, memory of a wave from bit 12.
inline constexpr std::uint32_t kMaxScratchWaves = 0xfff;
inline constexpr unsigned kTmpringWaveSizeShift = 12;

// Registers that flush the HDP's writes, in words: 0x0106 and 0x0107 of NBIO's segment 2, which
// begins at 0xd20 (nbio_4_3_0_offset.h, nbio_7_9_0_offset.h).
inline constexpr std::uint32_t kHdpFlushRequest = 0xe26;
inline constexpr std::uint32_t kHdpFlushDone = 0xe27;

}  // namespace pm4

namespace sdma {

// Bits 7:0 of a packet's first word. Bits 15:8 are a sub-operation.
inline constexpr std::uint32_t kNop = 0;  // bits 29:16: how many words follow
inline constexpr std::uint32_t kCopyLinear = 1;
inline constexpr std::uint32_t kWriteLinear = 2;
inline constexpr std::uint32_t kIndirect = 4;
inline constexpr std::uint32_t kFence = 5;
inline constexpr std::uint32_t kTrap = 6;
inline constexpr std::uint32_t kPollRegMem = 8;
inline constexpr std::uint32_t kTimestampGetGlobal = 13 | 2u << 8;

// Words of packets. A NOP has 1 and its number; a write has 4 and its data.
inline constexpr std::uint32_t kCopyLinearWords = 7;
inline constexpr std::uint32_t kWriteLinearWords = 4;
inline constexpr std::uint32_t kIndirectWords = 6;
inline constexpr std::uint32_t kFenceWords = 4;
inline constexpr std::uint32_t kTrapWords = 2;
inline constexpr std::uint32_t kPollRegMemWords = 6;
inline constexpr std::uint32_t kTimestampWords = 3;

// The count of a copy, and that of a write, is one less than the number of bytes or words.
inline constexpr std::uint64_t kMaxCopyV4 = 1u << 22;  // 4.x: 22 bits
inline constexpr std::uint64_t kMaxCopyV6 = 1u << 30;
inline constexpr std::uint32_t kWriteCountMask = 0xfffff;

// An indirect buffer is a multiple of 8 words, and its packet ends at such a multiple in the ring
// (Linux, sdma_v6_0.c, sdma_v6_0_ring_emit_ib).
inline constexpr std::uint32_t kIndirectMultiple = 8;
inline constexpr std::uint32_t kMaxIndirectWords = 0xffff8;

inline constexpr std::uint32_t kFenceUncached = 3u << 16;  // MTYPE of 6.0; 4.x has none
inline constexpr std::uint32_t kPollGreaterOrEqual = 5u << 28;
inline constexpr std::uint32_t kPollMemory = 1u << 31;
// Retries without end (0xfff), every 4 clocks.
inline constexpr std::uint32_t kPollForever = 0xfffu << 16 | 4;

}  // namespace sdma

namespace aql {

inline constexpr std::uint32_t kPacketWords = 16;

// The header, 16 bits: the type in bits 7:0, then these.
inline constexpr std::uint32_t kVendorSpecific = 0;
inline constexpr std::uint32_t kInvalid = 1;
inline constexpr std::uint32_t kKernelDispatch = 2;
inline constexpr std::uint32_t kBarrierAnd = 3;
inline constexpr std::uint32_t kBarrierBit = 1u << 8;  // starts after all packets before it
inline constexpr std::uint32_t kAcquireSystem = 2u << 9;
inline constexpr std::uint32_t kReleaseSystem = 2u << 11;

// Setup of a dispatch, bits 31:16 of its first word: three dimensions.
inline constexpr std::uint32_t kThreeDimensions = 3u << 16;
// Format of a vendor packet, bits 23:16 of its first word: PM4 in an indirect buffer, whose
// packet is followed by the number of words that the rest of the AQL packet has.
inline constexpr std::uint32_t kFormatPm4Indirect = 1u << 16;
inline constexpr std::uint32_t kPm4IndirectRest = 10;

}  // namespace aql

}  // namespace halyard::inline v0::amd
