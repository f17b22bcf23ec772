// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/driver/command_buffer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "drivers/cpu/work.h"
#include "simulation/driver/executable.h"
#include "simulation/scheduler.h"

namespace halyard::inline v0::sim {

std::byte* address_of(const hal::BoundRange& range) noexcept {
  return range.memory->host_pointer() + range.offset;
}

namespace {

void run_command(const hal::Command& command, const hal::BoundRange* table) noexcept {
  switch (command.kind) {
    case hal::CommandKind::kFill: {
      const hal::BoundRange target = hal::bind(command.fill.target, table);
      cpu::fill_bytes(address_of(target), target.length, command.fill.pattern,
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
    case hal::CommandKind::kDispatch:
      static_cast<const Executable*>(command.dispatch.executable)->run(command.dispatch, table);
      break;
    case hal::CommandKind::kBarrier:
    case hal::CommandKind::kSetEvent:
    case hal::CommandKind::kResetEvent:
    case hal::CommandKind::kWaitEvent:
      break;
  }
}

}  // namespace

// Runs commands sequentially, in any order that barriers, events and edges permit.
void CommandBuffer::run(const hal::BoundRange* table) const noexcept {
  Random& random = Scheduler::current()->random();
  std::vector<bool> done(recording_.commands.size());
  // Returns a predecessor of `command` that has not run yet, or `command` if all have run.
  const auto before = [&](std::uint32_t command) {
    const auto edge = std::ranges::find_if(recording_.edges, [&](const hal::CommandEdge& each) {
      return each.after == command && !done[each.before];
    });
    return edge == recording_.edges.end() ? command : edge->before;
  };
  std::vector<std::uint32_t> left;
  const auto run_left = [&](std::uint32_t end) {
    for (;;) {
      const auto due =
          std::ranges::partition(left, [&](std::uint32_t each) { return each >= end; });
      if (due.empty()) return;
      std::uint32_t next = due[random.below(due.size())];
      while (before(next) != next) next = before(next);
      run_command(recording_.commands[next], table);
      done[next] = true;
      std::erase(left, next);
    }
  };
  const auto count = static_cast<std::uint32_t>(recording_.commands.size());
  std::vector<std::uint32_t> set(recording_.event_count);  // where it was set last
  for (std::uint32_t i = 0; i < count; ++i) {
    const hal::Command& command = recording_.commands[i];
    switch (command.kind) {
      case hal::CommandKind::kBarrier:
        run_left(i);
        break;
      case hal::CommandKind::kSetEvent:
        set[command.event.event] = i;
        break;
      case hal::CommandKind::kWaitEvent:
        run_left(set[command.event.event]);
        break;
      case hal::CommandKind::kResetEvent:
        break;
      default:
        left.push_back(i);
    }
  }
  run_left(count);
}

void CommandBuffer::run_part(timeline::CommandSpan part,
                             const hal::BoundRange* table) const noexcept {
  for (const hal::Command& command : recording_.commands.subspan(part.first, part.count)) {
    run_command(command, table);
  }
}

std::function<void()> work_of(const timeline::Issue& issue) {
  const auto& operation = *static_cast<const hal::Operation*>(issue.operation);
  switch (operation.kind) {
    case hal::OperationKind::kBarrier:
      break;
    case hal::OperationKind::kCommand:
      return [&operation] { run_command(operation.command, nullptr); };
    case hal::OperationKind::kExecute:
      const auto& commands = *static_cast<const CommandBuffer*>(operation.native);
      if (issue.commands.count == commands.depth()) {
        return [&] { commands.run(operation.table); };
      }
      return [&, part = issue.commands] { commands.run_part(part, operation.table); };
  }
  return [] {};
}

}  // namespace halyard::inline v0::sim
