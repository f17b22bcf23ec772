// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Public bugs of the real library that are more than a different answer. The State is locked.
#pragma once

#include "simulation/hip/call.h"

namespace halyard::inline v0::sim::hip {

// Lives while a call waits for work of a device. With Bug::kBlockingQueries others that only ask,
// launch or order wait for its end (await_waits), although it holds no lock that they need.
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

// With Bug::kZeroedPools, after a wait: the pool gives back memory that is in use, and what comes
// back is zero. A release threshold of the largest number avoids it.
void clear_pools(const ContextState& context);

}  // namespace halyard::inline v0::sim::hip
