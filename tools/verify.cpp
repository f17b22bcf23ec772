// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "base/program.h"
#include "commands.h"
#include "compiler/process.h"
#include "conformance/conformance.h"
#include "halyard/base/clock.h"
#include "halyard/hal/device.h"
#include "json.h"

namespace halyard::inline v0::tools {
namespace {

// The factor of --stress. The watchdog of every wait stays the same.
constexpr std::uint32_t kStress = 8;
constexpr std::size_t kMaxExclusionsBytes = std::size_t{1} << 20;

using conformance::Case;
using conformance::Exclusion;
using conformance::Mode;
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

// Cases that share a body count once: the others assert the same for another parameter. Variation
// within one case does not count.
std::size_t count_distinct(const std::vector<const Case*>& cases) {
  std::set<std::uintptr_t> bodies;
  for (const Case* it : cases) bodies.insert(reinterpret_cast<std::uintptr_t>(it->run));
  return bodies.size();
}

// Halyard's own exclusions and those of the file. `document` owns their strings and must outlive
// them.
Result<std::vector<Exclusion>> read_exclusions(const std::string& path, Json& document) {
  std::vector<Exclusion> list(conformance::exclusions().begin(), conformance::exclusions().end());
  if (path.empty()) return list;
  HALYARD_ASSIGN_OR_RETURN(const std::string text, compiler::read_file(path, kMaxExclusionsBytes));
  document = Json::parse(text, nullptr, false);
  const auto word = [](const Json& entry, const char* key) {
    const auto at = entry.find(key);
    return at == entry.end() || !at->is_string() ? std::string_view()
                                                 : at->get_ref<const std::string&>();
  };
  if (!document.is_array()) {
    return error(StatusCode::kInvalidArgument, "{}: not a JSON array of exclusions", path);
  }
  for (const Json& entry : document) {
    if (!entry.is_object()) {
      return error(StatusCode::kInvalidArgument, "{}: {} is not an exclusion", path, entry.dump());
    }
    list.push_back({word(entry, "driver"), word(entry, "case"), word(entry, "reason")});
  }
  if (const Status status = conformance::check(list); !status.ok()) {
    return error(status.code(), "{}: {}", path, status.message());
  }
  return list;
}

int list_cases(const std::vector<const Case*>& cases, std::span<const Exclusion> excluded,
               bool json) {
  const std::size_t distinct = count_distinct(cases);
  Json names = Json::array();
  Json exclusions = Json::array();
  for (const Case* it : cases) {
    names.push_back(name_of(*it));
    if (!json) fmt::print("{}\n", name_of(*it));
  }
  for (const Exclusion& it : excluded) {
    exclusions.push_back({{"driver", it.driver}, {"case", it.glob}, {"reason", it.reason}});
    if (!json) fmt::print("{} is excluded from {}: {}\n", it.glob, it.driver, it.reason);
  }
  if (json) {
    print_json({{"cases", std::move(names)},
                {"distinct", distinct},
                {"exclusions", std::move(exclusions)}});
  } else {
    fmt::print("{} cases, {} of them distinct\n", cases.size(), distinct);
  }
  return kDone;
}

// The suite skips a device that is not on this machine. A URI that is invalid here would fail every
// case alike.
Status check_device(const std::string& uri) {
  const auto devices = hal::open_all(uri);
  return devices.status().code() == StatusCode::kUnavailable ? Status() : devices.status();
}

constexpr std::array<const char*, 3> kVerdicts = {"passed", "failed", "skipped"};

// The results of the cases in one mode.
struct Report {
  std::array<int, 3> counts{};  // by Verdict
  Json cases = Json::array();
};

std::string to_text(const std::array<int, 3>& counts) {
  return fmt::format("{} passed, {} failed, {} skipped", counts[0], counts[1], counts[2]);
}

void print(std::string_view verdict, std::string_view name, std::string_view message,
           double milliseconds) {
  fmt::print("{:7} {} ({:.1f} ms)\n", verdict, name, milliseconds);
  while (!message.empty()) {
    const std::string_view line = message.substr(0, message.find('\n'));
    fmt::print("        {}\n", line);
    message.remove_prefix(std::min(line.size() + 1, message.size()));
  }
  // A reader of the pipe then sees the current case.
  std::fflush(stdout);
}

// Returns the first outcome that is not a pass, otherwise a pass.
Outcome run_repeatedly(const Case& it, const conformance::Options& options,
                       std::span<const Exclusion> excluded, int repeat) {
  Outcome outcome;
  for (int i = 0; i < repeat && outcome.verdict == Verdict::kPassed; ++i) {
    outcome = conformance::run(it, options, excluded);
  }
  return outcome;
}

Report run_here(const std::vector<const Case*>& list, const Mode& mode,
                std::span<const Exclusion> excluded, const VerifyOptions& options) {
  Report report;
  for (const Case* it : list) {
    const Nanoseconds start = Clock::steady().now();
    const Outcome outcome = run_repeatedly(*it, mode.options, excluded, options.repeat);
    const double milliseconds = static_cast<double>(Clock::steady().now() - start) / 1e6;
    const auto verdict = static_cast<std::size_t>(outcome.verdict);
    ++report.counts[verdict];
    report.cases.push_back({{"case", name_of(*it)},
                            {"verdict", kVerdicts[verdict]},
                            {"message", outcome.message},
                            {"milliseconds", milliseconds}});
    if (!options.json) print(kVerdicts[verdict], name_of(*it), outcome.message, milliseconds);
  }
  return report;
}

// A process decides at its start whether to trace, so this runs the same command in another
// process.
Result<Report> run_traced(const Mode& mode, const VerifyOptions& options) {
  HALYARD_ASSIGN_OR_RETURN(const auto scratch, compiler::TemporaryDirectory::create());
  const std::string self = base::program_path();
  std::vector<std::string> words = {"/usr/bin/env",
                                    "HALYARD_PROFILE=" + (scratch.path() / "trace").string(),
                                    self,
                                    "verify",
                                    "--json",
                                    "--device",
                                    mode.options.uri,
                                    "--filter",
                                    options.filter,
                                    "--repeat",
                                    std::to_string(options.repeat)};
  if (options.stress) words.emplace_back("--stress");
  if (!options.exclusions.empty()) words.insert(words.end(), {"--exclusions", options.exclusions});
  HALYARD_ASSIGN_OR_RETURN(const auto output, compiler::run_process(words, scratch));
  Json json = Json::parse(output.out, nullptr, false);
  if (!json.is_object() || output.exit_code > kFailed) {
    return error(StatusCode::kInternal, "mode {}: ended with {} and said: {}", mode.name,
                 output.exit_code, output.err);
  }
  Report report;
  for (std::size_t i = 0; i < kVerdicts.size(); ++i) report.counts[i] = json[kVerdicts[i]];
  report.cases = std::move(json["cases"]);
  if (options.json) return report;
  for (const Json& it : report.cases) {
    print(it["verdict"].get_ref<const std::string&>(), it["case"].get_ref<const std::string&>(),
          it["message"].get_ref<const std::string&>(), it["milliseconds"]);
  }
  return report;
}

// Runs every mode, and prints a line with its name and result for each.
Result<int> verify_modes(const std::vector<const Case*>& list, std::span<const Mode> modes,
                         std::span<const Exclusion> excluded, const VerifyOptions& options) {
  std::array<int, 3> total{};
  Json results = Json::array();
  for (const Mode& mode : modes) {
    const Status status = check_device(mode.options.uri);
    if (status.code() == StatusCode::kUnimplemented) {  // this machine has no such placement
      if (!options.json) fmt::print("halyard verify, {}: {}\n", mode.name, status.to_string());
      results.push_back({{"mode", mode.name}, {"unavailable", status.to_string()}});
      continue;
    }
    HALYARD_RETURN_IF_ERROR(status);
    Report report;
    if (mode.traced) {
      HALYARD_ASSIGN_OR_RETURN(report, run_traced(mode, options));
    } else {
      report = run_here(list, mode, excluded, options);
    }
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += report.counts[i];
    if (!options.json) fmt::print("halyard verify, {}: {}\n", mode.name, to_text(report.counts));
    results.push_back({{"mode", mode.name},
                       {"device", mode.options.uri},
                       {"passed", report.counts[0]},
                       {"failed", report.counts[1]},
                       {"skipped", report.counts[2]},
                       {"cases", std::move(report.cases)}});
  }
  if (options.json) {
    print_json({{"device", options.device},
                {"passed", total[0]},
                {"failed", total[1]},
                {"skipped", total[2]},
                {"modes", std::move(results)}});
  } else {
    fmt::print("halyard verify: {} in {} modes\n", to_text(total), modes.size());
  }
  return total[1] == 0 ? kDone : kFailed;
}

}  // namespace

Result<int> verify(const VerifyOptions& options) {
  HALYARD_ASSIGN_OR_RETURN(const auto list, chosen(options.filter));
  Json document;
  HALYARD_ASSIGN_OR_RETURN(const auto excluded, read_exclusions(options.exclusions, document));
  if (options.list) return list_cases(list, excluded, options.json);
  const conformance::Options how{
      .uri = options.device, .kernels = {}, .stress = options.stress ? kStress : 1};
  if (options.all_modes) {
    return verify_modes(list, conformance::modes_of(how), excluded, options);
  }
  HALYARD_RETURN_IF_ERROR(check_device(options.device));
  Report report = run_here(list, {.name = {}, .options = how}, excluded, options);
  const auto [passed, failed, skipped] = report.counts;
  if (options.json) {
    print_json({{"device", options.device},
                {"passed", passed},
                {"failed", failed},
                {"skipped", skipped},
                {"cases", std::move(report.cases)}});
  } else {
    fmt::print("halyard verify: {}\n", to_text(report.counts));
  }
  return failed == 0 ? kDone : kFailed;
}

}  // namespace halyard::inline v0::tools
