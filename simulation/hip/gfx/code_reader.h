// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All instructions of a code object.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "simulation/hip/gfx/program.h"

namespace halyard::inline v0::sim::gfx {

// Decodes Program::image between code_begin and code_end into `instructions` and `instruction_at`,
// and checks the code that is reachable from the kernels' `code[i].entry_offset`, whose `entry` it
// sets. If a kernel calls by an address, code reachable from `functions`, offsets in the image, is
// checked as well. Returns kOk, or kDamaged or kNotExecutable with a sentence in `error` if a
// reachable instruction is unknown or not implemented, or if a branch leaves the code. Unreachable
// words may be anything.
LoadStatus read_code(CodeObject::Program& program, std::span<const std::uint64_t> functions,
                     std::string& error);

}  // namespace halyard::inline v0::sim::gfx
