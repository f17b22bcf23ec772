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
// and checks what can be reached from the kernels' `code[i].entry_offset`, whose `entry` it sets;
// from `functions` too, offsets in the image, if a kernel calls by an address. kOk, kDamaged or
// kNotExecutable with one sentence in `error`: an instruction that can be reached is unknown or not
// built, or a branch leaves the code. What cannot be reached may be anything.
LoadStatus read_code(CodeObject::Program& program, std::span<const std::uint64_t> functions,
                     std::string& error);

}  // namespace halyard::inline v0::sim::gfx
