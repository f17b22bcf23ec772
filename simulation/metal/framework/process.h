// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions for tests: reports of the simulated framework, injected faults, and the begin and end
// of the process that uses it. In halyard-sim every run is its own process. Any thread may call
// them, unless said otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulation/metal/framework/export.h"
#include "simulation/metal/framework/options.h"

namespace halyard::inline v0::sim::metal {

// A rule of Apple's documents that the program violated.
struct Misuse {
  std::string rule;   // a short name, such as "commit-twice"
  std::string first;  // one sentence about the first case
  std::uint64_t count = 0;
};
// All misuse since the beginning of the process or the last clear_misuse(), by name.
HALYARD_SIM_METAL_EXPORT std::vector<Misuse> misuse();
// The same for violations that lenient mode tolerates: notes, not misuse.
HALYARD_SIM_METAL_EXPORT std::vector<Misuse> notes();
// "rule: sentence" lines of misuse(), empty if there is none.
HALYARD_SIM_METAL_EXPORT std::string misuse_text();
HALYARD_SIM_METAL_EXPORT bool has_misuse(const std::string& rule);
HALYARD_SIM_METAL_EXPORT void clear_misuse();

// Objects of one class of the framework, such as "MTLBuffer".
struct ObjectCount {
  std::string class_name;
  std::uint64_t created = 0;
  std::uint64_t destroyed = 0;
};
HALYARD_SIM_METAL_EXPORT std::vector<ObjectCount> object_counts();
// The number of existing objects of a class, or of all classes ("*"). Devices live as long as the
// process and are not counted.
HALYARD_SIM_METAL_EXPORT std::uint64_t live_objects(const std::string& class_name);
// "class created destroyed" lines of classes with live objects; empty if there are none.
HALYARD_SIM_METAL_EXPORT std::string leaks_text();

// Waits until no committed command buffer is in flight and all handlers have returned. Buffers that
// wait for an event that is never signalled end by the timeout.
HALYARD_SIM_METAL_EXPORT void drain_process();

// The next command buffer that the device `index` executes fails with `code`, an
// MTLCommandBufferError.
HALYARD_SIM_METAL_EXPORT void fail_next(std::size_t index, int code);
// Posts MTLDeviceRemovalRequestedNotification for the device to the observers.
HALYARD_SIM_METAL_EXPORT void request_removal(std::size_t index);
// Removes the device: command buffers in flight and later ones fail with DeviceRemoved, and new
// objects are nil. Then posts MTLDeviceWasRemovedNotification.
HALYARD_SIM_METAL_EXPORT void remove_device(std::size_t index);

// Begins a process with `options`. Precondition: no object of Metal exists.
HALYARD_SIM_METAL_EXPORT void begin_process(Options options);
struct EndOfProcess {
  std::string misuse;  // misuse_text()
  std::string leaks;   // leaks_text()
};
// Waits for command buffers in flight, ends the framework's threads, returns the report, and resets
// the counts. Precondition: no other thread uses Metal.
HALYARD_SIM_METAL_EXPORT EndOfProcess end_process();

// Writes the report to options().report, if that is set. Called at exit.
HALYARD_SIM_METAL_EXPORT void write_report();

}  // namespace halyard::inline v0::sim::metal
