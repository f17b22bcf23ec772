// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of an executing wave, and the form of an instruction, as the handlers of instructions
// see them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulation/hip/gfx/gfx.h"
#include "simulation/hip/gfx/lane_operation.h"
#include "simulation/hip/gfx/program.h"

namespace halyard::inline v0::sim::gfx {

struct Wave;
struct Workgroup;
struct Worker;
struct Ins;
class Checks;

using Handler = void (*)(Wave&, const Ins&);

// Where the rows of a vector operation's source come from.
enum class RowSource : std::uint8_t { kNone, kVector, kScalar, kConstant, kSpecial };

struct InsSource {
  RowSource from = RowSource::kNone;
  std::uint16_t index = 0;              // register
  const std::uint32_t* rows = nullptr;  // kConstant
};

// An Instruction, ready to execute.
struct Ins {
  Handler run = nullptr;
  const Instruction* from = nullptr;
  LaneFunction function = nullptr;
  const LaneOperation* lane = nullptr;
  std::array<InsSource, 3> sources{};
  std::uint8_t result_dwords = 0;
  bool has_modifiers = false;     // has sources or results with modifiers
  std::uint16_t destination = 0;  // vector register
  std::uint32_t counted = 0;      // ~0 for instructions of lanes
};

// All code of a code object, by the index of its instructions; the last entry ends the run.
struct Executable {
  std::vector<Ins> code;
  std::vector<std::unique_ptr<std::array<std::uint32_t, 4 * kLanes>>> constants;
};
// Cached in the program. Threads may call it concurrently.
const Executable& executable_of(const CodeObject::Program& program);
// Returns null if the instruction is not implemented.
Handler handler_of(const Instruction& instruction);

// Addresses outside Memory: the apertures of flat addresses (manual, 11.2; placed as ROCm does),
// and data that the launcher of a kernel fills.
inline constexpr std::uint64_t kSharedAperture = std::uint64_t{0x10000} << 32;
inline constexpr std::uint64_t kPrivateAperture = std::uint64_t{0x20000} << 32;
inline constexpr std::uint64_t kKernargAddress = std::uint64_t{0x30000} << 32;
inline constexpr std::uint64_t kPacketAddress = std::uint64_t{0x30001} << 32;
inline constexpr std::uint64_t kHeapAddress = std::uint64_t{0x30002} << 32;

inline constexpr unsigned kVectorRegisters = 256;
// Includes padding, because an operand of several registers may extend beyond the last register.
inline constexpr unsigned kVectorRows = kVectorRegisters + 16;

// MODE (manual, 3.3).
struct Mode {
  std::uint8_t round = 0;       // bits 1-0 of f32, 3-2 of f16 and f64; 0: nearest even
  std::uint8_t denormals = 15;  // the same; of two bits, the first keeps inputs, the second results
  bool dx10_clamp = true;
  bool ieee = true;
};

enum class WaveState : std::uint8_t { kReady, kAtBarrier, kHalted, kEnded };

struct alignas(64) Wave {
  std::uint32_t* v = nullptr;  // kVectorRows rows
  std::array<std::uint32_t, kScalarRegisters + 16> s{};
  std::uint32_t pc = 0;  // index of the next instruction
  bool scc = false;
  bool stops = false;  // the turn ends
  WaveState state = WaveState::kReady;
  Mode mode;
  const Ins* code = nullptr;
  Workgroup* group = nullptr;
  Worker* worker = nullptr;
  Checks* checks = nullptr;  // in strict mode
  std::uint32_t index = 0;   // in the workgroup
  std::uint32_t born = 0;    // lanes that exist
  std::uint64_t executed = 0;
  std::vector<std::byte> scratch;  // scratch_bytes for each lane
  std::uint32_t scratch_bytes = 0;
  std::vector<std::uint32_t> registers;  // with room for alignment

  std::uint32_t& exec() { return s[kExecLow]; }
  std::uint32_t exec() const { return s[kExecLow]; }
  std::uint32_t* row(unsigned index_of_register) { return v + index_of_register * kLanes; }

  // Scalars. kNull reads as 0 and drops writes.
  std::uint32_t scalar(unsigned register_index) const {
    return register_index == kNull ? 0 : s[register_index];
  }
  std::uint64_t scalar64(unsigned register_index) const {
    if (register_index == kNull) return 0;
    return s[register_index] | std::uint64_t{s[register_index + 1]} << 32;
  }
  void set_scalar(unsigned register_index, std::uint32_t value) {
    if (register_index != kNull) s[register_index] = value;
  }
  void set_scalar64(unsigned register_index, std::uint64_t value) {
    if (register_index == kNull) return;
    s[register_index] = static_cast<std::uint32_t>(value);
    s[register_index + 1] = static_cast<std::uint32_t>(value >> 32);
  }
  // The value of an operand that is the same for all lanes.
  std::uint32_t read32(const Operand& operand) const {
    if (operand.kind == OperandKind::kScalar) [[likely]]
      return scalar(operand.index);
    if (operand.kind == OperandKind::kConstant) return static_cast<std::uint32_t>(operand.bits);
    return static_cast<std::uint32_t>(read_special(operand) >> special_shift(operand));
  }
  std::uint64_t read64(const Operand& operand) const {
    if (operand.kind == OperandKind::kScalar) [[likely]]
      return scalar64(operand.index);
    if (operand.kind == OperandKind::kConstant) return operand.bits;
    return read_special(operand);
  }
  std::uint64_t read_special(const Operand& operand) const;
  static unsigned special_shift(const Operand& operand) {
    return static_cast<Special>(operand.index) < Special::kVccz ? 32 : 0;
  }

  // Ends the run; the first error counts.
  void fail(OutcomeKind kind, const Instruction& at, unsigned lane, std::string message,
            std::uint64_t address = 0);
  bool has_failed() const;

  // Executes up to `slice` instructions and returns their number. Strict mode has a separate loop.
  std::uint64_t execute(std::uint64_t slice);
  std::uint64_t execute_checked(std::uint64_t slice);
};

// f(lane) for each lane of the mask.
template <class F>
inline void each_active(std::uint32_t mask, F f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

// Writes `count` rows to registers from `first` on, for the lanes of `mask`.
void write_rows(Wave& wave, unsigned first, const std::uint32_t* rows, unsigned count,
                std::uint32_t mask);

// The handlers of the families of instructions, or null.
Handler scalar_handler(const Instruction& instruction);
Handler control_handler(const Instruction& instruction);
Handler scalar_memory_handler(const Instruction& instruction);
Handler vector_handler(const Instruction& instruction);
Handler cross_lane_handler(const Instruction& instruction);
Handler relative_move_handler(const Instruction& instruction);
Handler mixed_handler(const Instruction& instruction);  // v_fma_mix*, signed dot products
Handler matrix_handler(const Instruction& instruction);
Handler lds_handler(const Instruction& instruction);
Handler memory_handler(const Instruction& instruction);
Handler atomic_handler(const Instruction& instruction);

}  // namespace halyard::inline v0::sim::gfx
