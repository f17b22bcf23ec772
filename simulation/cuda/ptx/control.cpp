// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches, calls, barriers of the block, and the ends of threads.
#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>
#include <thread>

#include "simulation/cuda/ptx/access.h"
#include "simulation/cuda/ptx/lowering.h"
#include "simulation/cuda/ptx/print.h"

namespace halyard::inline v0::sim::ptx {
namespace {

constexpr std::uint8_t kUnaligned = 1;  // Ins::flags of barriers

unsigned first_lane(const Warp& warp) { return static_cast<unsigned>(std::countr_zero(warp.exec)); }

void branch(Warp& warp, const Ins& ins) { warp.jump(ins.extra); }

void branch_by_index(Warp& warp, const Ins& ins) {
  const auto* const index = warp.in<std::uint32_t>(ins.a);
  const std::vector<std::uint32_t>& table = warp.program->tables[ins.extra];
  // Lanes with the first lane's target go there; the others execute this again.
  const unsigned first = first_lane(warp);
  const std::uint32_t chosen = index[first];
  if (chosen >= table.size()) {
    warp.fail(OutcomeKind::kInvalidPc, ins, first,
              "index " + std::to_string(chosen) + " of a table with " +
                  std::to_string(table.size()) + " targets");
    return;
  }
  LaneMask same = 0;
  each_active(warp.exec, [&](unsigned lane) {
    if (index[lane] == chosen) same |= LaneMask{1} << lane;
  });
  if (same != warp.active) --warp.pc;
  // Lanes that the guard disables execute the instruction again as well, and skip it, which is
  // harmless.
  warp.exec = same;
  warp.jump(table[chosen]);
}

void call(Warp& warp, const Ins& ins) {
  const Call& to = warp.program->calls[ins.extra];
  warp.enter(ins, to, to.function);
}

void call_address(Warp& warp, const Ins& ins) {
  const auto* const address = warp.in<std::uint64_t>(ins.a);
  const unsigned first = first_lane(warp);
  const std::uint64_t chosen = address[first];
  const std::uint64_t function = chosen - kFunctionWindow;
  if (function >= warp.program->functions.size() || warp.program->functions[function].is_entry) {
    warp.fail(OutcomeKind::kInvalidPc, ins, first, "call through a bad address", chosen);
    return;
  }
  LaneMask same = 0;
  each_active(warp.exec, [&](unsigned lane) {
    if (address[lane] == chosen) same |= LaneMask{1} << lane;
  });
  // The remaining lanes execute this instruction again; the lanes that call return to the next one.
  const LaneMask rest = warp.exec & ~same;
  if (rest != 0) {
    warp.split_off(rest, warp.pc - 1);
  }
  warp.exec = same;
  warp.enter(ins, warp.program->calls[ins.extra], static_cast<std::uint32_t>(function));
}

void return_(Warp& warp, const Ins&) { warp.return_from(); }
void exit_(Warp& warp, const Ins&) { warp.leave(warp.exec); }

void trap(Warp& warp, const Ins& ins) {
  warp.fail(OutcomeKind::kTrap, ins, first_lane(warp), "trap");
}

std::uint32_t barrier_number(Warp& warp, const Ins& ins) {
  if (ins.a == kNoSlot) return 0;
  return warp.in<std::uint32_t>(ins.a)[first_lane(warp)];
}

bool check_barrier_operands(Warp& warp, const Ins& ins, std::uint32_t number,
                            std::uint32_t threads) {
  if (number < 16 && threads % kLanes == 0 && threads <= 1024) return true;
  warp.fail(OutcomeKind::kIllegalInstruction, ins, first_lane(warp),
            "barrier " + std::to_string(number) + " of " + std::to_string(threads) + " threads");
  return false;
}

void barrier(Warp& warp, const Ins& ins) {
  const std::uint32_t number = barrier_number(warp, ins);
  const std::uint32_t threads =
      ins.b == kNoSlot ? 0 : warp.in<std::uint32_t>(ins.b)[first_lane(warp)];
  if (!check_barrier_operands(warp, ins, number, threads)) return;
  LaneMask values = 0;
  if (ins.c != kNoSlot) {
    values = warp.predicate(ins.c);
    if (ins.imm != 0) values = ~values;
  }
  warp.wait_at_barrier(ins, number, threads, values);
}

void barrier_arrive(Warp& warp, const Ins& ins) {
  const std::uint32_t number = barrier_number(warp, ins);
  const std::uint32_t threads = warp.in<std::uint32_t>(ins.b)[first_lane(warp)];
  if (!check_barrier_operands(warp, ins, number, threads)) return;
  warp.arrive_at_barrier(number, threads);
}

void nothing(Warp&, const Ins&) {}

// Ends the warp's turn: it waits for another warp or block.
void sleep(Warp& warp, const Ins&) {
  warp.yields = true;
  if (warp.block->run->options->threads > 1) std::this_thread::yield();
}

// The bytes of an argument in the caller's local memory.
template <class T>
T argument(const Warp& warp, const Call& to, std::size_t i, unsigned lane) {
  T value{};
  if (i >= to.arguments.size()) return value;
  std::memcpy(&value,
              warp.locals.data() + std::size_t{lane} * warp.local_stride + warp.local +
                  to.arguments[i].offset,
              std::min<std::size_t>(sizeof(T), to.arguments[i].size));
  return value;
}

template <class T>
void set_result(Warp& warp, const Call& to, unsigned lane, T value) {
  if (to.results.empty()) return;
  std::memcpy(warp.locals.data() + std::size_t{lane} * warp.local_stride + warp.local +
                  to.results[0].offset,
              &value, std::min<std::size_t>(sizeof(T), to.results[0].size));
}

std::optional<std::string> read_string(Warp& warp, std::uint64_t address, unsigned lane) {
  std::string text;
  for (; text.size() < 65536; ++address) {
    const std::byte* const byte =
        find_in_space(warp, MemorySpace::kGeneric, address, 1, false, lane);
    if (byte == nullptr) return std::nullopt;
    if (*byte == std::byte{0}) break;
    text.push_back(static_cast<char>(*byte));
  }
  return text;
}

void call_print(Warp& warp, const Ins& ins) {
  const Call& to = warp.program->calls[ins.extra];
  Run& run = *warp.block->run;
  each_active(warp.exec, [&](unsigned lane) {
    const auto format_address = argument<std::uint64_t>(warp, to, 0, lane);
    const auto format = read_string(warp, format_address, lane);
    if (!format) {
      warp.fail(OutcomeKind::kIllegalAddress, ins, lane, "format of vprintf", format_address);
      return;
    }
    // The buffer's size is unknown: read as much as is accessible, up to the size of 128 arguments.
    std::vector<std::byte> bytes;
    const auto buffer = argument<std::uint64_t>(warp, to, 1, lane);
    for (std::uint64_t i = 0; buffer != 0 && i < 1024; i += 4) {
      const std::byte* const word =
          find_in_space(warp, MemorySpace::kGeneric, buffer + i, 4, false, lane);
      if (word == nullptr) break;
      bytes.insert(bytes.end(), word, word + 4);
    }
    const std::string text = format_print(
        *format, bytes, [&](std::uint64_t address) { return read_string(warp, address, lane); });
    if (run.options->print) {
      const std::lock_guard lock(run.mutex);
      run.options->print(text);
    }
    set_result(warp, to, lane, static_cast<std::int32_t>(std::ranges::count(*format, '%')));
  });
}

void call_allocate(Warp& warp, const Ins& ins) {
  const Call& to = warp.program->calls[ins.extra];
  each_active(warp.exec, [&](unsigned lane) {
    set_result(warp, to, lane,
               warp.block->run->memory->allocate(argument<std::uint64_t>(warp, to, 0, lane)));
  });
}

void call_free(Warp& warp, const Ins& ins) {
  const Call& to = warp.program->calls[ins.extra];
  each_active(warp.exec, [&](unsigned lane) {
    const auto address = argument<std::uint64_t>(warp, to, 0, lane);
    if (address == 0) return;
    warp.worker->mappings = {};
    if (!warp.block->run->memory->release(address)) {
      warp.fail(OutcomeKind::kIllegalAddress, ins, lane, "free of a bad address", address);
    }
  });
}

void call_assert_fail(Warp& warp, const Ins& ins) {
  const Call& to = warp.program->calls[ins.extra];
  const unsigned lane = first_lane(warp);
  const auto text = [&](std::size_t i) {
    return read_string(warp, argument<std::uint64_t>(warp, to, i, lane), lane).value_or("?");
  };
  warp.fail(OutcomeKind::kAssert, ins, lane,
            text(1) + ":" + std::to_string(argument<std::uint32_t>(warp, to, 2, lane)) + ": " +
                text(3) + ": Assertion `" + text(0) + "` failed");
}

// PTX ISA, "call": arguments are .param variables, registers or constants, and results are .param
// variables or registers. Registers and constants go through slots like those of .param variables.
class CallOperands {
 public:
  explicit CallOperands(Lowering& lowering) : lowering_(lowering) {}

  // Stores registers and constants to their slots. `formal`: the function's parameters, if it is
  // known.
  std::vector<Function::Slot> arguments(const Operand& list,
                                        std::span<const Function::Slot> formal) {
    return slots(list, [&](const Operand& each, std::size_t i) {
      if (each.kind == Operand::Kind::kNumber) {
        // The parameter's size determines how many of its bytes are passed.
        constexpr std::uint32_t kBytes = 8;
        const bool is_float = each.number == Number::kDouble && i < formal.size() &&
                              formal[i].size == sizeof(float);
        const std::uint64_t bits =
            is_float ? std::bit_cast<std::uint32_t>(
                           static_cast<float>(std::bit_cast<double>(each.value)))
                     : each.value;
        const std::uint32_t offset = lowering_.local_slot(kBytes);
        lowering_.emit_local_store(offset, lowering_.number(bits, kBytes), kBytes);
        return Function::Slot{offset, kBytes};
      }
      const std::uint32_t bytes = bytes_of(each);
      const std::uint32_t offset = lowering_.local_slot(bytes);
      lowering_.emit_local_store(offset, lowering_.find(each).slot, bytes);
      return Function::Slot{offset, bytes};
    });
  }

  // load_results() loads registers after the call.
  std::vector<Function::Slot> results(const Operand& list) {
    return slots(list, [&](const Operand& each, std::size_t) {
      if (each.kind != Operand::Kind::kName) lowering_.fail("Variable expected in 'call'");
      const std::uint32_t bytes = bytes_of(each);
      const Slot to = lowering_.target(each, lowering_.register_type(each));
      loads_.push_back({to, lowering_.local_slot(bytes), bytes});
      return Function::Slot{loads_.back().offset, bytes};
    });
  }

  void load_results() {
    for (const Load& each : loads_) lowering_.emit_local_load(each.to, each.offset, each.bytes);
  }

 private:
  struct Load {
    Slot to;
    std::uint32_t offset, bytes;
  };

  std::uint32_t bytes_of(const Operand& operand) {
    const Type type = lowering_.register_type(operand);
    if (type.kind == Kind::kPredicate || type.bytes < 2 || operand.negated || operand.value != 0) {
      lowering_.fail("Arguments of 'call' in registers have 16, 32, 64 or 128 bits");
    }
    return type.bytes;
  }

  template <class Make>
  std::vector<Function::Slot> slots(const Operand& list, Make make) {
    if (list.kind != Operand::Kind::kList) lowering_.fail("Parameter list expected in 'call'");
    std::vector<Function::Slot> result;
    for (const Operand& each : list.elements) {
      if (each.kind == Operand::Kind::kNone) {
        result.push_back({});
        continue;
      }
      if (each.kind == Operand::Kind::kName) {
        const Symbol symbol = lowering_.find(each);
        if (symbol.kind == Symbol::Kind::kLocal) {
          result.push_back(
              {static_cast<std::uint32_t>(symbol.value), static_cast<std::uint32_t>(symbol.size)});
          continue;
        }
      } else if (each.kind != Operand::Kind::kNumber) {
        lowering_.fail("Variable or constant expected in 'call'");
      }
      result.push_back(make(each, result.size()));
    }
    return result;
  }

  Lowering& lowering_;
  std::vector<Load> loads_;
};

// Checks the sizes of registers. For .param variables, only the bytes count.
void check_sizes(Lowering& lowering, const Operand& list, const std::vector<Function::Slot>& given,
                 const std::vector<Function::Slot>& formal) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (lowering.is_register(list.elements[i]) && given[i].size != formal[i].size) {
      lowering.fail("Type of argument '" + std::string(list.elements[i].name) +
                    "' does not match its formal parameter");
    }
  }
}

void lower_call(Lowering& lowering) {
  lowering.take("uni");
  // call (results), function, (arguments), prototype or table; all but the function may be absent.
  const std::vector<Operand>& operands = lowering.operands();
  CallOperands passed(lowering);
  Call to;
  const Operand* results = nullptr;
  const Operand* arguments = nullptr;
  std::size_t i = 0;
  if (i < operands.size() && operands[i].kind == Operand::Kind::kList) {
    results = &operands[i++];
    to.results = passed.results(*results);
  }
  const Operand& callee = lowering.operand(i++);
  if (callee.kind != Operand::Kind::kName) lowering.fail("Function expected in 'call'");
  const Symbol symbol = lowering.find(callee);
  if (i < operands.size() && operands[i].kind == Operand::Kind::kList) {
    arguments = &operands[i++];
    std::span<const Function::Slot> formal;
    if (symbol.kind == Symbol::Kind::kFunction) {
      formal = lowering.program().functions[symbol.index].parameters;
    }
    to.arguments = passed.arguments(*arguments, formal);
  }
  if (i < operands.size() && operands[i].kind == Operand::Kind::kName) {
    const Symbol::Kind kind = lowering.find(operands[i++]).kind;
    if (kind != Symbol::Kind::kPrototype && kind != Symbol::Kind::kTable) {
      lowering.fail("Prototype expected in 'call'");
    }
  }
  if (i < operands.size()) lowering.fail("Too many operands for instruction 'call'");
  Function& caller = lowering.current_function();
  Ins ins;
  switch (symbol.kind) {
    case Symbol::Kind::kFunction: {
      const Function& function = lowering.program().functions[symbol.index];
      if (function.is_entry) lowering.fail("Call of an entry function");
      if (to.results.size() != function.results.size() ||
          to.arguments.size() != function.parameters.size()) {
        lowering.fail("Call has wrong number of parameters for '" + std::string(callee.name) + "'");
      }
      if (results != nullptr) check_sizes(lowering, *results, to.results, function.results);
      if (arguments != nullptr) {
        check_sizes(lowering, *arguments, to.arguments, function.parameters);
      }
      to.function = symbol.index;
      caller.callees.push_back(symbol.index);
      ins.run = call;
      break;
    }
    case Symbol::Kind::kRegister:
      to.function = UINT32_MAX;
      caller.calls_unknown = true;
      ins.a = lowering.source(callee, kU64);
      ins.run = call_address;
      break;
    case Symbol::Kind::kBuiltin: {
      constexpr Handler kBuiltins[] = {call_print, call_allocate, call_free, call_assert_fail};
      ins.run = kBuiltins[symbol.index];
      break;
    }
    default:
      lowering.fail("Function expected in 'call'");
  }
  ins.extra = static_cast<std::uint32_t>(lowering.program().calls.size());
  lowering.program().calls.push_back(std::move(to));
  lowering.emit(ins);
  passed.load_results();
}

// bar and barrier: .sync, .arrive, .red. bar.warp.sync belongs to another family.
bool lower_barrier(Lowering& lowering) {
  if (lowering.has_modifier("warp") || lowering.has_modifier("cluster")) return false;
  const bool is_bar = lowering.opcode() == "bar";
  lowering.take("cta");
  const bool is_aligned = lowering.take("aligned") || is_bar;
  Ins ins;
  ins.is_barrier = true;
  ins.flags = is_aligned ? 0 : kUnaligned;
  const auto number = [&](std::size_t i) {
    return lowering.has_operand(i) ? lowering.source(lowering.operand(i), kU32) : kNoSlot;
  };
  if (lowering.take("sync")) {
    lowering.expect_operands(1, 2);
    ins.run = barrier;
    ins.a = number(0);
    ins.b = number(1);
  } else if (lowering.take("arrive")) {
    lowering.expect_operands(2, 2);
    ins.run = barrier_arrive;
    ins.a = number(0);
    ins.b = number(1);
  } else if (lowering.take("red")) {
    ins.run = barrier;
    if (lowering.take("popc")) {
      ins.count = 0;
      lowering.take("u32");
      ins.d = lowering.target(lowering.operand(0), kU32);
    } else {
      ins.count = lowering.take("and") ? 1 : lowering.take("or") ? 2 : 3;
      if (ins.count == 3) lowering.fail_modifier();
      lowering.take("pred");
      ins.d = lowering.predicate_target(lowering.operand(0));
    }
    lowering.expect_operands(3, 4);
    ins.a = number(1);
    const std::size_t last = lowering.operands().size() - 1;
    if (last == 3) ins.b = number(2);
    Operand predicate = lowering.operand(last);
    ins.imm = predicate.negated ? 1 : 0;
    predicate.negated = false;
    ins.c = lowering.predicate(predicate);
  } else {
    lowering.fail_modifier();
  }
  lowering.emit(ins);
  return true;
}

}  // namespace

bool lower_control(Lowering& lowering) {
  const std::string_view opcode = lowering.opcode();
  if (opcode == "bra") {
    lowering.take("uni");
    lowering.expect_operands(1, 1);
    lowering.label(lowering.operand(0).name);
    lowering.emit(branch);
  } else if (opcode == "brx") {
    lowering.take("idx");
    lowering.take("uni");
    lowering.expect_operands(2, 2);
    const Symbol table = lowering.find(lowering.operand(1));
    if (table.kind != Symbol::Kind::kTable) lowering.fail("Table expected in 'brx'");
    Ins& ins = lowering.emit(branch_by_index, kNoSlot, lowering.source(lowering.operand(0), kU32));
    ins.extra = table.index;
  } else if (opcode == "call") {
    lower_call(lowering);
  } else if (opcode == "ret") {
    lowering.take("uni");
    lowering.emit(return_);
  } else if (opcode == "exit") {
    lowering.emit(exit_);
  } else if (opcode == "trap" || opcode == "brkpt") {
    lowering.emit(trap);
  } else if (opcode == "bar" || opcode == "barrier") {
    return lower_barrier(lowering);
  } else if (opcode == "nanosleep") {
    lowering.take_type();
    lowering.expect_operands(1, 1);
    lowering.emit(sleep);
  } else if (opcode == "pmevent" || opcode == "setmaxnreg" || opcode == "griddepcontrol") {
    constexpr std::string_view kWords[] = {"inc", "dec",  "sync", "aligned",
                                           "u32", "mask", "wait", "launch_dependents"};
    while (lowering.take_any(kWords)) {
    }
    lowering.emit(nothing);
  } else {
    return false;
  }
  return true;
}

}  // namespace halyard::inline v0::sim::ptx
