// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trees that are recorded once and replayed.
#include "halyard/async/recorded.h"

#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "async/stepped_world.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using testing::await_into;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::Handmade;
using testing::refused_with;
using testing::saxpy;

// Addends whose sum depends on the order of the roundings.
auto thirds() { return full<float>({16, 16}, 1.0f / 3); }

// Two branches and their sum:  y += 2 x;  z += 3 x;  z += 1.1 y.
auto diamond(const Shared<Tensor<float>>& x, Partition<Tensor<float>>&& y,
             Partition<Tensor<float>>&& z) {
  return zip(saxpy(2.0f, x, std::move(y)) | last, saxpy(3.0f, x, std::move(z)) | last) |
         apply([](Partition<Tensor<float>> y1, Partition<Tensor<float>> z1) {
           return saxpy(1.1f, std::move(y1) | share, std::move(z1));
         });
}

class AsyncRecorded : public AsyncTest {
 protected:
  Partition<Tensor<float>> tiles() { return run(thirds() | partition(4, 4)); }

  const Shared<Tensor<float>> x = run(thirds() | share);
};

TEST_F(AsyncRecorded, AReplayComputesWhatTheTreeWouldBitForBit) {
  auto recorded = run(record(diamond(x, tiles(), tiles())));
  run(recorded.replay());
  const auto eager = elements(run(diamond(x, tiles(), tiles()) | last));
  EXPECT_EQ(run(recorded.to_host<2>()), eager);
}

TEST_F(AsyncRecorded, RecordingRunsNothingAndEachReplayRunsAll) {
  auto recorded = run(record(saxpy(2.0f, run(ones<float>({16, 16}) | share),
                                   run(ones<float>({16, 16}) | partition(4, 4)))));
  EXPECT_THAT(run(recorded.to_host<2>()), Each(1.0f));
  for (int i = 0; i < 10; ++i) run(recorded.replay());
  EXPECT_THAT(run(recorded.to_host<2>()), Each(21.0f));
  auto [a, shared, y] = std::move(recorded).take();
  EXPECT_THAT(elements(std::move(y)), Each(21.0f));
}

TEST_F(AsyncRecorded, ArithmeticIsRecordedWhereItWritesOverATensor) {
  const auto old = [&] { return run(zeros<float>({16, 16})); };
  auto recorded = run(record(matmul(add(x, x, old()), sigmoid(x, old()), old())));
  EXPECT_THAT(run(recorded.to_host()), Each(0.0f));
  for (int i = 0; i < 2; ++i) run(recorded.replay());
  EXPECT_EQ(run(recorded.to_host()), elements(matmul(add(x, x), sigmoid(x))));
}

TEST_F(AsyncRecorded, FillAndCopyWriteWhatIsThere) {
  auto [from, to] = run(copy(fill(run(zeros<float>({8})), 2.0f), run(zeros<float>({8}))));
  EXPECT_THAT(elements(std::move(from)), Each(2.0f));
  EXPECT_THAT(elements(std::move(to)), Each(2.0f));
  EXPECT_THAT(failure(copy(run(zeros<float>({4})), run(zeros<float>({8})))),
              refused_with(StatusCode::kInvalidArgument, ""));
}

// arange() writes whole words, so its memory is longer than its elements.
TEST_F(AsyncRecorded, CopyTakesAsManyBytesAsTheTargetHasElements) {
  const auto copied = [](auto source, auto target) {
    return async::copy(std::move(source), std::move(target)) | last;
  };
  const auto bytes = run(from_host<std::uint8_t>({9, 8, 7, 6, 5}) | share);
  EXPECT_THAT(elements(copied(bytes, arange<std::uint8_t>(5))), ElementsAre(9, 8, 7, 6, 5));
  auto target = run(arange<std::uint16_t>(3));
  const auto words = run(from_host<std::uint16_t>({9, 8, 7}) | share);
  auto recorded = run(record([&] { return copied(words, std::move(target)); }));
  run(recorded.replay());
  EXPECT_THAT(run(recorded.to_host()), ElementsAre(9, 8, 7));
}

TEST_F(AsyncRecorded, AFillOfEightBytesIsRecordedAsOthers) {
  auto recorded = run(record(fill(run(zeros<double>({3})), 0.1)));
  run(recorded.replay());
  EXPECT_THAT(run(recorded.to_host()), Each(0.1));
}

// A custom operation that claims to be recordable, but allocates.
struct Liar {
  using Output = int;
  static constexpr bool kRecordable = true;
  Result<int> execute(Context& context) && {
    if (auto storage = context.allocate(4); !storage.ok()) return storage.status();
    return 0;
  }
};

TEST_F(AsyncRecorded, WhatAllocatesIsNotRecorded) {
  static_assert(Recordable<decltype(diamond(x, tiles(), tiles()))>);
  static_assert(!Recordable<decltype(ones<float>({4}))>);
  static_assert(!Recordable<decltype(add(x, x))>);
  static_assert(Recordable<decltype(add(x, x, std::declval<Tensor<float>>()))>);
  static_assert(!Recordable<decltype(add(x, x, empty<float>({16, 16})))>);
  static_assert(!Recordable<decltype(to_host(x))>);
  static_assert(!Recordable<decltype(value(1) | and_then([](int) { return ones<float>({4}); }))>);
  static_assert(!Recordable<decltype(value(1) | on(QueueRef()))>);
  EXPECT_THAT(failure(record(Liar())),
              refused_with(StatusCode::kFailedPrecondition, "a recording allocates nothing"));
}

TEST_F(AsyncRecorded, TwoOfOneFunctionHaveScratchOfTheirOwn) {
  const auto into_scratch = [](Shared<Tensor<float>> a) { return copy(a, scratch<float>({8})); };
  const auto one = run(record(into_scratch, Shape{8}));
  const auto other = run(record(into_scratch, Shape{8}));
  run(one.replay(run(full<float>({8}, 1.0f) | share)));
  run(other.replay(run(full<float>({8}, 2.0f) | share)));
  EXPECT_THAT(elements(one.output<1>()), Each(1.0f));
  EXPECT_THAT(elements(other.output<1>()), Each(2.0f));
}

TEST_F(AsyncRecorded, WhatWasMovedOrTakenFromIsNotReplayed) {
  const auto gone = refused_with(StatusCode::kFailedPrecondition, "was moved or taken from");
  auto first = run(record(fill(run(zeros<float>({8})), 2.0f)));
  auto second = std::move(first);
  EXPECT_THAT(failure(first.replay()), gone);
  run(second.replay());
  EXPECT_THAT(elements(std::move(second).take()), Each(2.0f));
  EXPECT_THAT(failure(second.replay()), gone);
}

TEST_F(AsyncRecorded, ATreeThatSubmitsNothingIsRecordedToo) {
  auto recorded = run(record(zip(42, 5)));
  for (int i = 0; i < 2; ++i) run(recorded.replay());
  EXPECT_EQ(recorded.value(), std::tuple(42, 5));
  EXPECT_EQ(std::move(recorded).take(), std::tuple(42, 5));
}

// Replays another recording.
struct Replaying {
  using Output = int;
  static constexpr bool kRecordable = true;
  Result<int> execute(Context& context) && {
    const auto replayed = recorded->replay().execute(context);
    if (!replayed.ok()) return replayed.status();
    return 0;
  }
  const Recorded<Tensor<float>>* recorded;
};

TEST_F(AsyncRecorded, AReplayIsNotRecorded) {
  auto recorded = run(record(fill(run(zeros<float>({8})), 2.0f)));
  EXPECT_THAT(failure(record(Replaying{&recorded})),
              refused_with(StatusCode::kFailedPrecondition, "a recording within a recording"));
  EXPECT_THAT(run(recorded.to_host()), Each(0.0f));
  run(recorded.replay());
  EXPECT_THAT(run(recorded.to_host()), Each(2.0f));
}

TEST_F(AsyncRecorded, WhatAFunctionAwaitsItselfIsNoPartOfTheRecording) {
  const Shared<Tensor<float>> target = run(zeros<float>({8}) | share);
  int awaited = 0;
  auto recorded = run(record(fill(run(zeros<float>({8})), 2.0f) | inspect([&](const auto&) {
                               EXPECT_THAT(elements(add(ones<float>({8}), target)), Each(1.0f));
                               ++awaited;
                             })));
  EXPECT_EQ(awaited, 1);
  for (int i = 0; i < 2; ++i) run(recorded.replay());
  EXPECT_THAT(run(recorded.to_host()), Each(2.0f));
  EXPECT_EQ(awaited, 1);
}

TEST_F(AsyncRecorded, ThreadsRecordAndReplayWhileOthersOpenRuntimes) {
  const auto record_and_replay = [&](float number) {
    const auto a = run(full<float>({16, 16}, number) | share);
    const auto expected = elements(run(diamond(a, tiles(), tiles()) | last));
    for (int i = 0; i < 50; ++i) {
      const auto recorded = run(record(diamond(a, tiles(), tiles())));
      run(recorded.replay());
      ASSERT_EQ(run(recorded.to_host<2>()), expected);
    }
  };
  std::jthread first([&] { record_and_replay(1.0f); });
  std::jthread second([&] { record_and_replay(2.0f); });
  for (int i = 0; i < 10; ++i) {
    const Runtime other = Runtime::open("cpu://?workers=1", {.queues = 2}).value();
    const auto recorded = sync_wait(record(fill(sync_wait(ones<float>({8}), other), 3.0f)), other);
    sync_wait(recorded.replay(), other);
    EXPECT_THAT(sync_wait(recorded.to_host(), other), Each(3.0f));
  }
}

// Sums with many roundings, by several workers.
TEST_F(AsyncRecorded, HundredReplaysComputeWhatHundredTreesWouldBitForBit) {
  runtime = Runtime::open("cpu://?workers=4").value();
  const auto numbers = run(randn<float>({97, 61}, 7) | share);
  const auto zero = [&](const Shape& shape) { return run(zeros<float>(shape)); };
  const auto sums = [&] {
    return matmul(numbers, numbers.reshape({61, 97}), zero({97, 97})) | share |
           and_then([rows = zero(97), columns = zero(97)](Shared<Tensor<float>> square) mutable {
             return zip(sum(square, -1, std::move(rows)), sum(square, 0, std::move(columns)));
           });
  };
  const auto eager = [&] {
    auto [rows, columns] = run(sums());
    return run(zip(to_host(std::move(rows)), to_host(std::move(columns))));
  };
  const auto expected = eager();
  const auto recorded = run(record(sums()));
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(eager(), expected) << i;
    run(recorded.replay());
    ASSERT_EQ(run(zip(recorded.to_host<0>(), recorded.to_host<1>())), expected) << i;
  }
}

TEST_F(AsyncRecorded, ErrorsOfARecordingAreToldByItsAwait) {
  EXPECT_THAT(failure(record(copy(run(zeros<float>({4})), run(zeros<float>({8}))))),
              refused_with(StatusCode::kInvalidArgument, ""));
}

class AsyncRecordedEdges : public testing::SteppedTest {
 protected:
  QueueRef queue(std::size_t index) const { return runtime.device().queue(index); }
  using Elements = std::optional<Result<std::vector<float>>>;
  using Replayed = std::optional<Result<std::tuple<>>>;
};

TEST_F(AsyncRecordedEdges, BranchesAreOrderedByTheirDataAlone) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
  control->on_prepare = [&](const hal::RecordedCommands& recording) {
    for (const hal::CommandEdge& edge : recording.edges) edges.insert({edge.before, edge.after});
  };
  // 0: a = 1   1: b = 2   2: c = a   3: b = c   4: a = 3
  auto tree = zip(fill(tensor(0), 1.0f), fill(tensor(0), 2.0f), tensor(0)) |
              apply([](Tensor<float> a, Tensor<float> b, Tensor<float> c) {
                return zip(async::copy(std::move(a), std::move(c)), std::move(b));
              }) |
              apply([](std::tuple<Tensor<float>, Tensor<float>> ac, Tensor<float> b) {
                auto& [a, c] = ac;
                return zip(async::copy(std::move(c), std::move(b)), fill(std::move(a), 3.0f));
              });
  auto recorded = sync_wait(record(std::move(tree)), runtime);
  using Edges = std::set<std::pair<std::uint32_t, std::uint32_t>>;
  EXPECT_EQ(edges, (Edges{{0, 2}, {1, 3}, {2, 3}, {0, 4}, {2, 4}}));
}

TEST_F(AsyncRecordedEdges, WhatAFunctionThrowsLeavesTheQueueUsableAndNoMemoryBehind) {
  const Shared<Tensor<float>> x = tensor(1.0f) | share;
  const std::uint64_t used = used_bytes();
  const auto throwing = [] {
    return zip(fill(scratch<float>(1000), 2.0f),
               value(0) | map([](int) -> int { throw std::runtime_error("on purpose"); }));
  };
  const auto thrown_by_the_function = [](Shared<Tensor<float>>) -> decltype(throwing()) {
    throw std::runtime_error("on purpose");
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(sync_wait(record(throwing()), runtime), std::runtime_error);
    EXPECT_THROW(sync_wait(record(thrown_by_the_function, Shape{8}), runtime), std::runtime_error);
    for (int turn = 0; turn < 3; ++turn) run_all();
    EXPECT_EQ(used_bytes(), used);
  }
  auto recorded = sync_wait(record(async::copy(x, tensor(0.0f))), runtime);
  Replayed replayed;
  const Handmade replay = await_into(replayed, recorded.replay() | on(queue(0)));
  run_all();
  EXPECT_THAT(elements(recorded.output<1>()), Each(1.0f));
}

// Order of replays and other trees, on queues that the test steps in the wrong order.
TEST_F(AsyncRecordedEdges, AReplayIsOrderedWithThoseWhoReadOrWriteItsArrays) {
  Tensor<float> target = tensor(0.0f);
  std::optional<Shared<Tensor<float>>> x;
  std::optional<Result<int>> made;
  const Handmade writer = await_into(made, full<float>({8}, 1.0f) | share | map([&](auto&& shared) {
                                             x = shared;
                                             return 0;
                                           }) | on(queue(1)));
  auto recorded = sync_wait(record(async::copy(*x, std::move(target))), runtime);
  Replayed replayed;
  Elements read;
  const Handmade replay = await_into(replayed, recorded.replay() | on(queue(0)));
  const Handmade reader = await_into(read, recorded.to_host<1>() | on(queue(2)));
  run_queue(0);
  run_queue(2);
  EXPECT_FALSE(replay.done()) << "its input is not written yet";
  run_queue(1);
  run_queue(2);
  EXPECT_FALSE(reader.done()) << "the replay has not run yet";
  run_all();
  EXPECT_THAT(read->value(), Each(1.0f));
}

TEST_F(AsyncRecordedEdges, AReplayWaitsForThoseWhoReadWhatItWritesOver) {
  const Shared<Tensor<float>> x = tensor(1.0f) | share;
  auto recorded = sync_wait(record(async::copy(x, tensor(0.0f))), runtime);
  Elements read;
  Replayed replayed;
  const Handmade reader = await_into(read, recorded.to_host<1>() | on(queue(2)));
  const Handmade replay = await_into(replayed, recorded.replay() | on(queue(0)));
  run_queue(0);
  EXPECT_FALSE(replay.done()) << "one read is in flight";
  run_all();
  EXPECT_THAT(read->value(), Each(0.0f));
  EXPECT_THAT(elements(recorded.output<1>()), Each(1.0f));
}

TEST_F(AsyncRecordedEdges, ReplaysRunInTheOrderOfTheirSubmission) {
  auto recorded = sync_wait(record(fill(tensor(0.0f), 1.0f)), runtime);
  Replayed replayed[2];
  const Handmade first = await_into(replayed[0], recorded.replay() | on(queue(1)));
  const Handmade second = await_into(replayed[1], recorded.replay() | on(queue(0)));
  run_queue(0);
  EXPECT_FALSE(second.done()) << "the first has not run yet";
  run_queue(1);
  run_queue(0);
  EXPECT_TRUE(first.done() && second.done());
}

}  // namespace
}  // namespace halyard::async
