// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts the syntax of an instruction to its Ins. Each family of instructions has a function that
// emits code for the opcodes it knows and returns false for others.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/cuda/ptx/program.h"
#include "simulation/cuda/ptx/syntax.h"
#include "simulation/cuda/ptx/type.h"

namespace halyard::inline v0::sim::ptx {

struct Symbol {
  enum class Kind : std::uint8_t {
    kNone,
    kRegister,
    kVariable,   // `index` of Program::variables
    kShared,     // `value` is the address
    kLocal,      // `value` is the offset in the function's local memory
    kParameter,  // of an entry: `value` is the offset
    kFunction,   // `index`
    kBuiltin,    // `index`: a Builtin
    kTable,      // `index` of Program::tables
    kPrototype,
  };
  Kind kind{};
  Type type;
  Slot slot = kNoSlot;
  std::uint32_t vector = 1;  // registers .x .y .z .w follow each other
  std::uint32_t index = 0;
  std::uint64_t value = 0;
  std::uint64_t size = 0;
};

class Lowering {
 public:
  virtual ~Lowering() = default;

  const Instruction& instruction() const { return *instruction_; }
  std::string_view opcode() const { return instruction_->opcode; }
  const std::vector<Operand>& operands() const { return instruction_->operands; }
  const Operand& operand(std::size_t i);
  bool has_operand(std::size_t i) const { return i < instruction_->operands.size(); }
  void expect_operands(std::size_t least, std::size_t most);

  // Take modifiers. Modifiers that no call takes are errors.
  bool take(std::string_view modifier);
  std::optional<std::string_view> take_any(std::span<const std::string_view> modifiers);
  Type take_type();  // the first modifier that is a type; without one, an error
  std::optional<Type> take_type_if();
  bool has_modifier(std::string_view modifier) const;

  // Operands. `is_loose`: a register may be wider than the type (ld, st, cvt).
  Slot source(const Operand& operand, Type type, bool is_loose = false);
  Slot target(const Operand& operand, Type type, bool is_loose = false);
  Slot predicate(const Operand& operand);  // of "!p" the opposite, which it emits code for
  Slot predicate_target(const Operand& operand);
  Type register_type(const Operand& operand);  // of a register; an error for other operands
  bool is_register(const Operand& operand);
  Slot number(std::uint64_t bits, std::uint32_t bytes);
  Slot predicate_constant(bool value);
  std::uint64_t immediate(const Operand& operand);  // an integer constant
  std::uint32_t append_slots(std::span<const Slot> slots);
  virtual Symbol find(const Operand& operand) = 0;  // by its name; an error without one
  virtual Slot temporary(std::uint32_t bytes) = 0;
  // Bytes in the function's local memory.
  virtual std::uint32_t local_slot(std::uint32_t bytes) = 0;
  // Copy a register to local memory, or back. `bytes`: 2, 4, 8 or 16.
  void emit_local_store(std::uint32_t offset, Slot from, std::uint32_t bytes);
  void emit_local_load(Slot to, std::uint32_t offset, std::uint32_t bytes);

  // Fills a, imm, flags and space. `space`: the state space that the instruction names, if any.
  void address(const Operand& operand, Ins& ins, std::optional<MemorySpace> space);

  // d = the address of a variable or function, as `mov` gives it; d has 4 or 8 bytes.
  void emit_symbol_address(Slot d, const Operand& operand, std::uint32_t bytes);

  // Adds the guard and the line.
  Ins& emit(Ins ins);
  Ins& emit(Handler run, Slot d = kNoSlot, Slot a = kNoSlot, Slot b = kNoSlot, Slot c = kNoSlot);

  [[noreturn]] void fail(std::string message) const;
  [[noreturn]] void fail_modifier() const;  // of a combination that the specification lacks

  Module::Program& program() { return program_; }
  bool is_in_entry() const { return is_in_entry_; }
  virtual Function& current_function() = 0;

  virtual std::uint32_t label(std::string_view name) = 0;  // for Ins::extra; patched at the end

 protected:
  explicit Lowering(Module::Program& program) : program_(program) {}
  void begin(const Instruction& instruction);
  void check_modifiers();

  Module::Program& program_;
  const Instruction* instruction_ = nullptr;
  std::vector<bool> taken_;
  bool is_in_entry_ = false;

 private:
  std::unordered_map<std::uint64_t, Slot> numbers_[4];
};

// Ins::flags of an address: what Ins::a and Ins::imm are relative to.
inline constexpr std::uint8_t kAddress32 = 1;        // Ins::a has 32 bits
inline constexpr std::uint8_t kAddressVariable = 2;  // Ins::a is the index of a variable
inline constexpr std::uint8_t kAddressLocal = 4;     // the running function's local memory

// A register that a warp has from its start.
std::optional<Special> special_of(std::string_view name, std::string_view component);
// The index of .x .y .z .w or .r .g .b .a; UINT32_MAX for others.
std::uint32_t component_index(std::string_view component);

// Dynamic shared memory begins here in every kernel: above any static shared memory.
inline constexpr std::uint32_t kDynamicShared = 0x40000;

// The state space among the modifiers.
std::optional<MemorySpace> take_space(Lowering& lowering);

// Functions that the driver provides.
enum class Builtin : std::uint8_t { kPrint, kAllocate, kFree, kAssertFail };

// The families of instructions. Those in a namespace per instruction set are compiled for each set.
bool lower_memory(Lowering& lowering);
bool lower_atomic(Lowering& lowering);
bool lower_control(Lowering& lowering);
bool lower_warp(Lowering& lowering);
bool lower_matrix(Lowering& lowering);
bool lower_video(Lowering& lowering);
bool lower_scalar_video(Lowering& lowering);
bool lower_async(Lowering& lowering);
bool lower_move(Lowering& lowering);
bool lower_lanes(Lowering& lowering);

}  // namespace halyard::inline v0::sim::ptx
