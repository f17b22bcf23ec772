// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The record that a driver writes for each command of a traced submission.
#pragma once

#include "trace/tracer.h"

namespace halyard::inline v0::trace {

// Records a command that ran from stamps.command_begin until now. Call it on the thread that ran
// the command. For devices whose commands are stamped in the tracer's own clock.
inline void note_command(const Stamps& stamps, const Label& label) noexcept {
  Record record;
  record.kind = Record::Kind::kCommand;
  record.track = stamps.track;
  record.name = label.name;
  record.group = label.group;
  record.id = stamps.id;
  record.begin = stamps.command_begin;
  record.end = record.at = stamps.tracer->now();
  note(*stamps.tracer, record);
}

}  // namespace halyard::inline v0::trace
