// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>

#include "simulation/hip/gfx/decoder.h"
#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

constexpr unsigned kFirstConstant = 128, kLastPositive = 192, kLastNegative = 208,
                   kFirstFloat = 240, kLastFloat = 248;

// 0.5, -0.5, 1, -1, 2, -2, 4, -4 and 1 / (2 pi): manual, section 4.2 (operand encoding).
constexpr std::array<std::uint16_t, 9> kF16 = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                               0xc000, 0x4400, 0xc400, 0x3118};
constexpr std::array<std::uint16_t, 9> kBf16 = {0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000,
                                                0xc000, 0x4080, 0xc080, 0x3e22};
constexpr std::array<std::uint32_t, 9> kF32 = {0x3f000000, 0xbf000000, 0x3f800000,
                                               0xbf800000, 0x40000000, 0xc0000000,
                                               0x40800000, 0xc0800000, 0x3e22f983};
constexpr std::array<std::uint64_t, 9> kF64 = {
    0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
    0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
    0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

// Floating-point constants have the operand's width, even if the operand is an integer.
std::uint64_t float_constant(Type type, unsigned index) {
  switch (type) {
    case Type::kB16:
    case Type::kI16:
    case Type::kU16:
    case Type::kF16:
    case Type::kPackedF16:
      return kF16[index];
    case Type::kBf16:
    case Type::kPackedBf16:
      return kBf16[index];
    case Type::kB64:
    case Type::kI64:
    case Type::kU64:
    case Type::kF64:
      return kF64[index];
    default:
      return kF32[index];  // packed integers as well
  }
}

}  // namespace

bool Decoder::vector_register(Operand& operand, Type type, unsigned code) {
  if (code + registers_of(type) > 256) {
    return refuse(
        join("v", code, " and the next ", registers_of(type) - 1, " are more than there are"));
  }
  operand.kind = OperandKind::kVector;
  operand.type = type;
  operand.index = static_cast<std::uint16_t>(code);
  return true;
}

bool Decoder::short_vector_register(Operand& operand, Type type, unsigned code) {
  if (!is_16_bit(type)) return vector_register(operand, type, code);
  operand.high = bit(code, 7);
  return vector_register(operand, type, code & 127);
}

bool Decoder::scalar_register(Operand& operand, Type type, unsigned code) {
  const unsigned count = registers_of(type);
  if (code >= kScalarRegisters) return refuse(join(code, " is no scalar register"));
  operand.kind = OperandKind::kScalar;
  operand.type = type;
  operand.index = static_cast<std::uint16_t>(code);
  if (count == 1 || (code == kNull && count == 2)) return true;
  // Aligned, and within s0-s105, vcc, ttmp0-ttmp15 or exec.
  const unsigned alignment = count == 2 ? 2 : 4;
  const unsigned end = code < kVccLow          ? kVccLow
                       : code < kTrapTemporary ? kTrapTemporary
                       : code < kNull          ? kNull
                       : code >= kExecLow      ? kScalarRegisters
                                               : code;
  if (code % alignment != 0 || code + count > end) {
    return refuse(join(count, " scalar registers from number ", code, " on do not go together"));
  }
  return true;
}

bool Decoder::literal(Operand& operand, Type type) {
  if (!literal_) {
    literal_ = next_word();
    if (!literal_) return false;
  }
  operand.kind = OperandKind::kConstant;
  operand.type = type;
  operand.encoded = kSourceLiteral;
  switch (type) {
    case Type::kF64:
      operand.bits = std::uint64_t{*literal_} << 32;
      break;
    case Type::kI64:
      operand.bits = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(*literal_)});
      break;
    case Type::kB16:
    case Type::kI16:
    case Type::kU16:
    case Type::kF16:
    case Type::kBf16:
      operand.bits = *literal_ & 0xffff;
      break;
    default:
      operand.bits = *literal_;
      break;
  }
  return true;
}

bool Decoder::constant(Operand& operand, Type type, unsigned code) {
  operand.kind = OperandKind::kConstant;
  operand.type = type;
  operand.encoded = static_cast<std::uint8_t>(code);
  if (code <= kLastPositive) {
    operand.bits = code - kFirstConstant;
  } else if (code <= kLastNegative) {
    operand.bits = static_cast<std::uint64_t>(std::int64_t{kLastPositive} - std::int64_t{code});
  } else {
    operand.bits = float_constant(type, code - kFirstFloat);
  }
  return true;
}

bool Decoder::scalar_source(Operand& operand, Type type, unsigned code) {
  if (code < kScalarRegisters) return scalar_register(operand, type, code);
  if (code == kSourceLiteral) return literal(operand, type);
  if ((code >= kFirstConstant && code <= kLastNegative) ||
      (code >= kFirstFloat && code <= kLastFloat)) {
    return constant(operand, type, code);
  }
  switch (static_cast<Special>(code)) {
    case Special::kSharedBase:
    case Special::kSharedLimit:
    case Special::kPrivateBase:
    case Special::kPrivateLimit:
    case Special::kScc:
      operand.kind = OperandKind::kSpecial;
      operand.type = type;
      operand.index = static_cast<std::uint16_t>(code);
      return true;
    case Special::kVccz:
    case Special::kExecz:
      break;
  }
  if (code == kSourceLdsDirect) return refuse("a source is lds_direct, which is not built");
  if (code == kSourceSdwa) return refuse("a source is by SDWA, which gfx11 does not have");
  if (is_dpp(code)) return refuse("DPP is where the operation does not have it");
  return refuse(join("a source is encoded as ", code, ", which gfx11 does not have"));
}

bool Decoder::source(Operand& operand, Type type, unsigned code) {
  if (code < kSourceVector) return scalar_source(operand, type, code);
  return vector_register(operand, type, code - kSourceVector);
}

}  // namespace halyard::inline v0::sim::gfx
