// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The process that uses this library. In halyard-sim every run is a process of its own: it begins
// with options instead of the environment, and ends with nothing left.
#pragma once

#include <string>
#include <vector>

#include "simulation/gpu/options.h"
#include "simulation/gpu/rules.h"
#include "simulation/gpu/types.h"

namespace halyard::inline v0::sim::gpu {

// Which of `count` devices the process sees, in its order: in halyard-sim all.
std::vector<int> visible_devices(int count);

// Reports objects that were never released. The State is locked.
void report_unreleased();

// `reset` is called when the process ends, and forgotten then. The State is locked, or no other
// thread is there.
void at_end_of_process(void (*reset)());
// Calls them, the latest first.
void reset_process();

// --- in halyard-sim only, by a simulated thread --------------------------------------------------

// Before the first call of the API, of the library that `rules` are of.
void begin_process(const Rules& rules, const Options& options);

// The device of the context that is current in this thread; -1: there is none.
DeviceId current_device();

// Injects a kernel fault on `device`: every later call in its contexts returns the fault, and their
// work in flight does not run. Does nothing if the device has no primary context.
void fail_device(DeviceId device, Result fault);

// Waits until nothing is in flight.
void drain_process();

struct EndOfProcess {
  std::string misuse;  // one line for each rule that the program broke
  std::string leaks;   // one line for each kind of object that was never released
};
// Ends the threads of streams, and frees everything. No thread of the program is in a call.
EndOfProcess end_process();

}  // namespace halyard::inline v0::sim::gpu
