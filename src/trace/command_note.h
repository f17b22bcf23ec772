// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a driver notes of each command of a traced submission.
#pragma once

#include "trace/tracer.h"

namespace halyard::inline v0::trace {

// That a command has just run, since stamps.command_begin. On the thread that ran it; for devices
// whose commands are stamped in the tracer's own clock.
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
