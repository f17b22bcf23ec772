// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/framework/options.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace halyard::inline v0::sim::metal {
namespace {

std::string full_name(std::string_view name) {
  return std::string("HALYARD_SIM_METAL_").append(name);
}
const char* variable(std::string_view name) { return std::getenv(full_name(name).c_str()); }

void complain(std::string_view name, std::string_view value) {
  std::fprintf(stderr, "simulated Metal: %s: cannot read \"%.*s\", ignored\n",
               full_name(name).c_str(), static_cast<int>(value.size()), value.data());
}

// A decimal number with an optional suffix K, M or G (of 1024).
bool parse_number(std::string_view text, std::uint64_t& number) {
  std::uint64_t value = 0;
  const char* const end_of_text = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), end_of_text, value);
  if (error != std::errc{}) return false;
  const std::string_view suffix(end, static_cast<std::size_t>(end_of_text - end));
  unsigned shift = 0;
  if (suffix == "K") {
    shift = 10;
  } else if (suffix == "M") {
    shift = 20;
  } else if (suffix == "G") {
    shift = 30;
  } else if (!suffix.empty()) {
    return false;
  }
  number = value << shift;
  return true;
}

template <class Number>
void read_number(std::string_view name, Number& number) {
  const char* const text = variable(name);
  if (text == nullptr) return;
  std::uint64_t value = 0;
  if (parse_number(text, value) && std::in_range<Number>(value)) {
    number = static_cast<Number>(value);
  } else {
    complain(name, text);
  }
}

void read_bool(std::string_view name, bool& value) {
  std::uint64_t number = value ? 1 : 0;
  read_number(name, number);
  value = number != 0;
}

// Calls `take` with each part of the variable's text between commas. `take` returns false for a
// part that it cannot read.
template <class Take>
void read_list(std::string_view name, Take take) {
  const char* const text = variable(name);
  if (text == nullptr) return;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    if (!part.empty() && !take(part)) complain(name, part);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
}

bool read_device(Options& options, std::string_view name) {
  if (name == "unified") {
    options.devices.push_back(DeviceKind::kUnified);
  } else if (name == "discrete") {
    options.devices.push_back(DeviceKind::kDiscrete);
  } else if (name == "removable") {
    options.devices.push_back(DeviceKind::kRemovable);
  } else {
    return name == "none";
  }
  return true;
}

bool read_adversity(Adversities& adversities, std::string_view name) {
  struct Named {
    std::string_view name;
    bool Adversities::* member;
  };
  static constexpr Named kAll[] = {
      {"out_of_order", &Adversities::out_of_order},
      {"overtaking_waits", &Adversities::overtaking_waits},
      {"late_handlers", &Adversities::late_handlers},
      {"slow_completion", &Adversities::slow_completion},
      {"late_listeners", &Adversities::late_listeners},
      {"snapshot_shared", &Adversities::snapshot_shared},
      {"reorder_encoders", &Adversities::reorder_encoders},
      {"interleave_dispatches", &Adversities::interleave_dispatches},
      {"victims", &Adversities::victims},
      {"small_pipelines", &Adversities::small_pipelines},
  };
  if (name == "none") return true;
  if (name == "all") {
    adversities = Adversities::all();
    return true;
  }
  for (const Named& named : kAll) {
    if (named.name != name) continue;
    adversities.*named.member = true;
    return true;
  }
  return false;
}

// "MTLBuffer@3".
bool read_nil(Options& options, std::string_view part) {
  const std::size_t at = part.find('@');
  NilObject object;
  if (at == std::string_view::npos || !parse_number(part.substr(at + 1), object.number)) {
    return false;
  }
  object.class_name = part.substr(0, at);
  options.nil_objects.push_back(std::move(object));
  return true;
}

// "3=2": the third command buffer fails with code 2.
bool read_failure(Options& options, std::string_view part) {
  const std::size_t equals = part.find('=');
  std::uint64_t number = 0, code = 0;
  if (equals == std::string_view::npos || !parse_number(part.substr(0, equals), number) ||
      !parse_number(part.substr(equals + 1), code) || code > 100) {
    return false;
  }
  options.failed_buffers.push_back({number, static_cast<int>(code)});
  return true;
}

Options& options_of_process() {
  static Options* const one = new Options(read_options());  // outlives the threads
  return *one;
}

}  // namespace

Options read_options() {
  Options options;
  // By default there is no device, as in sessions without a screen, so that programs that look for
  // GPUs do not mistake a simulated GPU for a real one.
  options.devices.clear();
  read_list("DEVICES", [&](std::string_view part) { return read_device(options, part); });
  read_list("MODE", [&](std::string_view part) {
    options.strict = part == "strict";
    return part == "strict" || part == "lenient";
  });
  read_list("ADVERSITIES",
            [&](std::string_view part) { return read_adversity(options.adversities, part); });
  read_list("FAILED_SIGNALS", [&](std::string_view part) {
    if (part == "never") {
      options.failed_signals = FailedSignals::kNever;
    } else if (part == "always") {
      options.failed_signals = FailedSignals::kAlways;
    } else {
      options.failed_signals = FailedSignals::kBySeed;
      return part == "seed";
    }
    return true;
  });
  read_list("NIL", [&](std::string_view part) { return read_nil(options, part); });
  read_list("FAIL", [&](std::string_view part) { return read_failure(options, part); });
  read_bool("ABORTS", options.aborts);
  read_bool("RACES", options.checks_races);
  read_bool("PRINTS", options.prints);
  read_bool("METAL3", options.has_metal3);
  read_bool("DIRECT_DISPATCH", options.wants_direct_dispatch);
  read_bool("WARNINGS", options.compile_warnings);
  read_number("SEED", options.seed);
  read_number("UNIFIED_FAMILY", options.unified_family);
  read_number("DISCRETE_FAMILY", options.discrete_family);
  read_number("MAX_THREADS", options.max_threads);
  read_number("EXECUTION_WIDTH", options.execution_width);
  read_number("PAGE_SIZE", options.page_size);
  read_number("MEMORY", options.memory_bytes);
  read_number("MAX_BUFFER", options.max_buffer_bytes);
  read_number("MAX_OBJECTS", options.max_objects);
  read_number("KERNEL_BUDGET", options.kernel_budget);
  read_number("FAULTS_UNTIL_REVOKED", options.faults_until_revoked);
  std::uint64_t milliseconds = static_cast<std::uint64_t>(options.wait_timeout) / 1'000'000;
  read_number("WAIT_TIMEOUT_MS", milliseconds);
  if (milliseconds < 1'000'000'000) {
    options.wait_timeout = static_cast<Nanoseconds>(milliseconds) * 1'000'000;
  }
  if (const char* const path = variable("REPORT")) options.report = path;
  return options;
}

const Options& options() { return options_of_process(); }
void set_options(Options options) { options_of_process() = std::move(options); }

std::uint64_t choose(std::uint64_t a, std::uint64_t b, std::uint64_t limit) {
  // splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014
  std::uint64_t x = options().seed + 0x9e3779b97f4a7c15U * (a + 1) + 0xd1b54a32d192ed03U * (b + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return (x ^ (x >> 31)) % limit;
}

}  // namespace halyard::inline v0::sim::metal
