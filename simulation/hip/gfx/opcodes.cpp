// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstddef>

#include "simulation/hip/gfx/instruction.h"

namespace halyard::inline v0::sim::gfx {
namespace {

using enum Type;

constexpr std::array<OpcodeFacts, kOpcodes> kFacts = {{
#define HALYARD_GFX_OPCODE(name, group, destination, second, s0, s1, s2, facts) \
  {#name, Group::group, destination, second, {s0, s1, s2}, facts},
#include "simulation/hip/gfx/opcodes.def"
#undef HALYARD_GFX_OPCODE
}};

}  // namespace

const OpcodeFacts& facts_of(Opcode opcode) { return kFacts[static_cast<std::size_t>(opcode)]; }

unsigned OpcodeFacts::source_count() const {
  unsigned count = static_cast<unsigned>(sources.size());
  while (count != 0 && sources[count - 1] == kNone) --count;
  return count;
}

unsigned bits_of(Type type) {
  switch (type) {
    case kNone:
      return 0;
    case kB16:
    case kI16:
    case kU16:
    case kF16:
    case kBf16:
      return 16;
    case kB64:
    case kI64:
    case kU64:
    case kF64:
      return 64;
    case kB96:
      return 96;
    case kB128:
      return 128;
    case kB256:
      return 256;
    case kB512:
      return 512;
    default:
      return 32;
  }
}

}  // namespace halyard::inline v0::sim::gfx
