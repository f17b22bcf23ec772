// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of the simulated Metal framework. A process reads them from the environment variables
// HALYARD_SIM_METAL_<NAME>, which docs/simulated-metal.md lists, at its first call of Metal. A test
// sets them with set_options() before that, or between runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halyard/base/clock.h"
#include "simulation/metal/framework/export.h"

namespace halyard::inline v0::sim::metal {

enum class DeviceKind : std::uint8_t {
  kUnified,    // host and device share one memory, as on Apple silicon
  kDiscrete,   // the device has its own memory, as a GPU in a slot of a Mac
  kRemovable,  // kDiscrete, and may be removed while programs use it
};

// Whether a failed command buffer signals the events that it did not reach. Apple does not document
// this. Signals after a wait that is not satisfied never happen: they would let earlier buffers
// that wait for smaller values of the event run in any order and succeed.
enum class FailedSignals : std::uint8_t { kNever, kAlways, kBySeed };

// Behaviour that Apple's documents permit. If it is enabled, the seed chooses when it happens.
struct Adversities {
  bool out_of_order = false;      // command buffers of a queue overlap and complete in any order
  bool overtaking_waits = false;  // later buffers pass a buffer that waits for an event
  bool late_handlers = false;     // handlers run late, in any order, on several threads
  bool slow_completion = false;   // status changes some time after the last event signal
  bool late_listeners = false;    // a host's store notifies listeners late
  // Shared memory is coherent only at the boundaries of command buffers and, for devices' writes,
  // at shared events.
  bool snapshot_shared = false;
  bool reorder_encoders = false;  // encoders that no hazard or fence orders run in any order
  bool interleave_dispatches = false;  // dispatches of a concurrent encoder run in any order
  bool victims = false;                // a fault also fails another command buffer in flight
  bool small_pipelines = false;        // pipelines with 448 or 832 threads, execution width by seed

  static constexpr Adversities all() {
    return {true, true, true, true, true, true, true, true, true, true};
  }
};

// Object number `number` of `class_name`, counted from 1, is nil. Class "*" counts all objects.
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
  // True (strict): checks that a program follows Apple's documents. False (lenient): for programs
  // that rely on the behaviour of Apple silicon; violations of some rules are then only notes.
  bool strict = true;
  // True: Metal's assertions end the process with abort(), as Apple's do. False: they are only
  // reported.
  bool aborts = true;
  bool prints = true;  // misuse is written to stderr at once
  std::uint64_t seed = 1;
  Adversities adversities;
  FailedSignals failed_signals = FailedSignals::kNever;
  std::vector<NilObject> nil_objects;
  std::vector<FailedBuffer> failed_buffers;
  std::string report;  // path of the report at exit; empty: none
  // MTLGPUFamily of each device kind: Apple7 (M1) with Metal 3, and Mac2.
  int unified_family = 1007;
  int discrete_family = 2002;
  bool has_metal3 = true;
  unsigned max_threads = 1024;  // of a pipeline, before small_pipelines
  unsigned execution_width = 32;
  std::size_t page_size = 16384;  // of newBufferWithBytesNoCopy; 0: the system's
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  // of each device
  std::uint64_t max_buffer_bytes = std::uint64_t{2} << 30;
  std::uint64_t max_objects = 0;  // buffers and heaps in one process; 0: no limit
  // A wait for an event on the device fails with Timeout after this time without progress on any
  // device; Deadline::kForeverTime: never.
  Nanoseconds wait_timeout = 5'000'000'000;
  std::uint64_t kernel_budget = 0;    // basic blocks of one dispatch; then Timeout. 0: no limit
  bool checks_races = false;          // detect data races in kernels
  unsigned faults_until_revoked = 4;  // after so many faults submissions are ignored; 0: never
  // An indirect command faults unless its encoder has also dispatched its pipeline directly, as on
  // M1 and M2 (tinygrad, tinygrad/runtime/graph/metal.py:85).
  bool wants_direct_dispatch = false;
  bool compile_warnings = false;  // every library comes with a warning in its error object
};

// The options of this process. They do not change once an object of Metal exists.
HALYARD_SIM_METAL_EXPORT const Options& options();
// Replaces the options. Precondition: no object of Metal exists.
HALYARD_SIM_METAL_EXPORT void set_options(Options options);
// Reads the options from the environment. Names malformed variables on stderr and ignores them.
HALYARD_SIM_METAL_EXPORT Options read_options();

// A number below `limit` that depends only on the seed and the arguments.
HALYARD_SIM_METAL_EXPORT std::uint64_t choose(std::uint64_t a, std::uint64_t b,
                                              std::uint64_t limit);

}  // namespace halyard::inline v0::sim::metal
