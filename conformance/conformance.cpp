// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conformance/conformance.h"

#include <algorithm>
#include <vector>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace {

// Matches '*' greedily from the left: on a mismatch the last '*' takes one more character.
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

// Opens at least two devices. A URI that describes one is opened twice, which gives two independent
// devices.
Result<std::vector<hal::Device>> open_devices(const std::string& uri) {
  Result<std::vector<hal::Device>> opened = hal::open_all(uri);
  if (!opened.ok() || opened->size() >= 2) return opened;
  Result<hal::Device> second = hal::open(uri);
  if (!second.ok()) return std::move(second).status();
  opened->push_back(*std::move(second));
  return opened;
}

// Creates the cases' queues of a priority; empty for normal priority, which the devices' own have.
Result<std::vector<hal::Queue>> create_queues(const std::vector<hal::Device>& devices,
                                              hal::QueuePriority priority) {
  std::vector<hal::Queue> queues;
  if (priority == hal::QueuePriority::kNormal) return queues;
  for (const hal::Device& device : devices) {
    for (const hal::QueueKind kind : {hal::QueueKind::kCompute, hal::QueueKind::kCopy}) {
      Result<hal::Queue> made =
          device.create_queue({.kind = kind, .priority = priority, .name = "the case's"});
      if (!made.ok()) return std::move(made).status();
      queues.push_back(*std::move(made));
    }
  }
  return queues;
}

Outcome run_once(const Case& it, const Options& options, const Variant& variant,
                 std::string& driver) {
  Result<std::vector<hal::Device>> devices = open_devices(options.uri);
  if (!devices.ok()) {
    const bool absent = devices.status().code() == StatusCode::kUnavailable;
    return {absent ? Verdict::kSkipped : Verdict::kFailed, devices.status().to_string()};
  }
  driver = devices->front().info().driver;
  Result<std::vector<hal::Queue>> queues = create_queues(*devices, options.priority);
  if (!queues.ok()) return {Verdict::kFailed, queues.status().to_string()};
  Context t(*std::move(devices), *std::move(queues), options, variant);
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

// The values of the dimensions that the case varies over: "the copy queue and slots".
std::string describe(Vary vary, const Variant& variant) {
  std::string text;
  const auto add = [&](Vary over, std::string_view name) {
    if (varies(vary, over)) text += fmt::format("{}{}", text.empty() ? "" : " and ", name);
  };
  add(Vary::kQueueKinds,
      variant.kind == hal::QueueKind::kCompute ? "the compute queue" : "the copy queue");
  add(Vary::kBindings, variant.indirect ? "slots" : "direct references");
  add(Vary::kBoundQueues, variant.bound ? "bound queues" : "queues that are not bound");
  return text;
}

// Runs every combination of values that the case varies over, until one does not pass.
Outcome run_varied(const Case& it, const Options& options, std::string& driver) {
  for (const bool bound : {false, true}) {
    if (bound && !varies(it.vary, Vary::kBoundQueues)) continue;
    for (const bool indirect : {false, true}) {
      if (indirect && !varies(it.vary, Vary::kBindings)) continue;
      for (const hal::QueueKind kind : {hal::QueueKind::kCompute, hal::QueueKind::kCopy}) {
        if (kind == hal::QueueKind::kCopy && !varies(it.vary, Vary::kQueueKinds)) continue;
        const Variant variant{kind, indirect, bound};
        Outcome outcome = run_once(it, options, variant, driver);
        if (outcome.verdict == Verdict::kPassed) continue;
        if (it.vary != Vary::kNothing) {
          outcome.message =
              fmt::format("with {}:\n{}", describe(it.vary, variant), outcome.message);
        }
        return outcome;
      }
    }
  }
  return {};
}

}  // namespace

std::span<const Case> cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> list;
    constexpr std::span<const Case> (*kSuites[])() noexcept = {device_cases,
                                                               semaphore_cases,
                                                               callback_cases,
                                                               submission_cases,
                                                               order_cases,
                                                               queue_cases,
                                                               failure_cases,
                                                               buffer_cases,
                                                               memory_cases,
                                                               pool_cases,
                                                               view_cases,
                                                               fence_cases,
                                                               transfer_cases,
                                                               command_buffer_cases,
                                                               constant_slot_cases,
                                                               descriptor_set_cases,
                                                               pipeline_layout_cases,
                                                               after_cases,
                                                               debug_group_cases,
                                                               event_cases,
                                                               executable_cases,
                                                               executable_cache_cases,
                                                               dispatch_cases,
                                                               tensor_cases,
                                                               indirect_cases,
                                                               host_call_cases,
                                                               file_cases,
                                                               hcq_queue_cases,
                                                               hcq_order_cases,
                                                               hcq_change_cases,
                                                               hcq_timeline_cases,
                                                               hcq_graph_cases,
                                                               hcq_memory_cases,
                                                               misuse_cases,
                                                               stress_cases};
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

Status check(std::span<const Exclusion> excluded) {
  for (const Exclusion& exclusion : excluded) {
    const auto refuse = [&](std::string_view why) {
      return Status(
          StatusCode::kInvalidArgument,
          fmt::format("exclusion of '{}' from '{}': {}", exclusion.glob, exclusion.driver, why));
    };
    if (exclusion.driver.empty()) return refuse("names no driver");
    if (exclusion.reason.empty()) return refuse("gives no reason");
    const auto named = [&](const Case& it) { return matches(exclusion.glob, it); };
    if (exclusion.glob.empty() || std::ranges::none_of(cases(), named)) {
      return refuse("matches no case");
    }
  }
  return {};
}

bool matches(std::string_view glob, const Case& it) {
  if (glob.starts_with('!')) return !matches(glob.substr(1), it);
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
