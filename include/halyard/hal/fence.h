// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fence: a growing set of points to wait for, signal or fail together; for work whose end is spread
// over several semaphores.
#pragma once

#include <cstddef>
#include <vector>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/base/status.h"
#include "halyard/hal/semaphore.h"

namespace halyard::inline v0::hal {

class FenceObject;

// A handle; safe from any thread. Keeps its semaphores, so that a wait for a value which nobody
// else can signal any more goes on until its deadline.
class HALYARD_EXPORT Fence {
 public:
  // Empty: calls answer kInvalidArgument.
  Fence() noexcept = default;
  // kInvalidArgument: an empty semaphore; kPermissionDenied: semaphores of different runtimes;
  // kResourceExhausted.
  static Result<Fence> create(Points points = {});

  // Adds a point. Of one semaphore the largest value stays. Codes as create; on an error nothing
  // changes.
  Status insert(const Point& point) const;
  // Adds all points of `other` as they are now.
  Status extend(const Fence& other) const;

  // Distinct semaphores; 0 when empty.
  std::size_t size() const noexcept;
  // A copy, valid while this fence lives: `{.wait = fence.points()}`.
  std::vector<Point> points() const;

  // True if all points are reached, also if there are none; false if one is pending; the failure of
  // one that has failed.
  Result<bool> query() const;
  // wait_all for the points there are now.
  Status wait(Deadline deadline = kForever) const;

  // Signals every point that is not reached yet, in the order of insertion; the first error, after
  // the others were signalled.
  Status signal() const;
  // Fails every semaphore of it.
  void fail(const Status& status) const;

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const Fence& a, const Fence& b) noexcept = default;

 private:
  FenceObject* object() const noexcept { return reinterpret_cast<FenceObject*>(object_.get()); }

  HandleRef<RefCounted> object_;
};

}  // namespace halyard::inline v0::hal
