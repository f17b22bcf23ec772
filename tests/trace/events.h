// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces as their readers see them: JSON, and properties of every trace.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace halyard::testing {

using nlohmann::json;
using Nanos = std::int64_t;

// Microseconds with three decimals.
inline Nanos nanos(const json& time) { return std::llround(time.get<double>() * 1000); }

// Times of a running machine have more digits than a double represents to the nanosecond.
inline constexpr Nanos kRounding = 2;

inline std::vector<json> events_of(const json& trace, const std::string& phase) {
  std::vector<json> found;
  std::ranges::copy_if(trace, std::back_inserter(found),
                       [&](const json& event) { return event["ph"] == phase; });
  return found;
}

// Sorted by time; a file has them grouped by thread.
inline std::vector<json> slices(const json& trace, const std::string& category) {
  auto found = events_of(trace, "X");
  std::erase_if(found, [&](const json& event) { return event["cat"] != category; });
  std::ranges::sort(found, {}, [](const json& slice) { return nanos(slice["ts"]); });
  return found;
}

inline json only(const std::vector<json>& events) {
  EXPECT_EQ(events.size(), 1u) << json(events).dump(1);
  return events.empty() ? json() : events.front();
}

inline std::map<int, std::string> row_names(const json& trace) {
  std::map<int, std::string> names;
  for (const json& event : events_of(trace, "M")) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
  }
  return names;
}

inline bool holds(const json& slice, Nanos time) {
  const Nanos start = nanos(slice["ts"]);
  return start <= time + kRounding && time <= start + nanos(slice["dur"]) + kRounding;
}

// Checks the properties that a viewer relies on.
inline void expect_well_formed(const json& trace) {
  const auto names = row_names(trace);
  std::map<std::string, std::vector<std::pair<std::string, Nanos>>> open;  // spans, by their id
  std::map<std::pair<int, int>, int> arrows;                               // id: starts, ends
  for (const json& event : trace) {
    const std::string phase = event["ph"];
    ASSERT_TRUE(event.contains("pid")) << event;
    if (phase == "M") continue;
    EXPECT_GE(nanos(event["ts"]), 0) << event;
    if (phase == "X" || phase == "s" || phase == "f" || phase == "b") {
      EXPECT_TRUE(names.contains(event["tid"])) << event;
    }
    if (phase == "X") {
      EXPECT_GT(nanos(event["dur"]), 0) << event;
    }
    if (phase == "b") open[event["id"]].emplace_back(event["name"], nanos(event["ts"]));
    if (phase == "e") {
      auto& spans = open[event["id"]];
      ASSERT_FALSE(spans.empty()) << event;
      EXPECT_EQ(spans.back().first, event["name"].get<std::string>())
          << "spans of one submission nest";
      EXPECT_LE(spans.back().second, nanos(event["ts"])) << event;
      spans.pop_back();
    }
    if (phase == "s" || phase == "f") {
      const auto& all = events_of(trace, "X");
      EXPECT_TRUE(std::ranges::any_of(all,
                                      [&](const json& slice) {
                                        return slice["tid"] == event["tid"] &&
                                               holds(slice, nanos(event["ts"]));
                                      }))
          << "an arrow hits a slice: " << event;
      ++arrows[{event["id"].get<int>(), phase == "f"}];
    }
  }
  for (const auto& [id, spans] : open) EXPECT_TRUE(spans.empty()) << id << " does not end";
  for (const auto& [end, count] : arrows) {
    EXPECT_EQ(count, 1);
    EXPECT_TRUE(arrows.contains({end.first, 1 - end.second})) << "an arrow has two ends";
  }
  const auto submissions = slices(trace, "submission");
  for (const json& command : slices(trace, "command")) {
    EXPECT_TRUE(
        std::ranges::any_of(submissions,
                            [&](const json& slice) {
                              return slice["tid"] == command["tid"] &&
                                     slice["args"]["submission"] == command["args"]["submission"] &&
                                     holds(slice, nanos(command["ts"])) &&
                                     holds(slice, nanos(command["ts"]) + nanos(command["dur"]));
                            }))
        << "a command lies within its submission: " << command;
  }
}

// The arrows, as submissions or rows of slices: from and to.
inline std::vector<std::pair<json, json>> arrows(const json& trace) {
  const auto at = [&](const json& event) {
    json found;
    for (const json& slice : events_of(trace, "X")) {
      if (slice["tid"] == event["tid"] && slice["cat"] != "command" &&
          holds(slice, nanos(event["ts"]))) {
        found = slice;
      }
    }
    return found;
  };
  std::vector<std::pair<json, json>> found;
  for (const json& start : events_of(trace, "s")) {
    for (const json& end : events_of(trace, "f")) {
      if (start["id"] == end["id"]) found.emplace_back(at(start), at(end));
    }
  }
  return found;
}

}  // namespace halyard::testing
