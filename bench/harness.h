// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a row is measured: its arms (Halyard, the limit, the peers) alternate in one process. Each
// repetition gives one value per arm. All figures are computed from these values.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::bench {

using Clock = std::chrono::steady_clock;

// One repetition of an arm. `times`: nanoseconds per operation, one or more; their median is the
// value of the repetition. Reading the clock costs tens of nanoseconds, so each time is the mean of
// at least a hundred operations, or a single operation of several microseconds.
struct Sample {
  std::vector<double> times;
  std::map<std::string, double> metrics;  // other figures, by name
};

// `run` throws if the results are wrong.
struct Arm {
  std::string name;
  std::function<Sample()> run;
};

struct Arms {
  Arm halyard;
  std::optional<Arm> limit;
  std::vector<Arm> peers;
};

// One condition of a row; all must hold.
struct Target {
  enum class Kind {
    kLimit,   // halyard / limit
    kPeer,    // halyard / the best of the peers whose name starts with `name`
    kMetric,  // the metric `name` of Halyard's arm
  };
  Kind kind;
  double bound;  // met when the value is at most this
  std::string name{};
};

class World;

struct Row {
  std::string id;
  std::string measures;
  std::vector<Target> targets;
  // Throws Unavailable if the machine or the build lacks something.
  std::function<Arms(World&)> prepare;
};

struct Unavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Estimate {
  double value = 0;
  double low = 0, high = 0;  // 95 % bootstrap interval of the median
};

struct ArmResult {
  std::string name;
  std::vector<Sample> samples;
  double median() const;
  double p99() const;  // over all times of all repetitions
  std::optional<Estimate> metric(const std::string& name) const;
};

struct RowResult {
  std::string id, measures;
  std::string problem;  // why there is no result
  bool failed = false;  // wrong results, as opposed to a lacking machine
  std::optional<ArmResult> halyard, limit;
  std::vector<ArmResult> peers;
  std::vector<Target> targets;

  const ArmResult* best_peer(std::string_view prefix = {}) const;
  // None if the required figure is missing.
  std::optional<Estimate> value(const Target& target) const;
  std::optional<bool> met() const;
};

RowResult measure(const Row& row, World& world, int repetitions);

double median(std::vector<double> values);
// The median of a[i] / b[i].
Estimate ratio(const ArmResult& a, const ArmResult& b);

// Nanoseconds for each of `count` operations: fn() runs them all.
template <class F>
double time_each(std::uint64_t count, F&& fn) {
  const auto start = Clock::now();
  fn();
  const std::chrono::duration<double, std::nano> spent = Clock::now() - start;
  return spent.count() / static_cast<double>(count);
}

// Throws unless `right`.
inline void verify(bool right, const char* what) {
  if (!right) throw std::runtime_error(std::string("wrong result: ") + what);
}

// The rows of each benchmark.
std::vector<Row> submit_rows();      // B1
std::vector<Row> round_trip_rows();  // B2
std::vector<Row> chain_rows();       // B3
std::vector<Row> dag_rows();         // B4
std::vector<Row> parked_rows();      // B5
std::vector<Row> timeline_rows();    // B6
std::vector<Row> bandwidth_rows();   // B7
std::vector<Row> async_rows();       // B8
std::vector<Row> replay_rows();      // B10
std::vector<Row> allocation_rows();  // B15
std::vector<Row> cold_rows();        // B19
std::vector<Row> matmul_rows();
std::vector<Row> cuda_rows();    // N1 to N6; in the build where HALYARD_BENCH_CUDA is defined
std::vector<Row> gpu_rows();     // N7 to N10; the same
std::vector<Row> hip_rows();     // N1.hip to N6.hip; in the build where HALYARD_BENCH_HIP is defined
std::vector<Row> vulkan_rows();  // V1 to V8; in the build where HALYARD_BENCH_VULKAN is defined

}  // namespace halyard::bench
