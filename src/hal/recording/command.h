// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Command: a validated command for a driver, with every length resolved. Recordings
// (RecordedCommands) and single queue operations (Operation) use the same type.
//
// Commands are views: they point to memory and executables that their RecordedCommands or Operation
// retains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hal/memory/memory.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/base/status.h"
#include "halyard/hal/command_buffer.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/types.h"
#include "timeline/native_queue.h"
#include "trace/record.h"

namespace halyard::inline v0::hal {

class ExecutableImpl;

// The range [offset, offset + length) of a memory, resolved and bounds-checked. Also an entry of a
// binding table. After the entries with memory come the numbers of constant slots: `memory` is null
// and `offset` has the bits.
struct BoundRange {
  Memory* memory = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// A range that a command uses: bound, or a part of the entry `slot` of the binding table (memory ==
// nullptr). A slot whose length is kWholeSize reaches to the end of the bound range.
struct CommandRange : BoundRange {
  CommandRange() noexcept = default;
  CommandRange(const BoundRange& range, std::uint32_t slot_ = 0) noexcept
      : BoundRange(range), slot(slot_) {}

  std::uint32_t slot = 0;
};

enum class CommandKind : std::uint8_t {
  kBarrier,
  kFill,
  kUpdate,
  kCopy,
  kDispatch,
  // In recordings only.
  kSetEvent,
  kResetEvent,
  kWaitEvent,
};

// False for commands that only synchronize: barriers and events.
inline bool does_work(CommandKind kind) noexcept {
  switch (kind) {
    case CommandKind::kFill:
    case CommandKind::kUpdate:
    case CommandKind::kCopy:
    case CommandKind::kDispatch:
      return true;
    case CommandKind::kBarrier:
    case CommandKind::kSetEvent:
    case CommandKind::kResetEvent:
    case CommandKind::kWaitEvent:
      break;
  }
  return false;
}

struct FillCommand {
  CommandRange target;
  std::uint32_t pattern;
  std::uint32_t pattern_size;  // 1, 2 or 4
};
struct UpdateCommand {
  CommandRange target;
  const std::byte* source;  // target.length bytes
  // If the device needs host blocks: the same bytes in its driver's memory. Null if the update has
  // no bytes.
  Memory* source_memory = nullptr;
  std::uint64_t source_offset = 0;
};
struct CopyCommand {
  CommandRange source;
  CommandRange target;
};
struct DispatchCommand {
  ExecutableImpl* executable;
  std::uint32_t function;
  std::uint32_t groups[3];  // if any is 0 nothing runs
  const CommandRange*
      counts;  // else null: 12 bytes, aligned to 4, that hold the groups when it runs
  const CommandRange* bindings;
  std::uint32_t binding_count;
  std::uint32_t constants_size;
  const std::byte* constants;  // laid out as the function's reflection says, aligned to 8
  // For a dispatch with constant slots: the slots, as entries of the table, and the entry where the
  // submission's constants begin (constants_of). Otherwise 0.
  const ConstantUse* constant_uses;
  std::uint32_t constant_use_count;
  std::uint32_t constants_entry;
};

// A set, reset or wait. Commands after a wait run after, and see, everything before the latest set
// of its event in the same recording. If the recording has no such set, the wait has no effect
// within it: its submissions wait instead. A wait never follows a reset without a set in between.
struct EventCommand {
  std::uint32_t event;  // one of RecordedCommands::event_count
};

struct Command {
  CommandKind kind = CommandKind::kBarrier;
  union {
    FillCommand fill;
    UpdateCommand update;
    CopyCommand copy;
    DispatchCommand dispatch;
    EventCommand event;
  };
  Command() noexcept {}  // a barrier, which has no other members
  explicit Command(const FillCommand& command) noexcept : kind(CommandKind::kFill), fill(command) {}
  explicit Command(const UpdateCommand& command) noexcept
      : kind(CommandKind::kUpdate), update(command) {}
  explicit Command(const CopyCommand& command) noexcept : kind(CommandKind::kCopy), copy(command) {}
  explicit Command(const DispatchCommand& command) noexcept
      : kind(CommandKind::kDispatch), dispatch(command) {}
  Command(CommandKind event_kind, const EventCommand& command) noexcept
      : kind(event_kind), event(command) {}
};

// The name of the command in a trace.
trace::Name name_of(const Command& command) noexcept;

// Command `after` runs after, and sees, command `before`. Neither is a barrier or an event.
struct CommandEdge {
  std::uint32_t before;
  std::uint32_t after;  // > before
};

// A finished recording, as input for the driver. Commands that barriers, events and edges do not
// order may run in any order and overlap. The order of `commands` respects all of them.
struct RecordedCommands {
  std::span<const Command> commands;
  std::span<const CommandEdge> edges;  // by `after`
  std::uint32_t slot_count = 0;        // entries of the table: memory and numbers
  std::uint32_t event_count = 0;
  std::span<const trace::Label> labels;  // one for each command; empty without a tracer
  RecordingUse use = RecordingUse::kOften;
};

// The constants of a recorded dispatch in the submission with this table.
inline const std::byte* constants_of(const DispatchCommand& command,
                                     const BoundRange* table) noexcept {
  return command.constant_use_count == 0
             ? command.constants
             : reinterpret_cast<const std::byte*>(table + command.constants_entry);
}

// Resolves `range` with this table. Precondition: the command is issued, as memory of a pool, which
// recordings have as a slot, has no address earlier.
inline BoundRange bind(const CommandRange& range, const BoundRange* table) noexcept {
  if (range.memory != nullptr) return range;
  const BoundRange& entry = table[range.slot];
  const bool to_the_end = range.length == kWholeSize;
  return {entry.memory, entry.offset + range.offset,
          to_the_end ? entry.length - range.offset : range.length};
}

// The same bytes as a range of the root, the memory that a driver made and may downcast.
inline BoundRange at_root(const BoundRange& range) noexcept {
  return {&range.memory->root(), range.memory->root_offset() + range.offset, range.length};
}

// When another submission may use the native form of a recording.
enum class InstanceReuse : std::uint8_t {
  kInOrder,  // once the device orders it after the previous use: a native graph
  kRetired,  // once the host has seen the previous use end: memory that the issuer writes
};

struct InstanceInfo {
  std::uint32_t count = 0;  // at most Instances::kMost; 0: any number of submissions use it at once
  InstanceReuse reuse = InstanceReuse::kInOrder;
};

// A recording in the driver's own form. Immutable, except for the state of its instances. It may
// point into the RecordedCommands that it was made from, which lives as long.
class NativeCommands {
 public:
  explicit NativeCommands(const RecordedCommands& recording) noexcept : recording_(recording) {}
  virtual ~NativeCommands() = default;
  // The recording that it was made from.
  const RecordedCommands& recording() const noexcept { return recording_; }
  // Native commands that one replay puts into a lane (timeline::QueueCapabilities::max_in_flight).
  virtual std::uint32_t depth() const noexcept { return 1; }
  // The native forms of the recording, each used by one submission at a time (Operation::instance).
  // Constant.
  virtual InstanceInfo instances() const noexcept { return {}; }

 private:
  const RecordedCommands& recording_;
};

// An event of the native library that the user created; the driver knows its type.
struct NativeEvent {
  enum class Use : std::uint8_t { kNone, kWait, kRecord };
  void* handle = nullptr;
  Use use = Use::kNone;
};

enum class OperationKind : std::uint8_t {
  kBarrier,  // nothing, or a native event
  kCommand,  // one command without slots
  kExecute,  // a recording with a binding table
};

// The type that Issue::operation has in NativeQueue::issue.
struct Operation : timeline::Operation {
  Operation() noexcept {}  // prevents clearing all members for each submission

  OperationKind kind = OperationKind::kBarrier;
  NativeEvent event;                       // kBarrier; empty if the device lacks native events
  Command command;                         // kCommand
  const NativeCommands* native = nullptr;  // kExecute
  const BoundRange* table = nullptr;       // kExecute: slot i is table[i]
  std::uint32_t instance = 0;              // kExecute: its own among native->instances()
};

}  // namespace halyard::inline v0::hal
