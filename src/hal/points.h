// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A caller's hal::Points as the engine wants them. The engine checks them.
#pragma once

#include <cstddef>

#include "halyard/hal/semaphore.h"
#include "timeline/semaphore.h"

namespace halyard::inline v0::hal {

// Lists up to this long are copied to the stack, longer ones to a block of memory.
inline constexpr std::size_t kInlinePoints = 8;

inline void copy_points(Points points, timeline::Point* out) noexcept {
  for (const Point& point : points) *out++ = {point.semaphore(), point.value()};
}

// Uninitialised beyond the copy of `points`. Precondition: they fit.
struct InlinePoints {
  explicit InlinePoints(Points points) noexcept { copy_points(points, data); }
  union {
    timeline::Point data[kInlinePoints];
  };
};

}  // namespace halyard::inline v0::hal
