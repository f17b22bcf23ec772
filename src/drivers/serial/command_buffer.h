// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CommandBuffer: a recording. Its commands run one after another on the thread of a lane.
//
// Running in the order of the recording satisfies every barrier, event and edge. Nothing is
// translated beforehand; a driver for a device with its own command format translates here, once.
// Slots are looked up in the submission's binding table, so any number of submissions may use a
// recording at once.
#pragma once

#include "base/atomic.h"
#include "hal/recording/command.h"
#include "trace/tracer.h"

namespace halyard::inline v0::serial {

// Runs one command. `table` may be null if it has no slots. Returns false if `stop` became true
// before the command ended.
bool run_command(const hal::Command& command, const hal::BoundRange* table,
                 const base::Atomic<bool>& stop) noexcept;

class CommandBuffer final : public hal::NativeCommands {
 public:
  // `recording` outlives this.
  explicit CommandBuffer(const hal::RecordedCommands& recording) noexcept : hal::NativeCommands(recording) {}

  // Runs all commands, and notes each unless `stamps` is null. Returns false as run_command does.
  bool run(const hal::BoundRange* table, const base::Atomic<bool>& stop,
           trace::Stamps* stamps) const noexcept;
};

}  // namespace halyard::inline v0::serial
