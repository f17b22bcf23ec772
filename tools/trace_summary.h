// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Summary of a trace file (trace/chrome_trace.h) in a few numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "halyard/base/clock.h"
#include "halyard/base/result.h"
#include "json.h"

namespace halyard::inline v0::tools {

struct TraceSummary {
  struct Queue {
    std::string name;
    std::uint64_t submissions = 0;
    std::uint64_t commands = 0;
    Nanoseconds busy = 0;  // time in which work ran
  };
  struct Wait {
    Nanoseconds duration = 0;
    std::string thread;
    std::string what;
  };
  static constexpr std::size_t kWaits = 5;

  std::uint64_t events = 0;
  std::uint64_t dropped = 0;
  std::uint64_t unended = 0;  // submissions
  std::uint64_t limit = 0;    // size in bytes at which the file was cut; 0: complete
  Nanoseconds duration = 0;   // from the first event to the last
  bool whole = false;         // the file has its end
  std::map<int, Queue> queues;
  std::map<std::string, std::uint64_t> peak_memory;  // bytes, by device
  std::vector<Wait> longest_waits;                   // longest first
};

// Accepts a file that lacks its end. Errors: kDataLoss if a line before the last is not an event;
// kNotFound and others if the file cannot be read.
Result<TraceSummary> summarize_trace(const std::string& path);

std::string to_text(const TraceSummary& summary, const std::string& path);
Json to_json(const TraceSummary& summary, const std::string& path);

}  // namespace halyard::inline v0::tools
