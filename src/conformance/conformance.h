// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The conformance suite: what every driver must do, as cases that run against the devices of a URI.
// `halyard verify` is its face for users, tests/conformance its face for CTest. It knows the public
// API only, and its kernels are built in.
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

// A case that varies is run once for each value, or combination of values, as one case.
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

// One fact.
struct Case {
  std::string_view suite;
  std::string_view name;  // the fact, as words joined by '_'
  void (*run)(Context& t);
  Vary vary = Vary::kNothing;
};

enum class Verdict : std::uint8_t { kPassed, kFailed, kSkipped };

struct Outcome {
  Verdict verdict = Verdict::kPassed;
  std::string message;  // why it failed, a line for each failed expectation, or was skipped
};

struct Options {
  std::string uri = "cpu://";
  std::string kernels;  // path of a .hyx to use instead of the built-in kernels
  // Cases that repeat something, or share it among threads, do so many times as much of it.
  std::uint32_t stress = 1;
  // Of the queues that cases submit to; others than normal ones are created for them.
  hal::QueuePriority priority = hal::QueuePriority::kNormal;
};

// A way in which the devices of a URI can be made and used, in which all cases must hold.
struct Mode {
  std::string name;
  Options options;
  bool traced = false;  // in a process with HALYARD_PROFILE set
};

// All of them for such devices: as the URI says, with other numbers of devices and workers, other
// placement and priorities, and traced. What the URI itself says is not varied.
std::vector<Mode> modes_of(const Options& options);

// A case that a driver is known to fail. It is run all the same: while it fails it counts as
// skipped, once it passes it counts as failed, so that the exclusion goes.
struct Exclusion {
  std::string_view driver;
  std::string_view glob;  // of "suite.name"
  std::string_view reason;
};

// All cases, in order of their suites. "suite.name" is unique.
std::span<const Case> cases();

// Those of Halyard's own drivers.
std::span<const Exclusion> exclusions() noexcept;

// kInvalidArgument for the first that names no driver, gives no reason or matches no case.
Status check(std::span<const Exclusion> excluded);

// Whether `glob` ('*': any characters, '?': one) is all of "suite.name". An empty glob matches all.
bool matches(std::string_view glob, const Case& it);

// Runs one case on devices of its own. Never throws for what a case does. Blocks for seconds at
// most: every wait of a case has a deadline, and passing it is a failure that tells who waited for
// whom. kSkipped: the driver says that such a device is not on this machine, or an exclusion.
Outcome run(const Case& it, const Options& options,
            std::span<const Exclusion> excluded = exclusions());

}  // namespace halyard::inline v0::conformance
