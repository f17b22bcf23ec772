// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The process that uses this library. In halyard-sim every run simulates a process: it begins with
// options instead of the environment, and ends with all objects released.
#pragma once

#include <string>
#include <vector>

#include "simulation/gpu/options.h"
#include "simulation/gpu/rules.h"
#include "simulation/gpu/types.h"

namespace halyard::inline v0::sim::gpu {

// The devices, of `count`, that the process sees, in order: in halyard-sim all.
std::vector<int> visible_devices(int count);

// Reports objects that were never released. The State is locked.
void report_unreleased();

// Registers `reset` to be called once, when the process ends. The State is locked, or no other
// thread exists.
void at_end_of_process(void (*reset)());
// Calls the registered functions, the latest first.
void reset_process();

// --- in halyard-sim only, by a simulated thread --------------------------------------------------

// Called before the first call of the API of the library to which `rules` belong.
void begin_process(const Rules& rules, const Options& options);

// The device of the context that is current in this thread, or -1.
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
