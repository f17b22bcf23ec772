// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B5: submissions that wait for values that have not been signalled yet. The time per submission
// must not grow with the number of parked ones. It includes everything: parking all, the signal,
// their execution, and the wait for the last.
#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "world.h"

namespace halyard::bench {
namespace {

constexpr std::uint64_t kFew = 500, kMany = 10'000;
constexpr int kFewTurns = 20;  // so that both take as long
constexpr std::uint64_t kPeerCount = 1000;

enum class Order { kIncreasing, kDecreasing, kRandom };

struct Times {
  double park = 0, total = 0;  // nanoseconds per submission
};

struct State {
  hal::Device device;
  hal::Queue queue;
};

// Submission i waits for gate >= v and signals done := v.
Times park_and_release(const State& state, const std::vector<std::uint64_t>& values) {
  const std::uint64_t count = values.size();
  const hal::Semaphore gate = state.device.create_semaphore().value();
  const hal::Semaphore done = state.device.create_semaphore().value();
  Times times;
  times.park = time_each(count, [&] {
    for (const std::uint64_t value : values) {
      check(state.queue.barrier({.wait = {{gate, value}}, .signal = {{done, value}}}));
    }
  });
  verify(done.query().value() == 0, "a parked submission has run");
  times.total = times.park + time_each(count, [&] {
                  check(gate.signal(count));
                  check(done.wait(count));
                });
  verify(done.query().value() == count, "the last semaphore value");
  return times;
}

std::vector<std::uint64_t> values_in(Order order, std::uint64_t count) {
  std::vector<std::uint64_t> values(count);
  std::iota(values.begin(), values.end(), 1);
  if (order == Order::kDecreasing) std::reverse(values.begin(), values.end());
  if (order == Order::kRandom) std::shuffle(values.begin(), values.end(), std::mt19937(1));
  return values;
}

Arms parked_row(World& world, Order order) {
  const auto run = [state = State{world.device(), world.device().queue()},
                    few = values_in(order, kFew), many = values_in(order, kMany),
                    turns = world.turns(kFewTurns)] {
    std::vector<double> few_total, few_park;
    for (int i = 0; i < turns; ++i) {
      const Times times = park_and_release(state, few);
      few_total.push_back(times.total);
      few_park.push_back(times.park);
    }
    const Times times = park_and_release(state, many);
    Sample sample;
    sample.times.push_back(times.total);
    sample.metrics["us"] = times.total / 1000;
    sample.metrics["ns_500"] = median(few_total);
    sample.metrics["park_ns"] = times.park;
    sample.metrics["park_ns_500"] = median(few_park);
    sample.metrics["t(10000)/t(500)"] = times.total / median(few_total);
    sample.metrics["park(10000)/park(500)"] = times.park / median(few_park);
    return sample;
  };
  Arms arms{{"halyard: 10,000 barriers", run}, std::nullopt, {}};
  if (OpenCl* cl = world.opencl(); cl != nullptr) {
    arms.peers.push_back({cl->name(), [cl] {
                            const std::uint32_t before = cl->counter();
                            cl->close_gate();
                            Sample sample;
                            sample.times.push_back(time_each(kPeerCount, [&] {
                              for (std::uint64_t i = 0; i < kPeerCount; ++i) cl->enqueue();
                              cl->open_gate();
                              cl->finish();
                            }));
                            verify(cl->counter() - before == kPeerCount, "OpenCL kernels");
                            return sample;
                          }});
  }
  return arms;
}

std::vector<Target> same_cost() {
  return {{Target::Kind::kMetric, 1.2, "t(10000)/t(500)"}, {Target::Kind::kMetric, 0.2, "us"}};
}

}  // namespace

std::vector<Row> parked_rows() {
  const auto row = [](Order order) {
    return [order](World& world) { return parked_row(world, order); };
  };
  return {
      {"B5.increasing", "per submission: 10,000 park on increasing values, are released and run",
       same_cost(), row(Order::kIncreasing)},
      {"B5.decreasing", "the same on decreasing values", same_cost(), row(Order::kDecreasing)},
      {"B5.random",
       "the same on values in random order",
       {{Target::Kind::kMetric, 4, "t(10000)/t(500)"},
        {Target::Kind::kMetric, 1.2, "park(10000)/park(500)"}},
       row(Order::kRandom)}};
}

}  // namespace halyard::bench
