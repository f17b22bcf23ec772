// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known bugs of the real library that need more than a different result. The State is locked.
#pragma once

#include "simulation/hip/call.h"

namespace halyard::inline v0::sim::hip {

// Exists while a call waits for work of a device. With Bug::kBlockingQueries, other calls that only
// query, launch or order work wait for its end (await_waits), although it does not hold a lock that
// they need.
class WaitScope {
 public:
  explicit WaitScope(DeviceId device);
  ~WaitScope();
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  DeviceId device_;
};
void await_waits(Call& call, DeviceId device);

// Called after a wait. With Bug::kZeroedPools the pool then releases memory that is in use, which
// becomes zero. The largest release threshold avoids it.
void clear_pools(const ContextState& context);

}  // namespace halyard::inline v0::sim::hip
