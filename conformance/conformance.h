// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The conformance suite: the behaviour that every driver must have, as cases that run on the
// devices of a URI. Users run it with `halyard verify`, CTest with tests/conformance. It uses the
// public API only, and its kernels are built in.
//
//   for (const Case& it : cases()) {
//     if (matches("semaphore.*", it)) print(it, run(it, {.uri = "cpu://"}));
//   }
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/base/result.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::conformance {

class Context;

// The dimensions over which a case is repeated; it runs once for each combination of values.
enum class Vary : std::uint8_t {
  kNothing = 0,
  kQueueKinds = 1,   // Context::queue() is the compute queue, then the copy queue
  kBindings = 2,     // Recording::ref() is direct, then through slots
  kBoundQueues = 4,  // hcq queues are copied at submission, then bound
};
constexpr Vary operator|(Vary a, Vary b) noexcept {
  return static_cast<Vary>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
constexpr bool varies(Vary vary, Vary over) noexcept {
  return (static_cast<std::uint8_t>(vary) & static_cast<std::uint8_t>(over)) != 0;
}

// A case: one fact, and the function that verifies it.
struct Case {
  std::string_view suite;
  std::string_view name;  // the fact, as words joined by '_'
  void (*run)(Context& t);
  Vary vary = Vary::kNothing;
};

enum class Verdict : std::uint8_t { kPassed, kFailed, kSkipped };

struct Outcome {
  Verdict verdict = Verdict::kPassed;
  std::string message;  // a line for each failed expectation, or the reason for the skip
};

struct Options {
  std::string uri = "cpu://";
  std::string kernels;  // path of a .hyx to use instead of the built-in kernels
  // A factor for cases that repeat an action or run it on several threads.
  std::uint32_t stress = 1;
  // Priority of the queues that cases submit to; other than normal, they are created queues.
  hal::QueuePriority priority = hal::QueuePriority::kNormal;
};

// A way to open and use the devices of a URI; every case must pass in each mode.
struct Mode {
  std::string name;
  Options options;
  bool traced = false;  // in a process with HALYARD_PROFILE set
};

// All modes of the URI's devices: the URI as it is, with other numbers of devices and workers, with
// other placement and priorities, and traced. Options that the URI sets are not varied.
std::vector<Mode> modes_of(const Options& options);

// A case that a driver is known to fail. It runs nevertheless: it counts as skipped while it fails,
// and as failed once it passes, so that the exclusion is removed.
struct Exclusion {
  std::string_view driver;
  std::string_view glob;  // of "suite.name"
  std::string_view reason;
};

// All cases, in the order of their suites. "suite.name" is unique.
std::span<const Case> cases();

// The exclusions of Halyard's own drivers.
std::span<const Exclusion> exclusions() noexcept;

// Returns kInvalidArgument for the first exclusion without a driver, a reason or a matching case.
Status check(std::span<const Exclusion> excluded);

// True if `glob` is empty or matches all of "suite.name" ('*': any characters, '?': one character).
// A leading '!' inverts the match.
bool matches(std::string_view glob, const Case& it);

// Runs one case on devices of its own. Never throws, whatever the case does. Blocks for seconds at
// most: every wait of a case has a deadline, and a wait that passes it fails and names the
// submissions that were to signal. kSkipped: the driver reports that this machine has no such
// device, or the case is excluded.
Outcome run(const Case& it, const Options& options,
            std::span<const Exclusion> excluded = exclusions());

}  // namespace halyard::inline v0::conformance
