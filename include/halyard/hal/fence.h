// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fence: a growing set of points to wait for, signal or fail together. Use it for work that signals
// several semaphores.
#pragma once

#include <cstddef>
#include <vector>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/result.h"
#include "halyard/base/status.h"
#include "halyard/hal/handle.h"
#include "halyard/hal/semaphore.h"

namespace halyard::inline v0::hal {

class FenceObject;

// A handle; safe from any thread. It counts as a signaller of its semaphores: a wait for a value
// that no other signaller can reach lasts until its deadline.
class HALYARD_EXPORT Fence : public Handle<FenceObject> {
 public:
  using Handle::Handle;
  // Creates a fence of these points. Errors:
  //   kInvalidArgument    an empty semaphore
  //   kPermissionDenied   semaphores of different runtimes
  //   kResourceExhausted
  static Result<Fence> create(Points points = {});

  // Adds a point. Of several points of the same semaphore it keeps the largest value. Errors as
  // create(); after an error nothing has changed.
  Status insert(const Point& point) const;
  // Adds the present points of `other`.
  Status extend(const Fence& other) const;

  // The number of distinct semaphores; 0 when empty.
  std::size_t size() const noexcept;
  // A copy, valid while this fence lives: `{.wait = fence.points()}`.
  std::vector<Point> points() const;

  // True if all points are reached or the fence is empty, false if a point is pending. Returns the
  // failure of a semaphore that failed before it reached its point.
  Result<bool> query() const;
  // wait_all for the present points.
  Status wait(Deadline deadline = kForever) const;

  // Signals every point that is not reached yet, in the order of insertion. After an error it goes
  // on, and returns the first one.
  Status signal() const;
  // Fails every semaphore of the fence.
  void fail(const Status& status) const;
};

}  // namespace halyard::inline v0::hal
