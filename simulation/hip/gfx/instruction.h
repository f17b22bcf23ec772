// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoded instruction of gfx1100: an operation and its operands, independent of the encoding.
// AMD, "RDNA3 Instruction Set Architecture" (the manual below), wave32.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace halyard::inline v0::sim::gfx {

// Operations, independent of their encoding: v_add_f32 is that of VOP2, VOP3, DPP and either half
// of VOPD. Vector memory operations are named without their segment: load_b32 is flat_load_b32 or
// buffer_load_b32, depending on Instruction::segment. Forms with and without a result, such as
// ds_add_rtn_u32 and ds_add_u32, or atomic_add_u32 with and without "glc", are the same operation;
// Instruction::destination distinguishes them.
enum class Opcode : std::uint16_t {
#define HALYARD_GFX_OPCODE(name, ...) name,
#include "simulation/hip/gfx/opcodes.def"
#undef HALYARD_GFX_OPCODE
};
#define HALYARD_GFX_OPCODE(...) +1
inline constexpr unsigned kOpcodes = 0
#include "simulation/hip/gfx/opcodes.def"
    ;
#undef HALYARD_GFX_OPCODE

// The type and width of an operand. It determines the meaning of an inline constant.
enum class Type : std::uint8_t {
  kNone,
  kB16,
  kI16,
  kU16,
  kF16,
  kBf16,
  kB32,
  kI32,
  kU32,
  kF32,
  kB64,
  kI64,
  kU64,
  kF64,
  kB96,
  kB128,
  kB256,
  kB512,
  kPackedB16,
  kPackedI16,
  kPackedU16,
  kPackedF16,
  kPackedBf16,  // two in 32 bits
  kMix,         // f32, or if op_sel_hi is set the f16 that op_sel chooses (v_fma_mix*)
  kMask,        // a bit per lane, in a scalar register
  kExec,        // the same, always EXEC
  kScalar,      // one scalar register
};
unsigned bits_of(Type type);
// 32-bit registers that the type takes: 1 for 16 bits.
inline unsigned registers_of(Type type) { return (bits_of(type) + 31) / 32; }

enum class Group : std::uint8_t {
  kScalar,        // SOP1, SOP2, SOPC, SOPK on values
  kControl,       // branches, ends, barriers, messages, traps
  kWait,          // waits, hints, caches: no effect, as execution is in order
  kScalarMemory,  // SMEM
  kVector,        // VOP1, VOP2, VOP3
  kCompare,       // v_cmp*, v_cmpx*
  kPacked,        // VOP3P
  kMatrix,        // WMMA
  kLds,           // DS
  kMemory,        // FLAT, GLOBAL, SCRATCH, MUBUF
};

// Facts about an operation in addition to its operands.
enum Fact : std::uint32_t {
  kReadsScc = 1u << 0,
  kWritesScc = 1u << 1,
  kReadsVcc = 1u << 2,   // not as an operand
  kReadsExec = 1u << 3,  // as a value (s_and_saveexec_b32); vector operations use it as a mask
  kWritesExec = 1u << 4,
  kReadsM0 = 1u << 5,
  kReadsDestination = 1u << 6,  // keeps a part of it: d16 loads, s_cmov_b32, v_writelane_b32
  kWritesSource = 1u << 7,      // v_swap_b32
  kIgnoresExec = 1u << 8,       // v_readfirstlane_b32 uses it only to choose the lane
  kBranches = 1u << 9,
  kEnds = 1u << 10,
  kLoads = 1u << 11,
  kStores = 1u << 12,
  kAtomic = 1u << 13,
  kCrossLane = 1u << 14,  // DS without LDS: ds_bpermute_b32, ds_swizzle_b32
  // Modifiers that the operation takes, in encodings that have them.
  kTakesClamp = 1u << 15,
  kTakesOutputModifier = 1u << 16,
  kTakesDpp = 1u << 17,
};

struct OpcodeFacts {
  std::string_view name;  // LLVM's, without "_e32" and the like
  Group group;
  Type destination, second_destination;
  std::array<Type, 3> sources;
  std::uint32_t facts;
  unsigned source_count() const;
};
const OpcodeFacts& facts_of(Opcode opcode);

enum class OperandKind : std::uint8_t {
  kNone,      // absent: `off`, no result wanted
  kVector,    // v[index], and the next by the type's width
  kScalar,    // s[index], and the next: by the encoding, see below
  kConstant,  // `bits`: an inline constant or literal
  kSpecial,   // Special(index)
};
// Scalar registers by their number in the encoding: s0..s105, then these.
inline constexpr unsigned kVccLow = 106, kVccHigh = 107, kTrapTemporary = 108, kNull = 124,
                          kM0 = 125, kExecLow = 126, kExecHigh = 127, kScalarRegisters = 128;
// kNull reads as 0 and drops writes. kExecHigh and kVccHigh have no function in wave32, but keep
// their values.

// Sources that are not registers, by their number in the encoding.
enum class Special : std::uint8_t {
  kSharedBase = 235,  // 64 bits: the aperture's address; as 32 bits its high half
  kSharedLimit = 236,
  kPrivateBase = 237,
  kPrivateLimit = 238,
  kVccz = 251,  // gfx11 has neither this nor the next: refused
  kExecz = 252,
  kScc = 253,
};

struct Operand {
  OperandKind kind = OperandKind::kNone;
  Type type = Type::kNone;
  std::uint8_t encoded = 0;               // 255: a literal; else only for print
  bool negate = false, absolute = false;  // first absolute, then negate
  // 16-bit operands: take the high half (VOP3 op_sel; in VOP1, VOP2, VOPC the register's bit 7).
  // Packed operands: the half that the result's low half reads (op_sel).
  bool high = false;
  // Packed operands: the half that the result's high half reads (op_sel_hi). kMix: the source is an
  // f16.
  bool high_for_high = false;
  // Packed operands and matrices: neg_hi; `negate` is neg_lo. (What neg_hi means as an absolute
  // value, of kMix and of the matrix that a product is added to, is in `absolute`.) Operands of
  // v_dot4_i32_iu8, v_dot8_i32_iu4, v_wmma_i32_*: signed where `negate` is set.
  bool negate_high = false;
  std::uint16_t index = 0;
  // A constant, already of the operand's type: f16 constants are f16 bits, an f64 literal has its
  // 32 bits on top, integers are extended by their sign to 64 bits. Packed: an inline constant has
  // its value in the low half (integers: 32 bits), a literal both halves.
  std::uint64_t bits = 0;

  bool operator==(const Operand&) const = default;
  bool is(OperandKind k) const { return kind == k; }
  explicit operator bool() const { return kind != OperandKind::kNone; }
};

enum class OutputModifier : std::uint8_t { kNone, kTimes2, kTimes4, kHalf };

enum class Dpp : std::uint8_t { kNone, kDpp16, kDpp8 };

// The DPP of source 0, which applies before its modifiers (manual, section 7.7).
struct DppControl {
  Dpp kind = Dpp::kNone;
  // DPP16: bits 8-0, as encoded: 0-0xff quad_perm, 0x101-0x10f row_shl, 0x111-0x11f row_shr,
  // 0x121-0x12f row_ror, 0x140 row_mirror, 0x141 row_half_mirror, 0x150-0x15f row_share,
  // 0x160-0x16f row_xmask.
  std::uint16_t control = 0;
  std::uint8_t row_mask = 0xf, bank_mask = 0xf;
  bool bound_control = false;            // an invalid lane reads as 0; otherwise no write
  bool fetch_inactive = false;           // lanes that EXEC disables are read
  std::array<std::uint8_t, 8> select{};  // DPP8: the lane of eight that each lane reads
  bool operator==(const DppControl&) const = default;
};

enum class Segment : std::uint8_t { kNone, kFlat, kGlobal, kScratch, kBuffer, kLds };

// Counters that s_waitcnt* waits for; kAny: not waited for.
struct WaitCounts {
  static constexpr std::uint8_t kAny = 0xff;
  std::uint8_t vector_loads = kAny, vector_stores = kAny, scalar_and_lds = kAny, exports = kAny;
  bool operator==(const WaitCounts&) const = default;
};

enum class Encoding : std::uint8_t {
  kSop1,
  kSop2,
  kSopk,
  kSopc,
  kSopp,
  kSmem,
  kVop1,
  kVop2,
  kVopc,
  kVop3,
  kVop3p,
  kVopdX,
  kVopdY,
  kDs,
  kFlat,
  kGlobal,
  kScratch,
  kMubuf,
};

// Operands by operation:
// - In general: as the assembler writes them, destinations separately. Implied operands are
//   included: v_cndmask_b32's mask is source 2 (vcc in VOP2), v_add_co_ci_u32's carry is source 2,
//   its second destination the carry out; v_cmp*'s destination is a mask (vcc in VOPC), v_cmpx*'s
//   is EXEC.
// - v_fmac_*, v_dot2acc_*, v_pk_fmac_*: source 2 is the destination. v_fmamk_*, v_fmaak_*: sources
//   are ordered so that the result is s0 * s1 + s2.
// - s_addk_i32, s_mulk_i32, s_cmpk_*: source 0 is the register, source 1 the constant.
//   s_getreg_b32: source 0 is the constant; s_setreg_*: source 0 is the constant, 1 the value.
// - SMEM: base (2 or 4 registers), register offset or none; then `offset`.
// - DS: address, if any, data 0, data 1.
// - FLAT, GLOBAL, SCRATCH: address register or none (global: 64 bits, or 32 bits if source 2 is
//   there), data, scalar base or none; then `offset`. All are added.
// - MUBUF: address register (offset, index, or both: index first) or none, data, the four scalar
//   registers of the descriptor, scalar offset as source 3; then `offset`.
// - Atomics that compare: the low half of data is the new value, the high half the value to compare
//   with. In DS (ds_cmpstore) data 0 is the new value, data 1 the value to compare with.
struct Instruction {
  Opcode opcode = Opcode::s_nop;
  Encoding encoding = Encoding::kSopp;
  Segment segment = Segment::kNone;
  Operand destination;         // `high`: writes the high half, keeps the low one
  Operand second_destination;  // v_add_co_u32, v_div_scale_*, v_mad_u64_u32: a mask
  std::array<Operand, 4> sources;

  bool clamp = false;
  OutputModifier output = OutputModifier::kNone;
  // The first instruction of a VOPD: it and the next instruction read their operands before either
  // writes.
  bool is_dual_with_next = false;
  DppControl dpp;
  // v_permlane16_b32, v_permlanex16_b32: fetch inactive lanes, and bound control, are op_sel bits 0
  // and 1, stored in `dpp` with Dpp::kNone.

  std::int32_t offset = 0;   // bytes; DS with two addresses: offset0, in elements
  std::int32_t offset1 = 0;  // DS with two addresses; in elements
  bool glc = false, slc = false, dlc = false;
  bool offset_enable = false, index_enable = false;  // MUBUF

  std::uint16_t immediate = 0;  // SOPP, SOPK: the encoded 16 bits
  WaitCounts wait;              // s_waitcnt*
  // The target of kBranches, except s_setpc_b64 and s_swappc_b64: an index in
  // Program::instructions.
  std::uint32_t target = 0;

  std::uint32_t offset_in_code = 0;  // bytes from the start of the code
  std::uint8_t size = 4;             // bytes: 4, 8 or 12; 0 for the second of a VOPD

  unsigned source_count() const { return facts_of(opcode).source_count(); }
  bool operator==(const Instruction&) const = default;
};

}  // namespace halyard::inline v0::sim::gfx
