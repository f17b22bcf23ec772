// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches, ends, barriers, messages, modes, and instructions without effect in a machine that
// executes in order (manual, 16.1 to 16.5).
#include <bit>

#include "simulation/hip/gfx/text.h"
#include "simulation/hip/gfx/workgroup.h"

namespace halyard::inline v0::sim::gfx {
namespace {

std::uint64_t address_of(const Wave& wave, std::uint64_t offset_in_image) {
  return wave.group->run->launch->image_address + offset_in_image;
}
std::uint64_t next_address(const Wave& wave, const Instruction& from) {
  return address_of(wave, std::uint64_t{from.offset_in_code} + from.size);
}

void run_nothing(Wave&, const Ins&) {}
void run_yield(Wave& wave, const Ins&) { wave.stops = true; }

template <auto F>
void run_branch(Wave& wave, const Ins& ins) {
  if (F(wave)) wave.pc = ins.from->target;
}

void jump_to(Wave& wave, const Instruction& from, std::uint64_t address) {
  const Run& run = *wave.group->run;
  const std::uint32_t target = run.program->find(address - run.launch->image_address);
  if (target == CodeObject::Program::kNoInstruction) {
    wave.fail(OutcomeKind::kIllegalInstruction, from, 0,
              "jumps to " + hex(address) + ", where no instruction begins", address);
    return;
  }
  wave.pc = target;
}
void run_set_pc(Wave& wave, const Ins& ins) {
  jump_to(wave, *ins.from, wave.read64(ins.from->sources[0]));
}
void run_swap_pc(Wave& wave, const Ins& ins) {
  const std::uint64_t target = wave.read64(ins.from->sources[0]);
  wave.set_scalar64(ins.from->destination.index, next_address(wave, *ins.from));
  jump_to(wave, *ins.from, target);
}
void run_call(Wave& wave, const Ins& ins) {
  wave.set_scalar64(ins.from->destination.index, next_address(wave, *ins.from));
  wave.pc = ins.from->target;
}
void run_get_pc(Wave& wave, const Ins& ins) {
  wave.set_scalar64(ins.from->destination.index, next_address(wave, *ins.from));
}

void report_barrier(Wave& wave, const Ins& ins, const std::string& message) {
  const unsigned lane = wave.exec() == 0 ? 0 : static_cast<unsigned>(std::countr_zero(wave.exec()));
  wave.group->run->report(FindingKind::kDivergentBarrier, wave, *ins.from, lane, message);
}

void run_end(Wave& wave, const Ins& ins) {
  if (wave.group->run->options->strict && wave.group->arrived != 0) {
    report_barrier(wave, ins,
                   join("the wave ends, and ", wave.group->arrived, " wait at a barrier for it"));
  }
  wave.state = WaveState::kEnded;
  wave.stops = true;
  ++wave.group->ended;
  wave.group->check_barrier();
}
void run_code_end(Wave& wave, const Ins& ins) {
  wave.fail(OutcomeKind::kIllegalInstruction, *ins.from, 0, "execution left the kernel's code");
}

void run_barrier(Wave& wave, const Ins& ins) {
  if (wave.group->run->options->strict && wave.group->ended != 0) {
    report_barrier(wave, ins, join(wave.group->ended, " waves ended before the barrier"));
  }
  wave.state = WaveState::kAtBarrier;
  wave.stops = true;
  ++wave.group->arrived;
  wave.group->check_barrier();
}

void run_halt(Wave& wave, const Ins& ins) {
  if (ins.from->opcode == Opcode::s_sethalt && (ins.from->immediate & 1) == 0) return;
  wave.state = WaveState::kHalted;
  wave.stops = true;
}

void run_trap(Wave& wave, const Ins& ins) {
  wave.fail(OutcomeKind::kTrap, *ins.from,
            wave.exec() == 0 ? 0 : static_cast<unsigned>(std::countr_zero(wave.exec())),
            join("trap ", ins.from->immediate & 0xff));
}

// Hardware registers (manual, 3.7): MODE, and the clock, which counts instructions here.
constexpr unsigned kModeRegister = 1, kCyclesRegister = 29;

void set_mode(Wave& wave, const Instruction& from, std::uint32_t value) {
  if ((value & 15) != 0) {
    wave.fail(OutcomeKind::kIllegalInstruction, from, 0, "only rounding to nearest even is built");
    return;
  }
  wave.mode.denormals = value >> 4 & 15;
  wave.mode.dx10_clamp = (value >> 8 & 1) != 0;
  wave.mode.ieee = (value >> 9 & 1) != 0;
}
std::uint32_t mode_bits(const Wave& wave) {
  return wave.mode.round | std::uint32_t{wave.mode.denormals} << 4 |
         std::uint32_t{wave.mode.dx10_clamp} << 8 | std::uint32_t{wave.mode.ieee} << 9;
}
struct Field {
  unsigned id, offset, size;
  explicit Field(std::uint32_t bits)
      : id(bits & 63), offset(bits >> 6 & 31), size((bits >> 11 & 31) + 1) {}
  std::uint32_t mask() const { return (size >= 32 ? ~0u : (1u << size) - 1) << offset; }
};
void run_get_register(Wave& wave, const Ins& ins) {
  const Field field(static_cast<std::uint32_t>(ins.from->sources[0].bits));
  const std::uint32_t value =
      field.id == kModeRegister ? mode_bits(wave) : static_cast<std::uint32_t>(wave.executed);
  wave.set_scalar(ins.from->destination.index, (value & field.mask()) >> field.offset);
}
void run_set_register(Wave& wave, const Ins& ins) {
  const Field field(static_cast<std::uint32_t>(ins.from->sources[0].bits));
  const std::uint32_t value = wave.read32(ins.from->sources[1]) << field.offset;
  set_mode(wave, *ins.from, (mode_bits(wave) & ~field.mask()) | (value & field.mask()));
}
void run_round_mode(Wave& wave, const Ins& ins) {
  set_mode(wave, *ins.from, (mode_bits(wave) & ~15u) | (ins.from->immediate & 15));
}
void run_denorm_mode(Wave& wave, const Ins& ins) { wave.mode.denormals = ins.from->immediate & 15; }

// s_sendmsg_rtn_*: the time, in instructions.
constexpr unsigned kGetRealTime = 131;
void run_real_time(Wave& wave, const Ins& ins) {
  if (ins.from->opcode == Opcode::s_sendmsg_rtn_b64) {
    wave.set_scalar64(ins.from->destination.index, wave.executed);
  } else {
    wave.set_scalar(ins.from->destination.index, static_cast<std::uint32_t>(wave.executed));
  }
}

}  // namespace

void Workgroup::check_barrier() {
  if (arrived == 0 || arrived < waves.size() - ended) return;
  arrived = 0;
  for (Wave& wave : waves) {
    if (wave.state == WaveState::kAtBarrier) wave.state = WaveState::kReady;
  }
  if (lds_checks) lds_checks->pass_barrier();
}

Handler control_handler(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::s_branch:
      return run_branch<[](const Wave&) { return true; }>;
    case Opcode::s_cbranch_scc0:
      return run_branch<[](const Wave& wave) { return !wave.scc; }>;
    case Opcode::s_cbranch_scc1:
      return run_branch<[](const Wave& wave) { return wave.scc; }>;
    case Opcode::s_cbranch_vccz:
      return run_branch<[](const Wave& wave) { return wave.s[kVccLow] == 0; }>;
    case Opcode::s_cbranch_vccnz:
      return run_branch<[](const Wave& wave) { return wave.s[kVccLow] != 0; }>;
    case Opcode::s_cbranch_execz:
      return run_branch<[](const Wave& wave) { return wave.exec() == 0; }>;
    case Opcode::s_cbranch_execnz:
      return run_branch<[](const Wave& wave) { return wave.exec() != 0; }>;
    case Opcode::s_setpc_b64:
      return run_set_pc;
    case Opcode::s_swappc_b64:
      return run_swap_pc;
    case Opcode::s_call_b64:
      return run_call;
    case Opcode::s_getpc_b64:
      return run_get_pc;
    case Opcode::s_endpgm:
    case Opcode::s_endpgm_saved:
      return run_end;
    case Opcode::s_code_end:
      return run_code_end;
    case Opcode::s_barrier:
      return run_barrier;
    case Opcode::s_sethalt:
    case Opcode::s_sendmsghalt:
      return run_halt;
    case Opcode::s_trap:
      return run_trap;
    case Opcode::s_round_mode:
      return run_round_mode;
    case Opcode::s_denorm_mode:
      return run_denorm_mode;
    case Opcode::s_sleep:
      return run_yield;
    case Opcode::s_getreg_b32: {
      const unsigned id = instruction.sources[0].bits & 63;
      return id == kModeRegister || id == kCyclesRegister ? run_get_register : nullptr;
    }
    case Opcode::s_setreg_b32:
    case Opcode::s_setreg_imm32_b32:
      return (instruction.sources[0].bits & 63) == kModeRegister ? run_set_register : nullptr;
    case Opcode::s_sendmsg_rtn_b32:
    case Opcode::s_sendmsg_rtn_b64:
      return instruction.sources[0].is(OperandKind::kConstant) &&
                     instruction.sources[0].bits == kGetRealTime
                 ? run_real_time
                 : nullptr;
    case Opcode::s_sendmsg:  // interrupts, and deallocation of vector registers
    case Opcode::s_wakeup:
    case Opcode::s_version:
      return run_nothing;
    default:
      return facts_of(instruction.opcode).group == Group::kWait ? run_nothing : nullptr;
  }
}

}  // namespace halyard::inline v0::sim::gfx
