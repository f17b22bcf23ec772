// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B8: host time of async per composed step, per await and per kernel call. tests/async/
// allocation_test.cpp counts its allocations.
#include <memory>
#include <tuple>
#include <utility>

#include "halyard/async.h"
#include "peers.h"
#include "steps.h"
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
  std::uint32_t input = 1;  // read through opaque(), which prevents constant folding
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

std::vector<ComposePeers> compose_peers() {
#if defined(HALYARD_BENCH_STDEXEC)
  return {stdexec_peers()};
#else
  return {};
#endif
}

// Builds and runs `tree(x)`, an operation of eight steps that submits nothing. Compares it with
// `calls(x)`, the same computation without operations, and with the peers. All return the next x.
template <class Tree, class Calls>
Arms compose(World& world, const char* name, Tree tree, Calls calls,
             ComposePeers::Run ComposePeers::* peer) {
  const auto fixture = std::make_shared<Fixture>(world);
  const int loops = world.turns(kLoops);
  constexpr std::uint64_t kTrees = 100;
  const auto expect = [fixture, loops, calls](std::uint32_t x) {
    std::uint32_t expected = fixture->input;
    for (std::uint64_t i = 0; i < kTrees * static_cast<std::uint64_t>(loops); ++i) {
      expected = calls(expected);
    }
    verify(x == expected, "eight steps");
  };
  const Arm halyard{name, [fixture, loops, tree, expect] {
                      async::detail::Submitter context(fixture->runtime.device(), &fixture->runtime);
                      std::uint32_t x = fixture->input;
                      Sample sample = timed(loops, kTrees * kSteps, [&] {
                        for (std::uint64_t i = 0; i < kTrees; ++i) {
                          x = *tree(opaque(x)).execute(context);
                        }
                      });
                      expect(x);
                      return sample;
                    }};
  const Arm limit{"8 calls", [fixture, loops, calls, expect] {
                    std::uint32_t x = fixture->input;
                    Sample sample = timed(loops, kTrees * kSteps, [&] {
                      for (std::uint64_t i = 0; i < kTrees; ++i) x = opaque(calls(opaque(x)));
                    });
                    expect(x);
                    return sample;
                  }};
  std::vector<Arm> peers;
  for (const ComposePeers& each : compose_peers()) {
    if (peer == nullptr) break;
    peers.push_back({each.name, [fixture, loops, expect, run = each.*peer] {
                       std::uint32_t x = fixture->input;
                       Sample sample =
                           timed(loops, kTrees * kSteps, [&] { x = run(kTrees, opaque(x)); });
                       expect(x);
                       return sample;
                     }});
  }
  return {halyard, limit, std::move(peers)};
}

Arms map_row(World& world) {
  return compose(
      world, "value | map, 8 times",
      [](std::uint32_t x) {
        return value(x) | map(Step()) | map(Step()) | map(Step()) | map(Step()) | map(Step()) |
               map(Step()) | map(Step()) | map(Step());
      },
      eight_steps, &ComposePeers::map);
}

Arms and_then_row(World& world) {
  return compose(
      world, "value | and_then, 8 times",
      [](std::uint32_t x) {
        constexpr auto kNext = [](std::uint32_t y) { return value(Step()(y)); };
        return value(x) | and_then(kNext) | and_then(kNext) | and_then(kNext) | and_then(kNext) |
               and_then(kNext) | and_then(kNext) | and_then(kNext) | and_then(kNext);
      },
      eight_steps, &ComposePeers::and_then);
}

// Submits nothing, but does not declare that (kSubmitsNothing).
struct Leaf {
  using Output = std::uint32_t;
  Result<std::uint32_t> execute(Context&) && { return Step()(x); }
  std::uint32_t x;
};

struct Sum {
  template <class... T>
  std::uint32_t operator()(std::tuple<T...> parts) const {
    return std::apply([](auto... part) { return (part + ...); }, parts);
  }
};

std::uint32_t sum_of_eight(std::uint32_t x) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < kSteps; ++i) sum += Step()(x + i);
  return sum;
}

Arms zip_row(World& world) {
  return compose(
      world, "zip of 8",
      [](std::uint32_t x) {
        return zip(Leaf{x}, Leaf{x + 1}, Leaf{x + 2}, Leaf{x + 3}, Leaf{x + 4}, Leaf{x + 5},
                   Leaf{x + 6}, Leaf{x + 7}) |
               map(Sum());
      },
      sum_of_eight, &ComposePeers::zip);
}

// The runtime's policy picks a queue for each part.
Arms join_row(World& world) {
  return compose(
      world, "join of 8",
      [](std::uint32_t x) {
        return join(Leaf{x}, Leaf{x + 1}, Leaf{x + 2}, Leaf{x + 3}, Leaf{x + 4}, Leaf{x + 5},
                    Leaf{x + 6}, Leaf{x + 7}) |
               map(Sum());
      },
      sum_of_eight, nullptr);
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

// Awaits `shared` again and again; `count` maps its result to 1.
template <class T, class F>
Task<> await_finished(SharedOperation<T> shared, std::uint64_t& sum, F count) {
  for (std::uint64_t i = 0; i < kAwaits; ++i) {
    const T given = co_await shared;
    sum += count(given);
  }
}

template <class F>
Arm finished_arm(std::shared_ptr<Fixture> fixture, int loops, auto shared, F count) {
  for (int i = 0; i < 2; ++i) {  // runs it, then finds it ended
    (void)sync_wait(auto(shared), fixture->runtime);
  }
  verify(shared.finished() != nullptr, "it has run");
  return {"co_await shared", [fixture, loops, shared, count] {
            std::uint64_t sum = 0;
            return timed(loops, kAwaits, [&] {
              sum = 0;
              sync_wait(await_finished(shared, sum, count), fixture->runtime);
              verify(sum == kAwaits, "a sum of ones");
            });
          }};
}

auto ran_on_device() { return ones<float>({16, 16}); }

Arms finished_row(World& world) {
  const auto fixture = std::make_shared<Fixture>(world);
  constexpr auto kSize = [](const Tensor<float>& x) { return x.shape()[0]; };
  return {finished_arm(fixture, world.turns(kLoops),
                       SharedOperation(ran_on_device() | map(kSize) | share),
                       [](std::uint64_t size) { return size / 16; }),
          {},
          {}};
}

// The limit: making and dropping the owner that each await returns.
Arms finished_tensor_row(World& world) {
  const auto fixture = std::make_shared<Fixture>(world);
  const int loops = world.turns(kLoops);
  const auto one = [](const Shared<Tensor<float>>& x) { return x.shape()[0] / 16; };
  const auto tensor = sync_wait(ran_on_device() | share, fixture->runtime);
  return {finished_arm(fixture, loops, ran_on_device() | share, one),
          Arm{"a copy",
              [fixture, loops, tensor, one] {
                std::uint64_t sum = 0;
                return timed(loops, kAwaits, [&] {
                  sum = 0;
                  for (std::uint64_t i = 0; i < kAwaits; ++i) {
                    const Shared<Tensor<float>> copy = tensor;
                    sum += one(copy);
                  }
                  verify(sum == kAwaits, "a sum of ones");
                });
              }},
          {}};
}

// Times a tree of 64 submissions on existing arrays, without the wait for their completion.
Arms call_row(World& world) {
  struct Arrays : Fixture {
    using Fixture::Fixture;
    Shared<Tensor<float>> x = sync_wait(ones<float>({16, 16}) | share, runtime);
    Partition<Tensor<float>> y = sync_wait(zeros<float>({16, 16}) | partition(16, 16), runtime);
  };
  const auto arrays = std::make_shared<Arrays>(world);
  const int loops = world.turns(kLoops);

  // Makes the arguments of Queue::dispatch once, as the call does.
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
          async::detail::Submitter context(arrays->runtime.device());
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
  return {
      {"B8.compose",
       "value | map, eight times, built and run; per step",
       {{Kind::kMetric, 20, "ns"}, {Kind::kLimit, 1.2}},
       map_row},
      {"B8.compose.and_then",
       "value | and_then, eight times, built and run; per step",
       {{Kind::kMetric, 20, "ns"}, {Kind::kLimit, 1.2}},
       and_then_row},
      {"B8.compose.zip",
       "a zip of eight operations, built and run; per part",
       {{Kind::kMetric, 20, "ns"}, {Kind::kLimit, 1.2}},
       zip_row},
      {"B8.compose.join",
       "a join of eight operations, built and run; per part",
       {{Kind::kMetric, 20, "ns"}, {Kind::kLimit, 1.2}},
       join_row},
      {"B8.await",
       "co_await of an operation with nothing to wait for, in a Task",
       {{Kind::kMetric, 10, "ns"}},
       await_row},
      {"B8.await.finished",
       "co_await of a shared operation that has run on the device, in a Task; returns a number",
       {{Kind::kMetric, 10, "ns"}},
       finished_row},
      {"B8.await.finished.tensor",
       "the same, but returns a tensor, with one more owner for each await",
       {{Kind::kMetric, 10, "ns"}},
       finished_tensor_row},
      {"B8.call",
       "a kernel call with three arguments in a tree of 64; submission only",
       {{Kind::kMetric, 50, "ns over dispatch"}},
       call_row}};
}

}  // namespace halyard::bench
