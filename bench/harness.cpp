// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.h"

#include <algorithm>
#include <random>
#include <thread>

namespace halyard::bench {
namespace {

constexpr int kResamples = 2000;

// Thread pools of peers spin briefly before they sleep; this is the time between repetitions for
// it.
constexpr auto kSettle = std::chrono::milliseconds(1);

Estimate estimate(const std::vector<double>& values) {
  std::mt19937_64 random(12345);  // the same data give the same interval
  std::uniform_int_distribution<std::size_t> pick(0, values.size() - 1);
  std::vector<double> medians(kResamples), resample(values.size());
  for (double& result : medians) {
    for (double& value : resample) value = values[pick(random)];
    result = median(resample);
  }
  std::sort(medians.begin(), medians.end());
  return {median(values), medians[kResamples * 25 / 1000], medians[kResamples * 975 / 1000]};
}

std::vector<double> values_of(const ArmResult& arm) {
  std::vector<double> values;
  for (const Sample& sample : arm.samples) values.push_back(bench::median(sample.times));
  return values;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Estimate ratio(const ArmResult& a, const ArmResult& b) {
  const std::vector<double> over = values_of(a), under = values_of(b);
  std::vector<double> ratios(std::min(over.size(), under.size()));
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = over[i] / under[i];
  return estimate(ratios);
}

double ArmResult::median() const { return bench::median(values_of(*this)); }

double ArmResult::p99() const {
  std::vector<double> all;
  for (const Sample& sample : samples) {
    all.insert(all.end(), sample.times.begin(), sample.times.end());
  }
  std::sort(all.begin(), all.end());
  return all.empty() ? 0 : all[all.size() * 99 / 100];
}

std::optional<Estimate> ArmResult::metric(const std::string& metric_name) const {
  std::vector<double> values;
  for (const Sample& sample : samples) {
    const auto found = sample.metrics.find(metric_name);
    if (found != sample.metrics.end()) values.push_back(found->second);
  }
  if (values.empty()) return std::nullopt;
  return estimate(values);
}

const ArmResult* RowResult::best_peer(std::string_view prefix) const {
  const ArmResult* best = nullptr;
  for (const ArmResult& peer : peers) {
    if (!peer.name.starts_with(prefix)) continue;
    if (best == nullptr || peer.median() < best->median()) best = &peer;
  }
  return best;
}

std::optional<Estimate> RowResult::value(const Target& target) const {
  if (!halyard) return std::nullopt;
  switch (target.kind) {
    case Target::Kind::kLimit:
      if (limit) return ratio(*halyard, *limit);
      break;
    case Target::Kind::kPeer:
      if (const ArmResult* peer = best_peer(target.name)) return ratio(*halyard, *peer);
      break;
    case Target::Kind::kMetric:
      return halyard->metric(target.name);
  }
  return std::nullopt;
}

std::optional<bool> RowResult::met() const {
  bool complete = !targets.empty();
  for (const Target& target : targets) {
    const std::optional<Estimate> found = value(target);
    if (found && found->value > target.bound) return false;
    complete &= found.has_value();
  }
  if (!complete) return std::nullopt;
  return true;
}

RowResult measure(const Row& row, World& world, int repetitions) {
  RowResult result{.id = row.id,
                   .measures = row.measures,
                   .problem = {},
                   .halyard = {},
                   .limit = {},
                   .peers = {},
                   .targets = row.targets};
  try {
    Arms arms = row.prepare(world);
    std::vector<std::pair<Arm*, ArmResult>> turns;
    const auto add = [&](Arm& arm) { turns.push_back({&arm, {arm.name, {}}}); };
    add(arms.halyard);
    if (arms.limit) add(*arms.limit);
    for (Arm& peer : arms.peers) add(peer);

    for (auto& [arm, arm_result] : turns) (void)arm->run();  // caches, pools, lazy set-up
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      for (auto& [arm, arm_result] : turns) {
        std::this_thread::sleep_for(kSettle);
        arm_result.samples.push_back(arm->run());
      }
    }

    std::size_t next = 0;
    result.halyard = std::move(turns[next++].second);
    if (arms.limit) result.limit = std::move(turns[next++].second);
    while (next < turns.size()) result.peers.push_back(std::move(turns[next++].second));
  } catch (const Unavailable& reason) {
    result.problem = reason.what();
  } catch (const std::exception& problem) {
    result.problem = problem.what();
    result.failed = true;
  }
  return result;
}

}  // namespace halyard::bench
