// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of the simulated Metal framework. A process reads them from environment variables
// HALYARD_SIM_METAL_<NAME> at its first call of Metal; a test sets them with set_options() before
// that, or between runs. docs/simulated-metal.md lists the variables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halyard/base/clock.h"
#include "simulation/metal/framework/export.h"

namespace halyard::inline v0::sim::metal {

enum class DeviceKind : std::uint8_t {
  kUnified,    // one memory for host and device, as Apple silicon
  kDiscrete,   // memory of its own: a Mac with a GPU in a slot
  kRemovable,  // kDiscrete, and may be removed while programs use it
};

// What a failed command buffer does with event signals that it did not reach. Apple documents
// neither. Behind a wait for an event that has not come there is none in any case: with it, buffers
// before it that wait for a smaller value of the event would run in any order, and end well.
enum class FailedSignals : std::uint8_t { kNever, kAlways, kBySeed };

// Behaviour that Apple's documents permit, chosen by the seed where it is on.
struct Adversities {
  bool out_of_order = false;      // command buffers of a queue overlap and complete in any order
  bool overtaking_waits = false;  // later buffers pass a buffer that waits for an event
  bool late_handlers = false;     // handlers run late, in any order, on several threads
  bool slow_completion = false;   // status changes some time after the last event signal
  bool late_listeners = false;    // a store of the host notifies listeners late
  // Shared memory is coherent only at the boundaries of command buffers and, for what devices
  // write, at shared events.
  bool snapshot_shared = false;
  bool reorder_encoders = false;  // encoders that no hazard or fence orders run in any order
  bool interleave_dispatches = false;  // dispatches of a concurrent encoder run in any order
  bool victims = false;                // a fault also fails another command buffer in flight
  bool small_pipelines = false;        // pipelines with 448 or 832 threads, execution width by seed

  static constexpr Adversities all() {
    return {true, true, true, true, true, true, true, true, true, true};
  }
};

// Object number `number` of `class_name` is nil. Counted from 1; class "*" counts all.
struct NilObject {
  std::string class_name;
  std::uint64_t number = 0;
};
// The committed command buffer `number`, counted from 1, fails with an MTLCommandBufferError.
struct FailedBuffer {
  std::uint64_t number = 0;
  int code = 0;
};

struct Options {
  std::vector<DeviceKind> devices = {DeviceKind::kUnified};
  // True: judges a program that follows Apple's documents. False (lenient): for programs that rely
  // on what Apple silicon does; some rules are then notes.
  bool strict = true;
  // Metal's assertions end the process with abort(), as with Apple. False: they are only reported.
  bool aborts = true;
  bool prints = true;  // misuse is written to stderr when it happens
  std::uint64_t seed = 1;
  Adversities adversities;
  FailedSignals failed_signals = FailedSignals::kNever;
  std::vector<NilObject> nil_objects;
  std::vector<FailedBuffer> failed_buffers;
  std::string report;  // path of the report that is written at exit; empty: none
  // MTLGPUFamily of each device kind: Apple7 (M1) with Metal 3, and Mac2.
  int unified_family = 1007;
  int discrete_family = 2002;
  bool has_metal3 = true;
  unsigned max_threads = 1024;  // of a pipeline, before small_pipelines
  unsigned execution_width = 32;
  std::size_t page_size = 16384;  // that newBufferWithBytesNoCopy demands; 0: the system's
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  // of each device
  std::uint64_t max_buffer_bytes = std::uint64_t{2} << 30;
  std::uint64_t max_objects = 0;  // buffers and heaps in one process; 0: no limit
  // A native wait fails with Timeout when nothing has progressed on any device for so long;
  // Deadline::kForeverTime: never.
  Nanoseconds wait_timeout = 5'000'000'000;
  std::uint64_t kernel_budget = 0;    // basic blocks of one dispatch; then Timeout. 0: no limit
  bool checks_races = false;          // kernels are searched for races
  unsigned faults_until_revoked = 4;  // faults after which submissions are ignored; 0: never
  // An indirect command faults unless its encoder has dispatched something with its pipeline, as on
  // M1 and M2: tinygrad, tinygrad/runtime/graph/metal.py:85.
  bool wants_direct_dispatch = false;
  bool compile_warnings = false;  // a library comes with an error object that is a warning
};

// The options of this process. Read-only once an object of Metal exists.
HALYARD_SIM_METAL_EXPORT const Options& options();
// Replaces them. Call it while no object of Metal exists.
HALYARD_SIM_METAL_EXPORT void set_options(Options options);
// What the environment asks for. A malformed variable is named on stderr and ignored.
HALYARD_SIM_METAL_EXPORT Options read_options();

// A number below `limit` that depends on the seed and the arguments only.
HALYARD_SIM_METAL_EXPORT std::uint64_t choose(std::uint64_t a, std::uint64_t b,
                                              std::uint64_t limit);

}  // namespace halyard::inline v0::sim::metal
