// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <set>
#include <vector>

#include "base/format.h"
#include "commands.h"
#include "conformance/conformance.h"
#include "halyard/base/clock.h"
#include "halyard/hal/device.h"
#include "json.h"

namespace halyard::inline v0::tools {
namespace {

using conformance::Case;
using conformance::Outcome;
using conformance::Verdict;

std::string name_of(const Case& it) { return fmt::format("{}.{}", it.suite, it.name); }

Result<std::vector<const Case*>> chosen(const std::string& filter) {
  std::vector<const Case*> list;
  for (const Case& it : conformance::cases()) {
    if (conformance::matches(filter, it)) list.push_back(&it);
  }
  if (list.empty()) {
    return error(StatusCode::kNotFound, "--filter {}: matches none of {} cases", filter,
                 conformance::cases().size());
  }
  return list;
}

// Of cases that share a body one counts: the others assert the same of something else. What a case
// varies by itself is no other case anyhow.
std::size_t count_distinct(const std::vector<const Case*>& cases) {
  std::set<std::uintptr_t> bodies;
  for (const Case* it : cases) bodies.insert(reinterpret_cast<std::uintptr_t>(it->run));
  return bodies.size();
}

int list_cases(const std::vector<const Case*>& cases, bool json) {
  const std::size_t distinct = count_distinct(cases);
  Json names = Json::array();
  for (const Case* it : cases) {
    if (json) {
      names.push_back(name_of(*it));
    } else {
      fmt::print("{}\n", name_of(*it));
    }
  }
  if (json) {
    print_json({{"cases", std::move(names)}, {"distinct", distinct}});
  } else {
    fmt::print("{} cases, {} of them distinct\n", cases.size(), distinct);
  }
  return kDone;
}

// A device that is not on this machine is the suite's to skip; a URI that means nothing here
// would fail every case alike.
Status check_device(const std::string& uri) {
  const auto devices = hal::open_all(uri);
  return devices.status().code() == StatusCode::kUnavailable ? Status() : devices.status();
}

// The first outcome that is not a pass, else a pass.
Outcome run_repeatedly(const Case& it, const VerifyOptions& options) {
  Outcome outcome;
  for (int i = 0; i < options.repeat && outcome.verdict == Verdict::kPassed; ++i) {
    outcome = conformance::run(it, {.uri = options.device, .kernels = {}});
  }
  return outcome;
}

constexpr std::array<const char*, 3> kVerdicts = {"passed", "failed", "skipped"};

void print(const std::string& name, const Outcome& outcome, double milliseconds) {
  fmt::print("{:7} {} ({:.1f} ms)\n", kVerdicts[static_cast<std::size_t>(outcome.verdict)], name,
             milliseconds);
  std::string_view rest = outcome.message;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    fmt::print("        {}\n", line);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  // Whoever watches a pipe sees which case a run has come to.
  std::fflush(stdout);
}

}  // namespace

Result<int> verify(const VerifyOptions& options) {
  HALYARD_ASSIGN_OR_RETURN(const auto list, chosen(options.filter));
  if (options.list) return list_cases(list, options.json);
  HALYARD_RETURN_IF_ERROR(check_device(options.device));

  std::array<int, 3> counts{};
  Json results = Json::array();
  for (const Case* it : list) {
    const Nanoseconds start = Clock::steady().now();
    const Outcome outcome = run_repeatedly(*it, options);
    const double milliseconds = static_cast<double>(Clock::steady().now() - start) / 1e6;
    const auto verdict = static_cast<std::size_t>(outcome.verdict);
    ++counts[verdict];
    if (options.json) {
      results.push_back({{"case", name_of(*it)},
                         {"verdict", kVerdicts[verdict]},
                         {"message", outcome.message},
                         {"milliseconds", milliseconds}});
    } else {
      print(name_of(*it), outcome, milliseconds);
    }
  }
  const auto [passed, failed, skipped] = counts;
  if (options.json) {
    print_json({{"device", options.device},
                {"passed", passed},
                {"failed", failed},
                {"skipped", skipped},
                {"cases", std::move(results)}});
  } else {
    fmt::print("halyard verify: {} passed, {} failed, {} skipped\n", passed, failed, skipped);
  }
  return failed == 0 ? kDone : kFailed;
}

}  // namespace halyard::inline v0::tools
