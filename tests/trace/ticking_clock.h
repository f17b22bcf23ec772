// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "halyard/base/clock.h"
#include "trace/tracer.h"

namespace halyard::trace::testing {

// A reading is a tick, and so is a track that is added, as a thread's first note does: between two
// times are as many ticks as readings, unless a thread's ring was made there.
struct TickingClock final : Clock {
  Tracer* tracer = nullptr;
  Nanoseconds now() noexcept override { return tracer->add_track("a reading"); }
};

}  // namespace halyard::trace::testing
