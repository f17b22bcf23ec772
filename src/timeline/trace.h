// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records host waits (trace/tracer.h). Members record the rest of what the engine traces.
#pragma once

#include <span>

#include "timeline/engine.h"
#include "timeline/semaphore.h"

namespace halyard::inline v0::timeline {

// Records that the calling thread has waited since `begin`.
void note_wait(trace::Tracer& tracer, trace::Name name, Nanoseconds begin,
               std::span<const Point> points, bool in_time) noexcept;

// wait(), noted if the engine is traced.
template <class F>
Status traced_wait(Engine& engine, trace::Name name, std::span<const Point> points, F&& wait) {
  trace::Tracer* const tracer = engine.tracer();
  if (tracer == nullptr) [[likely]]
    return wait();
  const Nanoseconds begin = tracer->now();
  Status status = wait();
  note_wait(*tracer, name, begin, points, status.ok());
  return status;
}

}  // namespace halyard::inline v0::timeline
