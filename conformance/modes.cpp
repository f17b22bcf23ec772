// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The modes of the suite, for each driver, as data.
#include "conformance/conformance.h"

namespace halyard::inline v0::conformance {
namespace {

struct Variation {
  std::string_view driver;  // empty: of every driver
  std::string_view name;
  std::string_view query;  // options of the URI
  hal::QueuePriority priority = hal::QueuePriority::kNormal;
  bool traced = false;
};

constexpr Variation kVariations[] = {
    {"", "as given", ""},
    {"cpu", "one worker", "workers=1"},
    {"cpu", "three workers", "workers=3"},
    {"cpu", "two devices", "devices=2&workers=2"},
    {"cpu", "four devices of one worker", "devices=4&workers=1"},
    {"cpu", "placed on cores", "affinity=core&workers=1"},
    {"cpu", "placed on nodes", "affinity=node"},
    {"serial", "two devices that are no peers", "devices=2&peers=0"},
    {"", "queues of high priority", "", hal::QueuePriority::kHigh},
    {"", "queues of low priority", "", hal::QueuePriority::kLow},
    {"", "traced", "", hal::QueuePriority::kNormal, true},
    {"", "checked for missing order", "check=1"},
};

// True if the URI gives none of the options of `query`.
bool leaves_open(std::string_view uri, std::string_view query) {
  while (!query.empty()) {
    const std::string_view key = query.substr(0, query.find('=') + 1);
    for (const char before : {'?', '&'}) {
      if (uri.find(std::string(1, before).append(key)) != uri.npos) return false;
    }
    const std::size_t next = query.find('&');
    query = next == query.npos ? std::string_view() : query.substr(next + 1);
  }
  return true;
}

}  // namespace

std::vector<Mode> modes_of(const Options& options) {
  const std::string_view uri = options.uri;
  const std::string_view driver = uri.substr(0, uri.find("://"));
  std::vector<Mode> modes;
  for (const Variation& it : kVariations) {
    if (!it.driver.empty() && it.driver != driver) continue;
    if (!leaves_open(uri, it.query)) continue;
    // Options of a list of devices would belong to the last one.
    if (!it.query.empty() && uri.find(',') != uri.npos) continue;
    Mode mode{std::string(it.name), options, it.traced};
    if (!it.query.empty()) {
      mode.options.uri.append(uri.find('?') == uri.npos ? "?" : "&").append(it.query);
    }
    mode.options.priority = it.priority;
    modes.push_back(std::move(mode));
  }
  return modes;
}

}  // namespace halyard::inline v0::conformance
