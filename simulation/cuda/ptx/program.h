// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decoded form of a module, which warps execute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simulation/cuda/ptx/ptx.h"

namespace halyard::inline v0::sim::ptx {

inline constexpr unsigned kLanes = 32;
using LaneMask = std::uint32_t;
inline constexpr LaneMask kAllLanes = 0xffffffff;

struct Warp;
struct Ins;
using Handler = void (*)(Warp&, const Ins&);

// The location of an operand: a base in the low 2 bits, and a byte offset from it. A register is 32
// consecutive values, one for each lane; a predicate is a mask.
using Slot = std::uint32_t;
enum class Base : std::uint8_t { kFrame, kConstants, kSpecials, kSink };
inline constexpr unsigned kBases = 4;
inline constexpr Slot kNoSlot = UINT32_MAX;
constexpr Slot slot_of(Base base, std::uint32_t offset) {
  return offset | static_cast<std::uint32_t>(base);
}
// Registers are aligned for vector instructions.
inline constexpr std::uint32_t kSlotAlignment = 64;

enum class MemorySpace : std::uint8_t {
  kGeneric,
  kGlobal,  // and .const
  kShared,
  kLocal,
  kParameter,  // of the entry
};

struct Ins {
  Handler run = nullptr;
  Slot guard = kNoSlot;
  Slot d = kNoSlot, a = kNoSlot, b = kNoSlot, c = kNoSlot, e = kNoSlot;
  std::uint32_t line = 0;
  std::uint32_t extra = 0;  // index in Program::slots, target of a branch, ...
  std::int64_t imm = 0;
  MemorySpace space{};
  std::uint8_t count = 1;
  std::uint8_t flags = 0;
  bool guard_negated = false;
  bool is_barrier = false;  // of the block
};

// %tid.x, ...: registers that a warp has from its start.
enum class Special : std::uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneid,
  kWarpid,
  kNwarpid,
  kSmid,
  kNsmid,
  kLanemaskEq,
  kLanemaskLe,
  kLanemaskLt,
  kLanemaskGe,
  kLanemaskGt,
  kDynamicSharedSize,
  kTotalSharedSize,
  kZero,
  kOne,
  kZero64,
  kCount
};
inline constexpr std::uint32_t kSpecialBytes = kLanes * 8;

struct Function {
  std::string name;
  bool is_entry = false;
  std::uint32_t first = 0;        // instruction
  std::uint32_t frame_bytes = 0;  // registers
  std::uint32_t local_bytes = 0;  // .local variables and .param slots
  bool calls_unknown = false;     // through addresses, or itself
  bool uses_workspace = false;    // the grid synchronizes, so its blocks must run in turns
  struct Slot {
    std::uint32_t offset = 0;  // in its local memory
    std::uint32_t size = 0;
  };
  std::vector<Slot> results, parameters;
  std::vector<std::uint32_t> callees;
};

struct Relocation {
  std::uint64_t offset = 0;
  bool is_function = false;
  std::uint32_t target = 0;  // variable or function
  std::uint64_t addend = 0;
  std::uint8_t size = 8;   // bytes
  std::uint8_t shift = 0;  // bits of the address below them
};

struct Initial {
  std::vector<std::byte> bytes;  // the rest are zeros
  std::vector<Relocation> relocations;
};

// Arguments and results of a call: offsets in the caller's local memory.
struct Call {
  std::uint32_t function = 0;  // UINT32_MAX: through the address in Ins::a
  std::vector<Function::Slot> results, arguments;
};

struct Module::Program {
  std::vector<Entry> entries;
  std::vector<std::uint32_t> entry_functions;  // of each entry
  std::vector<Variable> variables;
  std::vector<Initial> initials;  // of each variable
  std::vector<Function> functions;
  std::vector<Ins> code;
  std::vector<Slot> slots;
  std::vector<Call> calls;
  std::vector<std::vector<std::uint32_t>> tables;  // of brx.idx
  std::vector<std::byte> constants;                // Base::kConstants, each value for 32 lanes
  std::uint32_t version = 0;
  std::uint32_t target = 0;
};

// Address of the workspace by which the blocks of a grid synchronize: %envreg1 and %envreg2, as
// cooperative groups find it. Its words are the size and the state of a barrier.
inline constexpr std::uint64_t kWorkspaceAddress = kWindowBytes - 4096;

}  // namespace halyard::inline v0::sim::ptx
