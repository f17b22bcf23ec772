// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks and waits on the streams that HIP's functions take.
#pragma once

#include "simulation/gpu/stream.h"
#include "simulation/hip/call.h"

namespace halyard::inline v0::sim::hip {

// Returns kSuccess if the handle is a stream, and reports a destroyed stream. The error is
// `before_7` up to 6.x, hipErrorContextIsDestroyed for most functions (hip::isValid); from 7.0,
// where the real library ends the process, it is hipErrorInvalidHandle. The State is locked.
Result check_handle(Stream stream, Result before_7 = gpu::kContextIsDestroyed);
// The same for events.
Result check_handle(Event event, Result before_7 = gpu::kContextIsDestroyed);

// Waits for the stream's work if HIP_LAUNCH_BLOCKING or AMD_SERIALIZE_KERNEL asks for it after a
// launch. Returns `result`, or the fault.
Result after_launch(Call& call, Stream stream, Result result);

#define HALYARD_HIP_HANDLE(...) \
  if (const Result bad = check_handle(__VA_ARGS__); bad != kSuccess) return bad

}  // namespace halyard::inline v0::sim::hip
