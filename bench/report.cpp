// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace halyard::bench {
namespace {

using nlohmann::json;

// Nanoseconds, three digits.
std::string time_text(double nanoseconds) {
  if (nanoseconds < 9.95) return fmt::format("{:.2f} ns", nanoseconds);
  if (nanoseconds < 99.5) return fmt::format("{:.1f} ns", nanoseconds);
  if (nanoseconds < 1000) return fmt::format("{:.0f} ns", nanoseconds);
  if (nanoseconds < 9950) return fmt::format("{:.2f} us", nanoseconds / 1000);
  if (nanoseconds < 999'500) return fmt::format("{:.1f} us", nanoseconds / 1000);
  return fmt::format("{:.2f} ms", nanoseconds / 1e6);
}

// Enough digits to distinguish it from its bound.
std::string number_text(double value) {
  return value != 0 && value < 0.01 ? fmt::format("{:.5f}", value) : fmt::format("{:.2f}", value);
}

std::string of(const Target& target) {
  switch (target.kind) {
    case Target::Kind::kLimit:
      return "limit";
    case Target::Kind::kPeer:
      return target.name.empty() ? "the best peer" : target.name;
    case Target::Kind::kMetric:
      break;
  }
  return target.name;
}

std::string value_text(const Estimate& estimate, const Target& target) {
  const std::string figure = fmt::format("{} [{}, {}]", number_text(estimate.value),
                                         number_text(estimate.low), number_text(estimate.high));
  return target.kind == Target::Kind::kMetric ? fmt::format("{} {}", of(target), figure)
                                              : fmt::format("{} x {}", figure, of(target));
}

std::string ratio_text(const RowResult& row) {
  std::string text;
  const auto add = [&](const Target& target) {
    const std::optional<Estimate> value = row.value(target);
    text += fmt::format("{}{}", text.empty() ? "" : "; ", value ? value_text(*value, target) : "-");
  };
  for (const Target& target : row.targets) add(target);
  if (!row.targets.empty()) return text;
  const ArmResult* peer = row.best_peer();
  if (row.limit || peer == nullptr) {
    add({Target::Kind::kLimit, 0});
  } else {
    add({Target::Kind::kPeer, 0, peer->name});
  }
  return text;
}

std::string target_text(const RowResult& row) {
  std::string text;
  for (const Target& target : row.targets) {
    text += text.empty() ? "" : "; ";
    text += target.kind == Target::Kind::kMetric
                ? fmt::format("{} <= {:g}", of(target), target.bound)
                : fmt::format("<= {:g} x {}", target.bound, of(target));
  }
  return text.empty() ? "-" : text;
}

std::string met_text(const RowResult& row) {
  const std::optional<bool> met = row.met();
  return !met ? "-" : *met ? "yes" : "no";
}

json to_json(const ArmResult& arm, std::string_view role) {
  json samples = json::array();
  for (const Sample& sample : arm.samples) {
    samples.push_back({{"nanoseconds", sample.times}, {"metrics", sample.metrics}});
  }
  return {{"name", arm.name},
          {"role", role},
          {"median_ns", arm.median()},
          {"p99_ns", arm.p99()},
          {"samples", std::move(samples)}};
}

json to_json(const RowResult& row) {
  json arms = json::array(), targets = json::array();
  if (row.halyard) arms.push_back(to_json(*row.halyard, "halyard"));
  if (row.limit) arms.push_back(to_json(*row.limit, "limit"));
  for (const ArmResult& peer : row.peers) arms.push_back(to_json(peer, "peer"));
  for (const Target& target : row.targets) {
    json entry{{"of", of(target)}, {"at_most", target.bound}, {"value", nullptr}};
    if (const std::optional<Estimate> value = row.value(target)) {
      entry["value"] = value->value;
      entry["interval_95"] = {value->low, value->high};
    }
    targets.push_back(std::move(entry));
  }
  return {{"row", row.id},           {"measures", row.measures},      {"problem", row.problem},
          {"arms", std::move(arms)}, {"targets", std::move(targets)}, {"met", met_text(row)}};
}

}  // namespace

std::string table_head() {
  return "| row | halyard | limit | best peer | ratio [95 %] | target | met |\n"
         "|---|---|---|---|---|---|---|\n";
}

std::string table_line(const RowResult& row) {
  const ArmResult* peer = row.best_peer();
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", row.id,
                     row.halyard ? time_text(row.halyard->median()) : "-",
                     row.limit ? time_text(row.limit->median()) : "-",
                     peer != nullptr ? peer->name + " " + time_text(peer->median()) : "-",
                     ratio_text(row), target_text(row), met_text(row));
}

std::string details(const RowResult& row) {
  std::string text = fmt::format("{}: {}\n", row.id, row.measures);
  if (!row.problem.empty()) text += fmt::format("  not measured: {}\n", row.problem);
  const auto add = [&](const ArmResult& arm) {
    text += fmt::format("  {:<28} {:>10}, p99 {}\n", arm.name, time_text(arm.median()),
                        time_text(arm.p99()));
    if (arm.samples.empty()) return;
    for (const auto& [name, first] : arm.samples.front().metrics) {
      const std::optional<Estimate> metric = arm.metric(name);
      text += fmt::format("    {} {} [{}, {}]\n", name, number_text(metric->value),
                          number_text(metric->low), number_text(metric->high));
    }
  };
  if (row.halyard) add(*row.halyard);
  if (row.limit) add(*row.limit);
  for (const ArmResult& peer : row.peers) add(peer);
  return text;
}

void write_json(const std::string& path, const Machine& machine,
                const std::vector<RowResult>& rows) {
  json list = json::array();
  for (const RowResult& row : rows) list.push_back(to_json(row));
  const json document{{"machine", machine.facts}, {"rows", std::move(list)}};
  std::ofstream file(path);
  file << document.dump(1) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace halyard::bench
