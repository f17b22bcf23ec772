// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strict mode's records of a workgroup and of its waves.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "simulation/hip/gfx/machine.h"

namespace halyard::inline v0::sim::gfx {

// Finds races of waves within the LDS of a workgroup. The workgroup barrier orders all earlier
// accesses before all later ones. So between two barriers, two accesses of different waves to the
// same byte race, unless both read or both are atomic. For each byte the last write and the first
// readers of two waves are kept, so a race may go unnoticed, but every report is a race.
class LdsChecks {
 public:
  enum class Access : std::uint8_t { kRead, kWrite, kAtomic };
  struct Race {
    std::uint32_t other_wave = 0;
    const Instruction* other = nullptr;
    bool other_is_write = false;
  };

  explicit LdsChecks(std::size_t bytes) : bytes_(bytes) {}
  std::optional<Race> access(std::uint32_t wave, const Instruction& at, std::size_t offset,
                             std::size_t size, Access access);
  void pass_barrier() { ++epoch_; }

 private:
  struct Use {
    std::uint32_t epoch = 0;  // 0: none
    std::uint16_t wave = 0;
    bool is_atomic = false;
    const Instruction* at = nullptr;
  };
  struct Byte {
    Use write;
    std::array<Use, 2> reads;
  };
  bool is_concurrent(const Use& use, std::uint32_t wave) const {
    return use.epoch == epoch_ && use.wave != wave;
  }

  std::vector<Byte> bytes_;
  std::uint32_t epoch_ = 1;
};

// Tracks which registers of a wave are defined, and which have pending loads. Loads of vector
// memory return in order, as do operations of LDS; scalar loads return in any order, so that only a
// wait for all of lgkmcnt covers them (manual, 5.6). Stores write no registers, so their counter
// does not matter.
class Checks {
 public:
  // Called before a wave begins: only EXEC, v0 and the scalar registers in `scalars` are defined.
  void reset(const std::bitset<kScalarRegisters>& scalars);

  // Report the instruction's misuse of registers. Called before and after it executes.
  void before(Wave& wave, const Ins& ins);
  void after(const Ins& ins);

 private:
  enum class Counter : std::uint8_t { kVectorLoads, kLds, kScalar };
  // Registers that a pending instruction will write.
  struct Pending {
    Counter counter{};
    const Instruction* at = nullptr;
    bool is_vector = false;
    unsigned first = 0, count = 0;
  };
  void wait(const Instruction& from);
  void drop(Counter counter, unsigned left);
  void read(Wave& wave, const Instruction& at, const Operand& operand, unsigned count);
  void write(Wave& wave, const Instruction& at, const Operand& operand, unsigned count);
  void read_scalar(Wave& wave, const Instruction& at, unsigned first, unsigned count);
  void check_pending(Wave& wave, const Instruction& at, bool is_vector, unsigned first,
                     unsigned count, bool is_write);
  void report_undefined(Wave& wave, const Instruction& at, std::string_view what);
  void define(const Operand& operand, unsigned count);

  std::bitset<kVectorRows> vectors_;
  std::bitset<kScalarRegisters + 16> scalars_;
  bool has_scc_ = false;
  std::deque<Pending> pending_;  // oldest first
};

}  // namespace halyard::inline v0::sim::gfx
