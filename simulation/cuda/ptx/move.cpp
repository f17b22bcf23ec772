// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mov: registers, addresses, clocks, and vectors packed into a register.
#include <algorithm>
#include <chrono>
#include <string>

#include "simulation/cuda/ptx/block.h"
#include "simulation/cuda/ptx/lowering.h"

namespace halyard::inline v0::sim::ptx {
namespace {

template <class T>
void move(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  each_lane(warp, warp.at<T>(ins.d), [&](unsigned lane) { return a[lane]; });
}

void move_predicate(Warp& warp, const Ins& ins) {
  warp.set_predicate(ins.d, warp.predicate(ins.a));
}

// Moves a special register to a register of another width.
template <class T>
void move_special(Warp& warp, const Ins& ins) {
  const auto* const a = warp.in<std::uint32_t>(ins.a);
  each_lane(warp, warp.at<T>(ins.d), [&](unsigned lane) { return static_cast<T>(a[lane]); });
}

struct Wide {
  std::uint64_t low, high;
};

void move_wide(Warp& warp, const Ins& ins) {
  const Wide* const a = warp.in<Wide>(ins.a);
  Wide* const d = warp.at<Wide>(ins.d);
  each_active(warp.exec, [&](unsigned lane) { d[lane] = a[lane]; });
}

template <class T>
void move_address(Warp& warp, const Ins& ins) {
  auto address = static_cast<std::uint64_t>(ins.imm);
  if ((ins.flags & kAddressVariable) != 0) address += warp.block->run->launch->addresses[ins.a];
  if ((ins.flags & kAddressLocal) != 0) address += warp.local;
  const auto value = static_cast<T>(address);
  each_lane(warp, warp.at<T>(ins.d), [&](unsigned) { return value; });
}

enum class Clock : std::uint8_t { kClock, kClockHigh, kTimer, kTimerLow, kTimerHigh };

// The clock counts instructions of the warp, so that it is the same in every run.
template <class T>
void move_clock(Warp& warp, const Ins& ins) {
  std::uint64_t value = 0;
  const auto clock = static_cast<Clock>(ins.count);
  if (clock == Clock::kClock || clock == Clock::kClockHigh) {
    // `warp.clock` is counted after each turn; reads within one must differ.
    value = warp.clock + ++warp.clock_reads;
    if (clock == Clock::kClockHigh) value >>= 32;
  } else {
    value = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                           std::chrono::system_clock::now().time_since_epoch())
                                           .count());
    if (clock == Clock::kTimerHigh) value >>= 32;
  }
  each_lane(warp, warp.at<T>(ins.d), [&](unsigned) { return static_cast<T>(value); });
}

// Packs {a, b, ...} into a register of `imm` bytes; ins.extra has `count` slots.
template <class Element, class Whole>
void pack(Warp& warp, const Ins& ins) {
  Whole* const d = warp.at<Whole>(ins.d);
  each_active(warp.exec, [&](unsigned lane) {
    Whole whole{};
    for (unsigned i = 0; i < ins.count; ++i) {
      const Element element = warp.in<Element>(warp.program->slots[ins.extra + i])[lane];
      std::memcpy(reinterpret_cast<std::byte*>(&whole) + i * sizeof(Whole) / ins.count, &element,
                  sizeof(Whole) / ins.count);
    }
    d[lane] = whole;
  });
}

template <class Element, class Whole>
void unpack(Warp& warp, const Ins& ins) {
  const Whole* const a = warp.in<Whole>(ins.a);
  each_active(warp.exec, [&](unsigned lane) {
    const Whole whole = a[lane];
    for (unsigned i = 0; i < ins.count; ++i) {
      Element element{};
      std::memcpy(&element,
                  reinterpret_cast<const std::byte*>(&whole) + i * sizeof(Whole) / ins.count,
                  sizeof(Whole) / ins.count);
      warp.at<Element>(warp.program->slots[ins.extra + i])[lane] = element;
    }
  });
}

template <template <class, class> class Handlers, class Whole>
Handler choose_element(std::uint32_t bytes) {
  switch (bytes) {
    case 1:
    case 2:
      return Handlers<std::uint16_t, Whole>::run;
    case 4:
      return Handlers<std::uint32_t, Whole>::run;
    case 8:
      return Handlers<std::uint64_t, Whole>::run;
  }
  return nullptr;
}

template <class Element, class Whole>
struct Pack {
  static constexpr Handler run = pack<Element, Whole>;
};
template <class Element, class Whole>
struct Unpack {
  static constexpr Handler run = unpack<Element, Whole>;
};

template <template <class, class> class Handlers>
Handler choose_whole(std::uint32_t element, std::uint32_t whole) {
  switch (whole) {
    case 2:
      return choose_element<Handlers, std::uint16_t>(element);
    case 4:
      return choose_element<Handlers, std::uint32_t>(element);
    case 8:
      return choose_element<Handlers, std::uint64_t>(element);
    case 16:
      return choose_element<Handlers, Wide>(element);
  }
  return nullptr;
}

void lower_vector(Lowering& lowering, Type type, bool is_pack) {
  const Operand& vector = lowering.operand(is_pack ? 1 : 0);
  const std::size_t count = vector.elements.size();
  if ((count != 2 && count != 4) || type.bytes / count == 0) {
    lowering.fail("Arguments mismatch for instruction 'mov'");
  }
  const Type element{Kind::kBits, static_cast<std::uint8_t>(type.bytes / count)};
  std::vector<Slot> slots;
  for (const Operand& each : vector.elements) {
    slots.push_back(is_pack ? lowering.source(each, element) : lowering.target(each, element));
  }
  Ins ins;
  ins.extra = lowering.append_slots(slots);
  ins.count = static_cast<std::uint8_t>(count);
  if (is_pack) {
    ins.d = lowering.target(lowering.operand(0), type);
  } else {
    ins.a = lowering.source(lowering.operand(1), type);
  }
  ins.run = is_pack ? choose_whole<Pack>(element.bytes, type.bytes)
                    : choose_whole<Unpack>(element.bytes, type.bytes);
  lowering.emit(ins);
}

// %envreg<32>: the first two are the address of the grid's workspace, the others 0.
bool lower_environment(Lowering& lowering, Type type) {
  const std::string_view name = lowering.operand(1).name;
  if (!name.starts_with("%envreg") || type.bytes != 4) return false;
  Ins ins;
  ins.run = move_address<std::uint32_t>;
  ins.d = lowering.target(lowering.operand(0), type);
  if (name == "%envreg1") ins.imm = static_cast<std::int64_t>(kWorkspaceAddress >> 32);
  if (name == "%envreg2") ins.imm = static_cast<std::int64_t>(kWorkspaceAddress & 0xffffffff);
  if (ins.imm != 0) lowering.current_function().uses_workspace = true;
  lowering.emit(ins);
  return true;
}

bool lower_clock(Lowering& lowering, Type type) {
  const std::string_view name = lowering.operand(1).name;
  Clock clock{};
  std::uint8_t bytes = 4;
  if (name == "%clock") {
    clock = Clock::kClock;
  } else if (name == "%clock_hi") {
    clock = Clock::kClockHigh;
  } else if (name == "%clock64") {
    clock = Clock::kClock;
    bytes = 8;
  } else if (name == "%globaltimer") {
    clock = Clock::kTimer;
    bytes = 8;
  } else if (name == "%globaltimer_lo") {
    clock = Clock::kTimerLow;
  } else if (name == "%globaltimer_hi") {
    clock = Clock::kTimerHigh;
  } else {
    return false;
  }
  if (type.bytes != bytes) lowering.fail("Arguments mismatch for instruction 'mov'");
  Ins& ins = lowering.emit(bytes == 4 ? move_clock<std::uint32_t> : move_clock<std::uint64_t>,
                           lowering.target(lowering.operand(0), type));
  ins.count = static_cast<std::uint8_t>(clock);
  return true;
}

void lower_mov(Lowering& lowering) {
  const Type type = lowering.take_type();
  lowering.expect_operands(2, 2);
  const Operand& from = lowering.operand(1);
  if (type.kind == Kind::kPredicate) {
    lowering.emit(move_predicate, lowering.predicate_target(lowering.operand(0)),
                  lowering.predicate(from));
    return;
  }
  if (from.kind == Operand::Kind::kVector || lowering.operand(0).kind == Operand::Kind::kVector) {
    lower_vector(lowering, type, from.kind == Operand::Kind::kVector);
    return;
  }
  const Slot d = lowering.target(lowering.operand(0), type);
  if (from.kind == Operand::Kind::kName) {
    if (lower_clock(lowering, type) || lower_environment(lowering, type)) return;
    const Symbol symbol = lowering.find(from);
    if (symbol.kind != Symbol::Kind::kRegister) {
      if (type.bytes != 4 && type.bytes != 8) lowering.fail_modifier();
      lowering.emit_symbol_address(d, from, type.bytes);
      return;
    }
    if ((symbol.slot & 3) == static_cast<Slot>(Base::kSpecials) &&
        symbol.type.bytes != type.bytes && symbol.type.bytes == 4) {
      const Handler run = type.bytes == 2   ? move_special<std::uint16_t>
                          : type.bytes == 8 ? move_special<std::uint64_t>
                                            : nullptr;
      if (run == nullptr) lowering.fail_modifier();
      lowering.emit(run, d, symbol.slot);
      return;
    }
  }
  const Slot a = lowering.source(from, type);
  switch (type.bytes) {
    case 1:
    case 2:
      lowering.emit(move<std::uint16_t>, d, a);
      return;
    case 4:
      lowering.emit(move<std::uint32_t>, d, a);
      return;
    case 8:
      lowering.emit(move<std::uint64_t>, d, a);
      return;
    default:
      lowering.emit(move_wide, d, a);
  }
}

}  // namespace

void Lowering::emit_symbol_address(Slot d, const Operand& operand, std::uint32_t bytes) {
  const Symbol symbol = find(operand);
  Ins ins;
  ins.d = d;
  ins.imm = static_cast<std::int64_t>(operand.value);
  switch (symbol.kind) {
    case Symbol::Kind::kVariable:
      ins.flags = kAddressVariable;
      ins.a = symbol.index;
      break;
    case Symbol::Kind::kFunction:
      ins.imm += static_cast<std::int64_t>(kFunctionWindow + symbol.index);
      break;
    case Symbol::Kind::kLocal:
      ins.flags = kAddressLocal;
      ins.imm += static_cast<std::int64_t>(symbol.value);
      break;
    case Symbol::Kind::kShared:
    case Symbol::Kind::kParameter:
      ins.imm += static_cast<std::int64_t>(symbol.value);
      break;
    default:
      fail("Arguments mismatch for instruction '" + std::string(opcode()) + "'");
  }
  ins.run = bytes == 4 ? move_address<std::uint32_t> : move_address<std::uint64_t>;
  emit(ins);
}

bool lower_move(Lowering& lowering) {
  if (lowering.opcode() != "mov") return false;
  lower_mov(lowering);
  return true;
}

}  // namespace halyard::inline v0::sim::ptx
