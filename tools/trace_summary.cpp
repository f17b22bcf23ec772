// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string_view>

#include "base/file.h"
#include "base/format.h"

namespace halyard::inline v0::tools {
namespace {

// Files have microseconds with three decimals.
Nanoseconds nanoseconds(const Json& time) { return std::llround(time.get<double>() * 1000); }

// Prints with no more digits than the nanoseconds have.
double micros(Nanoseconds time) { return static_cast<double>(time) / 1000; }

// A summary in progress.
struct Adding {
  TraceSummary summary;
  std::map<int, std::string> rows;  // thread names by row
  Nanoseconds first = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds last = 0;

  void add(const Json& event);
  void add_row(const Json& event);
  void add_slice(const Json& event, int row);
};

void Adding::add_row(const Json& event) {
  const Json& args = event.at("args");
  const int row = event.at("tid");
  rows[row] = args.at("name");
  if (args.at("kind") == "queue") summary.queues[row].name = args.at("name");
}

void Adding::add_slice(const Json& event, int row) {
  const Nanoseconds duration = nanoseconds(event.at("dur"));
  last = std::max(last, nanoseconds(event.at("ts")) + duration);
  const std::string category = event.at("cat");
  const auto queue = summary.queues.find(row);
  if (queue != summary.queues.end()) {
    // A submission on a device is a slice, which contains the slices of its commands.
    if (category == "command") {
      ++queue->second.commands;
    } else {
      queue->second.busy += duration;
    }
  }
  const std::string name = event.at("name");
  if (category != "host" || !name.starts_with("wait")) return;
  TraceSummary::Wait wait{duration, rows[row], name};
  if (const auto waits = event.at("args").find("waits"); waits != event.at("args").end()) {
    wait.what = fmt::format("{}", fmt::join(waits->get<std::vector<std::string>>(), ", "));
  }
  auto& longest = summary.longest_waits;
  const auto at =
      std::ranges::upper_bound(longest, duration, std::greater<>(), &TraceSummary::Wait::duration);
  longest.insert(at, std::move(wait));
  if (longest.size() > TraceSummary::kWaits) longest.pop_back();
}

void Adding::add(const Json& event) {
  const std::string phase = event.at("ph");
  const std::string name = event.value("name", "");
  if (phase == "M") {
    if (name == "thread_name") add_row(event);
    if (name == "halyard_end") summary.whole = true;
    return;
  }
  ++summary.events;
  const Nanoseconds time = nanoseconds(event.at("ts"));
  const int row = event.at("tid");
  first = std::min(first, time);
  last = std::max(last, time);
  if (phase == "X") add_slice(event, row);
  if (phase == "b" && event.contains("args")) ++summary.queues[row].submissions;
  if (phase == "i") {
    summary.dropped += event.at("args").at("dropped").get<std::uint64_t>();
    summary.limit = event.at("args").value("limit", summary.limit);
    summary.unended += event.at("args").value("unended", std::uint64_t{0});
  }
  if (phase == "C") {
    std::uint64_t& peak = summary.peak_memory[name.substr(name.find(' ') + 1)];
    peak = std::max(peak, event.at("args").at("bytes").get<std::uint64_t>());
  }
}

std::string to_text(Nanoseconds time) {
  if (time < 1'000'000) return fmt::format("{:.1f} us", micros(time));
  if (time < 1'000'000'000) return fmt::format("{:.2f} ms", micros(time) / 1000);
  return fmt::format("{:.2f} s", micros(time) / 1'000'000);
}

}  // namespace

Result<TraceSummary> summarize_trace(const std::string& path) {
  std::ifstream file(path);
  if (!file) return base::system_error(path, "open");
  Adding adding;
  std::string text;
  std::size_t number = 0;
  while (std::getline(file, text)) {
    ++number;
    std::string_view line = text;
    if (line.ends_with(',')) line.remove_suffix(1);
    if (line == "[" || line == "]") continue;
    const Json event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    try {
      if (!event.is_discarded()) {
        adding.add(event);
        continue;
      }
    } catch (const Json::exception&) {
    }
    // The last line of a killed program may be incomplete.
    if (file.eof() || file.peek() == std::ifstream::traits_type::eof()) break;
    return error(StatusCode::kDataLoss, "{}:{}: not an event", path, number);
  }
  TraceSummary& summary = adding.summary;
  summary.duration = std::max<Nanoseconds>(0, adding.last - adding.first);
  return std::move(summary);
}

std::string to_text(const TraceSummary& summary, const std::string& path) {
  std::string text = fmt::format("{}: {} events in {}; https://ui.perfetto.dev opens it\n", path,
                                 summary.events, to_text(summary.duration));
  for (const auto& [row, queue] : summary.queues) {
    text += fmt::format("  {}: {}, {}, busy {} ({:.1f} %)\n", queue.name,
                        base::counted(queue.submissions, "submission"),
                        base::counted(queue.commands, "command"), to_text(queue.busy),
                        summary.duration > 0
                            ? 100 * micros(queue.busy) / micros(summary.duration)
                            : 0.0);
  }
  for (const auto& [device, bytes] : summary.peak_memory) {
    text += fmt::format("  {}: at most {} bytes in use\n", device, bytes);
  }
  if (!summary.longest_waits.empty()) text += "  longest waits of host threads:\n";
  for (const auto& wait : summary.longest_waits) {
    text += fmt::format("    {:>10}  {}: {}\n", to_text(wait.duration), wait.thread, wait.what);
  }
  if (summary.dropped != 0) {
    text += fmt::format("  {} events are missing: the buffers were full\n", summary.dropped);
  }
  if (summary.unended != 0) {
    text += fmt::format("  {} had not ended when the program did\n",
                        base::counted(summary.unended, "submission"));
  }
  if (summary.limit != 0) {
    text += fmt::format("  the file has reached its limit of {} MiB: later events are missing\n",
                        summary.limit >> 20);
  }
  if (!summary.whole) text += "  the program was killed: its last moments are missing\n";
  return text;
}

Json to_json(const TraceSummary& summary, const std::string& path) {
  Json queues = Json::array();
  for (const auto& [row, queue] : summary.queues) {
    queues.push_back({{"name", queue.name},
                      {"submissions", queue.submissions},
                      {"commands", queue.commands},
                      {"busy_microseconds", micros(queue.busy)}});
  }
  Json waits = Json::array();
  for (const auto& wait : summary.longest_waits) {
    waits.push_back(
        {{"microseconds", micros(wait.duration)}, {"thread", wait.thread}, {"waits", wait.what}});
  }
  Json memory = Json::object();
  for (const auto& [device, bytes] : summary.peak_memory) memory[device] = bytes;
  return {{"file", path},
          {"events", summary.events},
          {"dropped", summary.dropped},
          {"unended", summary.unended},
          {"limit_reached", summary.limit != 0},
          {"whole", summary.whole},
          {"microseconds", micros(summary.duration)},
          {"queues", std::move(queues)},
          {"peak_memory", std::move(memory)},
          {"longest_waits", std::move(waits)}};
}

}  // namespace halyard::inline v0::tools
