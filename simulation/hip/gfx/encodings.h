// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opcode numbers, for the decoder.
#pragma once

#include <optional>
#include <string_view>

#include "simulation/hip/gfx/decode.h"

namespace halyard::inline v0::sim::gfx {

std::optional<Opcode> opcode_of(Encoding encoding, unsigned number);
// The name of an operation that exists but is not implemented, or nothing.
std::string_view name_of_not_built(Encoding encoding, unsigned number);

}  // namespace halyard::inline v0::sim::gfx
