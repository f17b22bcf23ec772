// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conformance/conformance.h"

#include <vector>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace {

// '*' matches greedily from the left: on a mismatch the last one takes one character more.
bool glob_matches(std::string_view glob, std::string_view text) {
  std::size_t g = 0;
  std::size_t i = 0;
  std::size_t star = glob.npos;
  std::size_t resume = 0;
  while (i < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = i;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[i])) {
      ++g;
      ++i;
    } else if (star != glob.npos) {
      g = star + 1;
      i = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

// Two devices at least: a URI that describes one is opened twice, which gives two independent ones.
Result<std::vector<hal::Device>> open_devices(const std::string& uri) {
  Result<std::vector<hal::Device>> opened = hal::open_all(uri);
  if (!opened.ok() || opened->size() >= 2) return opened;
  Result<hal::Device> second = hal::open(uri);
  if (!second.ok()) return std::move(second).status();
  opened->push_back(*std::move(second));
  return opened;
}

Outcome run_once(const Case& it, const Options& options, hal::QueueKind kind, bool indirect,
                 std::string& driver) {
  Result<std::vector<hal::Device>> devices = open_devices(options.uri);
  if (!devices.ok()) {
    const bool absent = devices.status().code() == StatusCode::kUnavailable;
    return {absent ? Verdict::kSkipped : Verdict::kFailed, devices.status().to_string()};
  }
  driver = devices->front().info().driver;
  Context t(*std::move(devices), options, kind, indirect);
  try {
    it.run(t);
  } catch (const Skip& skip) {
    return {Verdict::kSkipped, skip.reason};
  } catch (const std::exception& error) {
    t.fail(it.name.data(), 0, fmt::format("threw {}", error.what()));
  } catch (...) {
    t.fail(it.name.data(), 0, "threw something that is no std::exception");
  }
  std::string failures = t.failures();
  if (failures.empty()) return {};
  return {Verdict::kFailed, std::move(failures)};
}

Outcome run_varied(const Case& it, const Options& options, std::string& driver) {
  const auto second = [&](hal::QueueKind kind, bool indirect, std::string_view first_is,
                          std::string_view second_is) -> Outcome {
    Outcome outcome = run_once(it, options, hal::QueueKind::kCompute, false, driver);
    std::string_view which = first_is;
    if (outcome.verdict == Verdict::kPassed) {
      outcome = run_once(it, options, kind, indirect, driver);
      which = second_is;
    }
    if (outcome.verdict != Verdict::kPassed) {
      outcome.message = fmt::format("with {}:\n{}", which, outcome.message);
    }
    return outcome;
  };
  switch (it.vary) {
    case Vary::kQueueKinds:
      return second(hal::QueueKind::kCopy, false, "the compute queue", "the copy queue");
    case Vary::kBindings:
      return second(hal::QueueKind::kCompute, true, "direct references", "slots");
    case Vary::kNothing:
      break;
  }
  return run_once(it, options, hal::QueueKind::kCompute, false, driver);
}

}  // namespace

std::span<const Case> cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> list;
    constexpr std::span<const Case> (*kSuites[])() noexcept = {
        device_cases,      semaphore_cases,      callback_cases,       submission_cases,
        order_cases,       queue_cases,          failure_cases,        buffer_cases,
        memory_cases,      pool_cases,           view_cases,           fence_cases,
        transfer_cases,    command_buffer_cases, descriptor_set_cases, pipeline_layout_cases,
        debug_group_cases, event_cases,          executable_cases,     executable_cache_cases,
        dispatch_cases,    tensor_cases,         indirect_cases,       host_call_cases,
        file_cases,        misuse_cases,         stress_cases};
    for (const auto cases_of : kSuites) {
      const std::span<const Case> suite = cases_of();
      list.insert(list.end(), suite.begin(), suite.end());
    }
    return list;
  }();
  return all;
}

std::span<const Exclusion> exclusions() noexcept {
  return {};  // {"driver", "suite.name", "why it cannot pass"}
}

bool matches(std::string_view glob, const Case& it) {
  return glob.empty() || glob_matches(glob, fmt::format("{}.{}", it.suite, it.name));
}

Outcome run(const Case& it, const Options& options, std::span<const Exclusion> excluded) {
  std::string driver;
  Outcome outcome = run_varied(it, options, driver);
  if (outcome.verdict == Verdict::kSkipped) return outcome;
  for (const Exclusion& exclusion : excluded) {
    if (exclusion.driver != driver || !matches(exclusion.glob, it)) continue;
    if (outcome.verdict == Verdict::kFailed) {
      return {Verdict::kSkipped, fmt::format("excluded: {}", exclusion.reason)};
    }
    return {Verdict::kFailed, fmt::format("passes, but is excluded from {} because: {}",
                                          exclusion.driver, exclusion.reason)};
  }
  return outcome;
}

}  // namespace halyard::inline v0::conformance
