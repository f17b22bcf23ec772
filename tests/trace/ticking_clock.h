// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "halyard/base/clock.h"
#include "trace/tracer.h"

namespace halyard::trace::testing {

// Each reading is a tick. Adding a track reads it too, as a thread's first record does. So the
// ticks between two times are the readings between them, unless a thread's ring was created there.
struct TickingClock final : Clock {
  Tracer* tracer = nullptr;
  Nanoseconds now() noexcept override { return tracer->add_track("a reading"); }
};

}  // namespace halyard::trace::testing
