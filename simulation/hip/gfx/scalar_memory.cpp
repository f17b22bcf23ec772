// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads into scalar registers (manual, chapter 8).
#include <cstring>

#include "simulation/hip/gfx/buffer.h"
#include "simulation/hip/gfx/text.h"
#include "simulation/hip/gfx/workgroup.h"

namespace halyard::inline v0::sim::gfx {
namespace {

std::uint64_t offset_of(const Wave& wave, const Instruction& from) {
  const Operand& operand = from.sources[1];
  const std::uint64_t offset = operand ? wave.read32(operand) : 0;
  return offset + static_cast<std::uint64_t>(std::int64_t{from.offset});
}

bool load(Wave& wave, const Instruction& from, std::uint64_t address, unsigned first,
          unsigned dwords) {
  address &= ~std::uint64_t{3};
  const std::byte* const bytes = wave.worker->find(address, 4 * dwords, false);
  if (bytes == nullptr) {
    wave.fail(
        OutcomeKind::kIllegalAddress, from, 0,
        join("reads ", 4 * dwords, " bytes at ", hex(address), ", which are in no allocation"),
        address);
    return false;
  }
  for (unsigned i = 0; i < dwords; ++i) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes + 4 * i, 4);
    wave.set_scalar(first == kNull ? kNull : first + i, value);
  }
  return true;
}

void run_load(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  load(wave, from, wave.read64(from.sources[0]) + offset_of(wave, from), from.destination.index,
       registers_of(from.destination.type));
}

// Reads 0 beyond the buffer.
void run_buffer_load(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  const BufferDescriptor buffer(wave, from.sources[0].index);
  const std::uint64_t size =
      buffer.stride == 0 ? buffer.records : std::uint64_t{buffer.records} * buffer.stride;
  const std::uint64_t offset = offset_of(wave, from) & ~std::uint64_t{3};
  const unsigned first = from.destination.index;
  for (unsigned i = 0; i < registers_of(from.destination.type); ++i) {
    if (offset + 4 * i + 4 > size) {
      wave.set_scalar(first == kNull ? kNull : first + i, 0);
    } else if (!load(wave, from, buffer.base + offset + 4 * i, first + i, 1)) {
      return;
    }
  }
}

}  // namespace

Handler scalar_memory_handler(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::s_load_b32:
    case Opcode::s_load_b64:
    case Opcode::s_load_b128:
    case Opcode::s_load_b256:
    case Opcode::s_load_b512:
      return run_load;
    case Opcode::s_buffer_load_b32:
    case Opcode::s_buffer_load_b64:
    case Opcode::s_buffer_load_b128:
    case Opcode::s_buffer_load_b256:
    case Opcode::s_buffer_load_b512:
      return run_buffer_load;
    default:
      return control_handler(instruction);  // s_dcache_inv
  }
}

}  // namespace halyard::inline v0::sim::gfx
