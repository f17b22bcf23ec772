// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sources and results of vector operations, with their modifiers.
#pragma once

#include <cstdint>

#include "simulation/hip/gfx/machine.h"

namespace halyard::inline v0::sim::gfx {

// Rows of a source: at most 8 registers.
struct alignas(64) RowBuffer {
  std::uint32_t rows[8 * kLanes];
};

// The rows of source `index` without modifiers: the register's rows, or `buffer`, filled with the
// value of a scalar.
const std::uint32_t* plain_rows(Wave& wave, const Ins& ins, unsigned index, unsigned dwords,
                                RowBuffer& buffer);

// The same for an operand that is not a source of Ins.
const std::uint32_t* operand_rows(Wave& wave, const Operand& operand, unsigned dwords,
                                  RowBuffer& buffer);

// Moves rows as DPP does. Lanes that get no value are removed from `enabled`, unless they read 0.
void move_rows(const Wave& wave, const DppControl& dpp, const std::uint32_t* rows, unsigned dwords,
               std::uint32_t* moved, std::uint32_t& enabled);

// The rows of source `index` of kind `kind` with all modifiers applied.
const std::uint32_t* prepared_rows(Wave& wave, const Ins& ins, unsigned index, ValueKind kind,
                                   RowBuffer& buffer, std::uint32_t& enabled);

// Applies the output modifiers to results of `kind`.
void modify_result(const Wave& wave, const Instruction& from, ValueKind kind, std::uint32_t* rows,
                   bool flushes);

// Writes results of `kind` to the destination for the lanes of `mask`; for 16-bit results, only the
// selected half.
void write_result(Wave& wave, const Ins& ins, ValueKind kind, const std::uint32_t* rows,
                  std::uint32_t mask);

}  // namespace halyard::inline v0::sim::gfx
