// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/serial/command_buffer.h"

#include <algorithm>
#include <cstring>

#include "drivers/serial/allocator.h"
#include "drivers/serial/executable.h"
#include "kernel/cpu_run.h"
#include "kernel/hyx.h"
#include "trace/command_note.h"

namespace halyard::inline v0::serial {
namespace {

void copy_bytes(std::byte* target, const std::byte* source, std::uint64_t length) noexcept {
  if (length != 0) std::memcpy(target, source, length);
}

void fill_bytes(std::byte* target, std::uint64_t length, const hal::FillCommand& command) noexcept {
  std::uint64_t done = std::min<std::uint64_t>(command.pattern_size, length);
  copy_bytes(target, reinterpret_cast<const std::byte*>(&command.pattern), done);
  while (done < length) {  // appends a copy of the bytes so far
    const std::uint64_t count = std::min(done, length - done);
    copy_bytes(target + done, target, count);
    done += count;
  }
}

bool dispatch(const hal::DispatchCommand& command, const hal::BoundRange* table,
              const base::Atomic<bool>& stop) noexcept {
  const auto& executable = *static_cast<const Executable*>(command.executable);
  const kernel::CpuEntry entry = executable.entry(command.function);
  void* buffers[kernel::kMaxBindings];
  for (std::uint32_t i = 0; i < command.binding_count; ++i) {
    buffers[i] = bytes_of(hal::bind(command.bindings[i], table));
  }
  std::uint32_t groups[3];
  if (command.counts != nullptr) {  // read now, since the device may write them
    std::memcpy(groups, bytes_of(hal::bind(*command.counts, table)), sizeof groups);
  } else {
    std::copy_n(command.groups, 3, groups);
  }
  return kernel::run_workgroups(entry, buffers, hal::constants_of(command, table), groups, stop);
}

}  // namespace

bool run_command(const hal::Command& command, const hal::BoundRange* table,
                 const base::Atomic<bool>& stop) noexcept {
  if (stop.load(std::memory_order_relaxed)) return false;
  switch (command.kind) {
    case hal::CommandKind::kFill: {
      const hal::BoundRange target = hal::bind(command.fill.target, table);
      fill_bytes(bytes_of(target), target.length, command.fill);
      break;
    }
    case hal::CommandKind::kUpdate: {
      const hal::BoundRange target = hal::bind(command.update.target, table);
      if (target.length == 0) break;
      copy_bytes(bytes_of(target),
                 bytes_of({command.update.source_memory, command.update.source_offset}),
                 target.length);
      break;
    }
    case hal::CommandKind::kCopy: {
      const hal::BoundRange target = hal::bind(command.copy.target, table);
      copy_bytes(bytes_of(target), bytes_of(hal::bind(command.copy.source, table)), target.length);
      break;
    }
    case hal::CommandKind::kDispatch:
      return dispatch(command.dispatch, table, stop);
    case hal::CommandKind::kBarrier:
    case hal::CommandKind::kSetEvent:
    case hal::CommandKind::kResetEvent:
    case hal::CommandKind::kWaitEvent:
      break;  // all earlier commands have run
  }
  return true;
}

bool CommandBuffer::run(const hal::BoundRange* table, const base::Atomic<bool>& stop,
                        trace::Stamps* stamps) const noexcept {
  for (std::size_t i = 0; i < recording().commands.size(); ++i) {
    const hal::Command& command = recording().commands[i];
    if (stamps != nullptr) stamps->command_begin = stamps->tracer->now();
    if (!run_command(command, table, stop)) return false;
    if (stamps != nullptr && hal::does_work(command.kind)) {
      trace::note_command(*stamps, recording().labels[i]);
    }
  }
  return true;
}

}  // namespace halyard::inline v0::serial
