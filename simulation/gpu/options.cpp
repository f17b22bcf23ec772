// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/options.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "simulation/gpu/rules.h"
#include "simulation/gpu/types.h"

namespace halyard::inline v0::sim::gpu {
namespace {

std::string full_name(std::string_view name) { return std::string(rules().variables).append(name); }

// A decimal number with an optional suffix K, M or G (of 1024).
bool parse_number(std::string_view text, std::uint64_t& number) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (suffix == "K" || suffix == "KiB") {
    value <<= 10;
  } else if (suffix == "M" || suffix == "MiB") {
    value <<= 20;
  } else if (suffix == "G" || suffix == "GiB") {
    value <<= 30;
  } else if (!suffix.empty()) {
    return false;
  }
  number = value;
  return true;
}

// Calls `take` with each part of `text` between commas.
template <class Take>
void split(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    if (!part.empty()) take(part);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
}

void read_fault(Options& options, std::string_view part) {
  constexpr std::string_view kVariable = "FAIL";
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) return complain(kVariable, part);
  std::string_view name = part.substr(0, equals);
  Fault fault{0, result_from_name(part.substr(equals + 1))};
  if (const std::size_t at = name.find('@'); at != std::string_view::npos) {
    const std::string_view call = name.substr(at + 1);
    if (call != "*" && (!parse_number(call, fault.call) || fault.call == 0)) {
      return complain(kVariable, part);
    }
    name = name.substr(0, at);
  }
  if (fault.result <= 0) return complain(kVariable, part);
  options.faults.emplace(name, fault);
}

}  // namespace

void complain(std::string_view name, std::string_view value) {
  std::fprintf(stderr, "simulated %s: %s: cannot read \"%.*s\", ignored\n", rules().product,
               full_name(name).c_str(), static_cast<int>(value.size()), value.data());
}

const char* variable(std::string_view name) { return std::getenv(full_name(name).c_str()); }

void read_number(std::string_view name, std::uint64_t& number, std::uint64_t least,
                 std::uint64_t most) {
  const char* const text = variable(name);
  if (text == nullptr) return;
  std::uint64_t value = 0;
  if (parse_number(text, value) && value >= least && value <= most) {
    number = value;
  } else {
    complain(name, text);
  }
}

Options read_options() {
  Options options;
  std::uint64_t devices = 2, memory = options.memory_bytes, threads = 1;
  read_number("DEVICES", devices, 0, kMostDevices);
  read_number("MEMORY", memory, 1 << 20, std::uint64_t{1} << 40);
  read_number("SEED", options.seed, 0, ~std::uint64_t{0});
  read_number("THREADS", threads, 1, 256);
  read_number("MAX_INSTRUCTIONS", options.max_instructions, 0, ~std::uint64_t{0});
  options.devices = static_cast<int>(devices);
  options.memory_bytes = memory;
  options.threads = static_cast<unsigned>(threads);
  if (const char* const text = variable("MODE")) {
    split(text, [&](std::string_view mode) {
      if (mode == "strict") {
        options.strict = true;
      } else if (mode == "adversarial") {
        options.adversarial = true;
      } else if (mode == "null") {
        options.null = true;
      } else {
        complain("MODE", mode);
      }
    });
  }
  if (const char* const text = variable("REPORT")) options.report = text;
  if (const char* const text = variable("FAIL")) {
    split(text, [&](std::string_view part) { read_fault(options, part); });
  }
  rules().read_options(options);
  return options;
}

int result_from_name(std::string_view name) {
  if (const int result = rules().result_from_name(name); result != -1) return result;
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc{} && end == name.data() + name.size() ? number : -1;
}

std::uint64_t choose(std::uint64_t a, std::uint64_t b, std::uint64_t limit) {
  // splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014
  std::uint64_t x = options().seed + 0x9e3779b97f4a7c15U * (a + 1) + 0xd1b54a32d192ed03U * (b + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return (x ^ (x >> 31)) % limit;
}

}  // namespace halyard::inline v0::sim::gpu
