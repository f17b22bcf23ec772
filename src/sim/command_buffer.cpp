// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/command_buffer.h"

#include <cstring>

#include "hcq/work.h"

namespace halyard::inline v0::sim {
namespace {

std::byte* address_of(const hal::CommandRange& range, const hal::BoundRange* table) noexcept {
  if (range.memory != nullptr) return range.memory->host_pointer() + range.offset;
  const hal::BoundRange& bound = table[range.slot];
  return bound.memory->host_pointer() + bound.offset + range.offset;
}

std::uint64_t length_of(const hal::CommandRange& range, const hal::BoundRange* table) noexcept {
  return range.length != hal::kWholeSize ? range.length : table[range.slot].length - range.offset;
}

void run_command(const hal::Command& command, const hal::BoundRange* table) noexcept {
  switch (command.kind) {
    case hal::CommandKind::kFill:
      hcq::fill_bytes(address_of(command.fill.target, table), length_of(command.fill.target, table),
                      command.fill.pattern, command.fill.pattern_size);
      break;
    case hal::CommandKind::kUpdate:
      std::memcpy(address_of(command.update.target, table), command.update.source,
                  length_of(command.update.target, table));
      break;
    case hal::CommandKind::kCopy:
      std::memcpy(address_of(command.copy.target, table), address_of(command.copy.source, table),
                  length_of(command.copy.source, table));
      break;
    case hal::CommandKind::kDispatch:  // no kernels: Device::load() refuses them
    case hal::CommandKind::kBarrier:
    case hal::CommandKind::kSetEvent:
    case hal::CommandKind::kResetEvent:
    case hal::CommandKind::kWaitEvent:
      break;  // commands run in order
  }
}

}  // namespace

void CommandBuffer::run(const hal::BoundRange* table) const noexcept {
  for (const hal::Command& command : recording_.commands) run_command(command, table);
}

void run(const hal::Operation& operation) noexcept {
  switch (operation.kind) {
    case hal::OperationKind::kBarrier:
      break;
    case hal::OperationKind::kCommand:
      run_command(operation.command, nullptr);
      break;
    case hal::OperationKind::kExecute:
      static_cast<const CommandBuffer*>(operation.native)->run(operation.table);
      break;
  }
}

}  // namespace halyard::inline v0::sim
