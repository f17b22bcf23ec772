// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B8: what async costs the host, per composed step, per await and per kernel call. Its allocations
// are counted by tests/async/allocation_test.cpp.
#include <memory>
#include <tuple>
#include <utility>

#include "halyard/async.h"
#include "world.h"

namespace halyard::bench {
namespace {

using namespace async;

constexpr int kLoops = 200;
constexpr std::uint64_t kSteps = 8;
constexpr std::uint64_t kAwaits = 1000;
constexpr std::uint64_t kCalls = 64;

constexpr async::Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

struct Fixture {
  explicit Fixture(World& world) : runtime(Runtime::create({world.device()}).value()) {}
  Runtime runtime;
  std::uint32_t input = 1;  // read through opaque(): nothing is computed beforehand
};

template <class T>
T opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

// The steps differ by nothing that the compiler can fold into fewer.
struct Step {
  std::uint32_t operator()(std::uint32_t x) const { return opaque(x) * 3 + 1; }
};

std::uint32_t eight_steps(std::uint32_t x) {
  for (std::uint64_t i = 0; i < kSteps; ++i) x = Step()(x);
  return x;
}

template <class F>
Sample timed(int loops, std::uint64_t count, F&& fn) {
  Sample sample;
  for (int i = 0; i < loops; ++i) sample.times.push_back(time_each(count, fn));
  sample.metrics["ns"] = median(sample.times);
  return sample;
}

// Built and run as a tree, without a submission.
Arms compose_row(World& world) {
  const auto fixture = std::make_shared<Fixture>(world);
  const int loops = world.turns(kLoops);
  constexpr std::uint64_t kTrees = 100;
  const Arm halyard{
      "value | map, 8 times", [fixture, loops] {
        Context context(fixture->runtime.device());
        std::uint32_t x = fixture->input;
        const auto tree = [&] {
          for (std::uint64_t i = 0; i < kTrees; ++i) {
            auto operation = value(opaque(x)) | map(Step()) | map(Step()) | map(Step()) |
                             map(Step()) | map(Step()) | map(Step()) | map(Step()) | map(Step());
            x = *std::move(operation).execute(context);
          }
        };
        Sample sample = timed(loops, kTrees * kSteps, tree);
        std::uint32_t expected = fixture->input;
        for (std::uint64_t i = 0; i < kTrees * static_cast<std::uint64_t>(loops); ++i) {
          expected = eight_steps(expected);
        }
        verify(x == expected, "a chain of functions");
        return sample;
      }};
  const Arm limit{"8 calls", [fixture, loops] {
                    std::uint32_t x = fixture->input;
                    return timed(loops, kTrees * kSteps, [&] {
                      for (std::uint64_t i = 0; i < kTrees; ++i) x = opaque(eight_steps(opaque(x)));
                    });
                  }};
  return {halyard, limit, {}};
}

Task<> await_values(std::uint32_t& sum) {
  for (std::uint64_t i = 0; i < kAwaits; ++i) sum += co_await value(opaque(1u));
}

Arms await_row(World& world) {
  const auto fixture = std::make_shared<Fixture>(world);
  return {{"co_await value(x)",
           [fixture, loops = world.turns(kLoops)] {
             std::uint32_t sum = 0;
             return timed(loops, kAwaits, [&] {
               sum = 0;
               sync_wait(await_values(sum), fixture->runtime);
               verify(sum == kAwaits, "a sum of awaited values");
             });
           }},
          {},
          {}};
}

// Submission only, 64 in one tree on arrays that are there; the wait for them is not timed.
Arms call_row(World& world) {
  struct Arrays : Fixture {
    using Fixture::Fixture;
    Shared<Tensor<float>> x = sync_wait(ones<float>({16, 16}) | share, runtime);
    Partition<Tensor<float>> y = sync_wait(zeros<float>({16, 16}) | partition(16, 16), runtime);
  };
  const auto arrays = std::make_shared<Arrays>(world);
  const int loops = world.turns(kLoops);

  // As the call does it, once: the arguments of Queue::dispatch.
  const hal::Function function =
      World::load(world.device(), "saxpy_tile").function("saxpy_tile").value();
  const auto dispatch = [arrays, function, queue = world.device().queue(),
                         semaphore =
                             world.device().create_semaphore().value()](std::uint64_t from) {
    const auto tensor = [](const auto& array) {
      return hal::Tensor{.memory = array.storage()->buffer(),
                         .sizes = array.shape(),
                         .element = kernel::ElementType::kFloat32};
    };
    hal::Tensor y = tensor(arrays->y);
    y.tile = arrays->y.tile();
    const auto launch = hal::Launch::create(function, {tensor(arrays->x), y}, {2.0f}).value();
    const double each = time_each(kCalls, [&] {
      for (std::uint64_t i = from; i < from + kCalls; ++i) {
        check(queue.dispatch(launch, {.wait = {{semaphore, i}}, .signal = {{semaphore, i + 1}}}));
      }
    });
    check(semaphore.wait(from + kCalls));
    return each;
  };
  const auto value_at = std::make_shared<std::uint64_t>(0);

  const Arm halyard{
      "kernel(a, x, y)", [arrays, dispatch, value_at, loops] {
        Sample sample;
        std::vector<double> over;
        for (int i = 0; i < loops; ++i) {
          Context context(arrays->runtime.device());
          auto run = [&] {
            for (std::uint64_t k = 0; k < kCalls; ++k) {
              auto call = saxpy(2.0f, arrays->x, std::move(arrays->y)) | last;
              arrays->y = *std::move(call).execute(context);
            }
          };
          const double each = time_each(kCalls, run);
          check(context.wait());
          sample.times.push_back(each);
          over.push_back(each - dispatch(std::exchange(*value_at, *value_at + kCalls)));
        }
        sample.metrics["ns over dispatch"] = median(over);
        return sample;
      }};
  const Arm limit{
      "Queue::dispatch", [dispatch, value_at, loops] {
        Sample sample;
        for (int i = 0; i < loops; ++i) {
          sample.times.push_back(dispatch(std::exchange(*value_at, *value_at + kCalls)));
        }
        return sample;
      }};
  return {halyard, limit, {}};
}

}  // namespace

std::vector<Row> async_rows() {
  using Kind = Target::Kind;
  return {{"B8.compose",
           "value | map, eight times, built and run; per step",
           {{Kind::kMetric, 20, "ns"}},
           compose_row},
          {"B8.await",
           "co_await of an operation that has nothing to wait for, in a Task",
           {{Kind::kMetric, 10, "ns"}},
           await_row},
          {"B8.call",
           "a kernel call with three arguments in a tree of 64; submission only",
           {{Kind::kMetric, 50, "ns over dispatch"}},
           call_row}};
}

}  // namespace halyard::bench
