// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/cuda/ptx/lowering.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "simulation/cuda/ptx/machine.h"

namespace halyard::inline v0::sim::ptx {
namespace {

// Each constant is stored 32 times. This bounds them to 64 MiB for any text.
constexpr std::size_t kMostConstantBytes = std::size_t{64} << 20;

// Bytes of a lane of a register of this type.
std::uint32_t width_of(Type type) { return type.bytes == 1 ? 2 : type.bytes; }

}  // namespace

void Lowering::begin(const Instruction& instruction) {
  instruction_ = &instruction;
  taken_.assign(instruction.modifiers.size(), false);
}

void Lowering::fail(std::string message) const {
  throw SyntaxError{instruction_ == nullptr ? 0 : instruction_->line, std::move(message)};
}

void Lowering::fail_modifier() const {
  std::string name(opcode());
  for (const std::string_view modifier : instruction_->modifiers) {
    name.append(".").append(modifier);
  }
  fail("Illegal modifiers or unsupported form of instruction '" + name + "'");
}

void Lowering::check_modifiers() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i]) {
      fail("Unknown modifier '." + std::string(instruction_->modifiers[i]) + "' for instruction '" +
           std::string(opcode()) + "'");
    }
  }
}

const Operand& Lowering::operand(std::size_t i) {
  if (i >= instruction_->operands.size()) {
    fail("Too few operands for instruction '" + std::string(opcode()) + "'");
  }
  return instruction_->operands[i];
}

void Lowering::expect_operands(std::size_t least, std::size_t most) {
  operand(least == 0 ? 0 : least - 1);
  if (instruction_->operands.size() > most) {
    fail("Too many operands for instruction '" + std::string(opcode()) + "'");
  }
}

bool Lowering::take(std::string_view modifier) {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i] && instruction_->modifiers[i] == modifier) {
      taken_[i] = true;
      return true;
    }
  }
  return false;
}

bool Lowering::has_modifier(std::string_view modifier) const {
  return std::ranges::find(instruction_->modifiers, modifier) != instruction_->modifiers.end();
}

std::optional<std::string_view> Lowering::take_any(std::span<const std::string_view> modifiers) {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i] && std::ranges::find(modifiers, instruction_->modifiers[i]) != modifiers.end()) {
      taken_[i] = true;
      return instruction_->modifiers[i];
    }
  }
  return std::nullopt;
}

std::optional<Type> Lowering::take_type_if() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i]) continue;
    const Type type = type_of(instruction_->modifiers[i]);
    if (type.kind == Kind::kNone) continue;
    taken_[i] = true;
    return type;
  }
  return std::nullopt;
}

Type Lowering::take_type() {
  const std::optional<Type> type = take_type_if();
  if (!type) fail("Missing type of instruction '" + std::string(opcode()) + "'");
  return *type;
}

Slot Lowering::number(std::uint64_t bits, std::uint32_t bytes) {
  if (bytes < 8) bits &= (std::uint64_t{1} << (8 * bytes)) - 1;
  auto& numbers = numbers_[std::countr_zero(bytes)];
  const auto [at, is_new] = numbers.try_emplace(bits, kNoSlot);
  if (is_new) {
    std::vector<std::byte>& constants = program_.constants;
    const std::size_t offset = (constants.size() + kSlotAlignment - 1) & ~(kSlotAlignment - 1);
    if (offset > kMostConstantBytes) fail("Too many constants");
    constants.resize(offset + kLanes * bytes);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      std::memcpy(&constants[offset + lane * bytes], &bits, bytes);
    }
    at->second = slot_of(Base::kConstants, static_cast<std::uint32_t>(offset));
  }
  return at->second;
}

Slot Lowering::predicate_constant(bool value) { return number(value ? UINT64_MAX : 0, 4); }

namespace {

void negate(Warp& warp, const Ins& ins) { warp.set_predicate(ins.d, ~warp.predicate(ins.a)); }

// The bytes at Ins::imm in a lane's part of the running function's local memory.
std::byte* local_bytes(Warp& warp, const Ins& ins, unsigned lane) {
  return warp.locals.data() + std::size_t{lane} * warp.local_stride + warp.local + ins.imm;
}

template <class T>
void store_local(Warp& warp, const Ins& ins) {
  const T* const from = warp.in<T>(ins.a);
  each_active(warp.exec, [&](unsigned lane) {
    std::memcpy(local_bytes(warp, ins, lane), &from[lane], sizeof(T));
  });
}

template <class T>
void load_local(Warp& warp, const Ins& ins) {
  T* const to = warp.at<T>(ins.d);
  each_active(warp.exec, [&](unsigned lane) {
    std::memcpy(&to[lane], local_bytes(warp, ins, lane), sizeof(T));
  });
}

using Wide = std::array<std::uint64_t, 2>;

}  // namespace

void Lowering::emit_local_store(std::uint32_t offset, Slot from, std::uint32_t bytes) {
  Ins ins;
  ins.run = bytes == 2   ? store_local<std::uint16_t>
            : bytes == 4 ? store_local<std::uint32_t>
            : bytes == 8 ? store_local<std::uint64_t>
                         : store_local<Wide>;
  ins.a = from;
  ins.imm = offset;
  emit(ins);
}

void Lowering::emit_local_load(Slot to, std::uint32_t offset, std::uint32_t bytes) {
  Ins ins;
  ins.run = bytes == 2   ? load_local<std::uint16_t>
            : bytes == 4 ? load_local<std::uint32_t>
            : bytes == 8 ? load_local<std::uint64_t>
                         : load_local<Wide>;
  ins.d = to;
  ins.imm = offset;
  emit(ins);
}

bool Lowering::is_register(const Operand& operand) {
  return operand.kind == Operand::Kind::kName && operand.value == 0 &&
         find(operand).kind == Symbol::Kind::kRegister;
}

Type Lowering::register_type(const Operand& operand) {
  if (operand.kind != Operand::Kind::kName) {
    fail("Arguments mismatch for instruction '" + std::string(opcode()) + "'");
  }
  const Symbol symbol = find(operand);
  if (symbol.kind != Symbol::Kind::kRegister) {
    fail("Arguments mismatch for instruction '" + std::string(opcode()) + "'");
  }
  return symbol.type;
}

Slot Lowering::target(const Operand& operand, Type type, bool is_loose) {
  if (operand.kind == Operand::Kind::kNone) return slot_of(Base::kSink, 0);
  if (operand.kind != Operand::Kind::kName || operand.negated || operand.value != 0) {
    fail("Arguments mismatch for instruction '" + std::string(opcode()) + "'");
  }
  const Symbol symbol = find(operand);
  if (symbol.kind != Symbol::Kind::kRegister ||
      (symbol.slot & 3) != static_cast<Slot>(Base::kFrame)) {
    fail("Arguments mismatch for instruction '" + std::string(opcode()) + "'");
  }
  const bool is_predicate = type.kind == Kind::kPredicate;
  if ((symbol.type.kind == Kind::kPredicate) != is_predicate ||
      (is_loose ? width_of(symbol.type) < width_of(type)
                : width_of(symbol.type) != width_of(type))) {
    fail("Arguments mismatch for instruction '" + std::string(opcode()) + "'");
  }
  return symbol.slot;
}

Slot Lowering::source(const Operand& operand, Type type, bool is_loose) {
  if (operand.kind == Operand::Kind::kNumber) {
    std::uint64_t bits = operand.value;
    const std::uint32_t bytes = std::max<std::uint32_t>(type.bytes, 2);
    if (operand.number == Number::kDouble && type.bytes == 4) {
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    } else if (operand.number == Number::kFloat && type.bytes == 8) {
      bits = std::bit_cast<std::uint64_t>(
          double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))});
    } else if (operand.number == Number::kInteger && type.kind == Kind::kFloat) {
      fail("Arguments mismatch for instruction '" + std::string(opcode()) + "'");
    }
    return number(bits, bytes);
  }
  if (operand.kind != Operand::Kind::kName || operand.negated || operand.value != 0) {
    fail("Arguments mismatch for instruction '" + std::string(opcode()) + "'");
  }
  const Symbol symbol = find(operand);
  if (symbol.kind != Symbol::Kind::kRegister) {
    fail("Arguments mismatch for instruction '" + std::string(opcode()) + "'");
  }
  const std::uint32_t width = width_of(symbol.type), wanted = width_of(type);
  if ((symbol.type.kind == Kind::kPredicate) != (type.kind == Kind::kPredicate) ||
      (is_loose ? width < wanted : width != wanted)) {
    fail("Arguments mismatch for instruction '" + std::string(opcode()) + "'");
  }
  return symbol.slot;
}

Slot Lowering::predicate(const Operand& operand) {
  if (operand.kind == Operand::Kind::kNumber) return predicate_constant(operand.value != 0);
  if (!operand.negated) return source(operand, kPredicateType);
  Operand whole = operand;
  whole.negated = false;
  Ins ins;
  ins.run = negate;
  ins.line = instruction_->line;
  ins.a = source(whole, kPredicateType);
  ins.d = temporary(sizeof(LaneMask));
  program_.code.push_back(ins);
  return ins.d;
}

Slot Lowering::predicate_target(const Operand& operand) { return target(operand, kPredicateType); }

std::uint64_t Lowering::immediate(const Operand& operand) {
  if (operand.kind != Operand::Kind::kNumber || operand.number != Number::kInteger) {
    fail("Integer constant expected by instruction '" + std::string(opcode()) + "'");
  }
  return operand.value;
}

std::uint32_t Lowering::append_slots(std::span<const Slot> slots) {
  const auto first = static_cast<std::uint32_t>(program_.slots.size());
  program_.slots.insert(program_.slots.end(), slots.begin(), slots.end());
  return first;
}

void Lowering::address(const Operand& operand, Ins& ins, std::optional<MemorySpace> space) {
  if (operand.kind != Operand::Kind::kAddress) {
    fail("Address expected by instruction '" + std::string(opcode()) + "'");
  }
  ins.space = space.value_or(MemorySpace::kGeneric);
  ins.imm = static_cast<std::int64_t>(operand.value);
  if (ins.space == MemorySpace::kParameter && !is_in_entry_) ins.space = MemorySpace::kLocal;
  if (operand.name.empty()) return;
  const Symbol symbol = find(operand);
  const auto mismatch = [&] {
    fail("State space mismatch between instruction and address '" + std::string(operand.name) +
         "'");
  };
  switch (symbol.kind) {
    case Symbol::Kind::kRegister:
      if (!symbol.type.is_integer() || symbol.type.bytes < 4 || symbol.type.bytes > 8) {
        fail("Arguments mismatch for instruction '" + std::string(opcode()) + "'");
      }
      ins.a = symbol.slot;
      if (symbol.type.bytes == 4) ins.flags |= kAddress32;
      return;
    case Symbol::Kind::kVariable:
      if (space && *space != MemorySpace::kGlobal) mismatch();
      ins.space = MemorySpace::kGlobal;
      ins.flags |= kAddressVariable;
      ins.a = symbol.index;
      return;
    case Symbol::Kind::kShared:
      if (space && *space != MemorySpace::kShared) mismatch();
      ins.space = MemorySpace::kShared;
      break;
    case Symbol::Kind::kLocal:
      if (space && *space != MemorySpace::kLocal && *space != MemorySpace::kParameter) mismatch();
      ins.space = MemorySpace::kLocal;
      ins.flags |= kAddressLocal;
      break;
    case Symbol::Kind::kParameter:
      if (space && *space != MemorySpace::kParameter) mismatch();
      ins.space = MemorySpace::kParameter;
      break;
    default:
      mismatch();
  }
  ins.imm += static_cast<std::int64_t>(symbol.value);
}

Ins& Lowering::emit(Ins ins) {
  ins.line = instruction_->line;
  if (!instruction_->guard.empty()) {
    Operand guard;
    guard.kind = Operand::Kind::kName;
    guard.name = instruction_->guard;
    ins.guard = predicate(guard);
    ins.guard_negated = instruction_->guard_negated;
  }
  return program_.code.emplace_back(ins);
}

Ins& Lowering::emit(Handler run, Slot d, Slot a, Slot b, Slot c) {
  Ins ins;
  ins.run = run;
  ins.d = d;
  ins.a = a;
  ins.b = b;
  ins.c = c;
  return emit(ins);
}

}  // namespace halyard::inline v0::sim::ptx
