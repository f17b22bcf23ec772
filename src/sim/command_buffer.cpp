// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/command_buffer.h"

#include <cstring>

#include "hcq/work.h"

namespace halyard::inline v0::sim {
namespace {

std::byte* address_of(const hal::BoundRange& range) noexcept {
  return range.memory->host_pointer() + range.offset;
}

void run_command(const hal::Command& command, const hal::BoundRange* table) noexcept {
  switch (command.kind) {
    case hal::CommandKind::kFill: {
      const hal::BoundRange target = hal::bind(command.fill.target, table);
      hcq::fill_bytes(address_of(target), target.length, command.fill.pattern,
                      command.fill.pattern_size);
      break;
    }
    case hal::CommandKind::kUpdate: {
      const hal::BoundRange target = hal::bind(command.update.target, table);
      std::memcpy(address_of(target), command.update.source, target.length);
      break;
    }
    case hal::CommandKind::kCopy: {
      const hal::BoundRange target = hal::bind(command.copy.target, table);
      std::memcpy(address_of(target), address_of(hal::bind(command.copy.source, table)),
                  target.length);
      break;
    }
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
