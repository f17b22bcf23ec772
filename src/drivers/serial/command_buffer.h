// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CommandBuffer: a recording, and how its commands run: one after the other, on the thread of a
// lane.
//
// In the order of the recording every barrier, event and edge holds by itself. Nothing is
// translated beforehand; a driver of a device with a command format of its own does that here,
// once. Slots are looked up in the submission's binding table, so any number of submissions may use
// a recording at once.
#pragma once

#include "base/atomic.h"
#include "hal/recording/command.h"
#include "trace/tracer.h"

namespace halyard::inline v0::serial {

// Runs one command. `table` may be null if it has no slots. False: `stop` became true before the
// command ended.
bool run_command(const hal::Command& command, const hal::BoundRange* table,
                 const base::Atomic<bool>& stop) noexcept;

class CommandBuffer final : public hal::NativeCommands {
 public:
  // `recording` outlives this.
  explicit CommandBuffer(const hal::RecordedCommands& recording) noexcept : hal::NativeCommands(recording) {}

  // Runs all commands, and notes each unless `stamps` is null. False: as run_command.
  bool run(const hal::BoundRange* table, const base::Atomic<bool>& stop,
           trace::Stamps* stamps) const noexcept;
};

}  // namespace halyard::inline v0::serial
