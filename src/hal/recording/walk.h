// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of a recording's commands, for drivers that replay them one by one.
//
//     walk_with_barriers()   a device that overlaps commands unless a full barrier stands between
//     OrderedPrefix          a device that takes a graph: what each command follows
//
// A device that runs commands in their order needs neither: the order of a recording respects all
// of its barriers, events and edges (RecordedCommands).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/array.h"
#include "hal/recording/command.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::hal {

// Calls `barrier()` wherever later commands must run after, and see, all earlier ones, and
// `work(index, command)` for each command that does work, in the order of the recording. Returns
// the first error of `work`, which ends the walk. Allocates nothing.
//
// It calls `barrier()` for each barrier and each wait for an event, and before a command with an
// edge from a command that no barrier separates from it yet. Two barriers may follow each other
// without work in between; a driver may skip the second if nothing was written since the first.
template <class Barrier, class Work>
Status walk_with_barriers(const RecordedCommands& recording, Barrier&& barrier, Work&& work) {
  std::uint32_t ordered = 0;  // commands before it are ordered before those that follow
  std::size_t edge = 0;
  for (std::uint32_t i = 0; i < recording.commands.size(); ++i) {
    bool needs_barrier = false;
    for (; edge < recording.edges.size() && recording.edges[edge].after == i; ++edge) {
      needs_barrier |= recording.edges[edge].before >= ordered;
    }
    const CommandKind kind = recording.commands[i].kind;
    if (needs_barrier || kind == CommandKind::kBarrier || kind == CommandKind::kWaitEvent) {
      barrier();
      ordered = i;
    }
    if (!does_work(kind)) continue;
    HALYARD_RETURN_IF_ERROR(work(i, recording.commands[i]));
  }
  return {};
}

// The commands that barriers and events order before a place of a recording: always a prefix of it.
// Edges add further order (RecordedCommands::edges).
class OrderedPrefix {
 public:
  // Called once, with the recording's event_count. Returns false if out of memory.
  [[nodiscard]] bool open(std::uint32_t event_count) noexcept { return sets_.grow(event_count); }

  // Passes command `index`; called for each command in its order. Returns n: this command and those
  // that follow it run after all commands below n.
  std::uint32_t pass(std::uint32_t index, const Command& command) noexcept {
    switch (command.kind) {
      case CommandKind::kBarrier:
        prefix_ = index;
        break;
      case CommandKind::kSetEvent:
        sets_[command.event.event] = index;
        break;
      case CommandKind::kWaitEvent:
        // Without a set in this recording, its submission waits for another submission; the prefix
        // is empty.
        prefix_ = std::max(prefix_, sets_[command.event.event]);
        break;
      case CommandKind::kResetEvent:  // a wait only follows after another set
      case CommandKind::kFill:
      case CommandKind::kUpdate:
      case CommandKind::kCopy:
      case CommandKind::kDispatch:
        break;
    }
    return prefix_;
  }

 private:
  base::Array<std::uint32_t> sets_;  // by event: where it was set
  std::uint32_t prefix_ = 0;
};

}  // namespace halyard::inline v0::hal
