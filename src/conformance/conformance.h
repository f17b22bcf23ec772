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

namespace halyard::inline v0::conformance {

class Context;

// A case that varies is run once for each value, as one case.
enum class Vary : std::uint8_t {
  kNothing,
  kQueueKinds,  // Context::queue() is the compute queue, then the copy queue
  kBindings,    // Recording::ref() is direct, then through slots
};

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
};

// A case that a driver is known to fail. It is run all the same: while it fails it counts as
// skipped, once it passes it counts as failed, so that the exclusion goes.
struct Exclusion {
  std::string_view driver;
  std::string_view glob;  // of "suite.name"
  std::string_view reason;
};

// All cases, in order of their suites. "suite.name" is unique.
std::span<const Case> cases();

// Those in force.
std::span<const Exclusion> exclusions() noexcept;

// Whether `glob` ('*': any characters, '?': one) is all of "suite.name". An empty glob matches all.
bool matches(std::string_view glob, const Case& it);

// Runs one case on devices of its own. Never throws for what a case does. Blocks for seconds at
// most: every wait of a case has a deadline, and passing it is a failure that tells who waited for
// whom. kSkipped: the driver says that such a device is not on this machine, or an exclusion.
Outcome run(const Case& it, const Options& options,
            std::span<const Exclusion> excluded = exclusions());

}  // namespace halyard::inline v0::conformance
