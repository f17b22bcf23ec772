// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recordings whose replays take arrays, or whose trees have shared operations.
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "async/stepped_world.h"
#include "halyard/async/number.h"
#include "halyard/async/recorded.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::refused_with;
using testing::saxpy;

using Floats = Shared<Tensor<float>>;

// y += a x
auto add_to(float a, Floats x, auto y) {
  return saxpy(a, std::move(x), std::move(y) | partition(4, 4)) | last | unpartition;
}

class AsyncSlot : public AsyncTest {
 protected:
  Tensor<float> numbers(float value) { return run(full<float>({16, 16}, value)); }
};

TEST_F(AsyncSlot, EachReplayReadsAndWritesWhatItIsGiven) {
  auto recorded =
      run(record([](Floats x, Tensor<float> y) { return add_to(2.0f, x, std::move(y)); },
                 Shape{16, 16}, Shape{16, 16}));
  const Floats one = numbers(1) | share;
  auto [x, y] = run(recorded.replay(one, numbers(10)));
  auto [two, z] = run(recorded.replay(numbers(2), numbers(20)));
  EXPECT_THAT(elements(std::move(y)), Each(12.0f));
  EXPECT_THAT(elements(std::move(z)), Each(24.0f));
  EXPECT_THAT(elements(std::move(two)), Each(2.0f));
}

TEST_F(AsyncSlot, ARecordingIsCalledAsAFunctionForWhatItsTreeGives) {
  auto recorded = run(record(
      [](Floats x) {
        return zip(add(x, x, scratch<float>({16, 16})), 7);
      },
      Shape{16, 16}));
  for (const float value : {1.0f, 2.0f}) {
    auto [sum, number] = run(recorded(full<float>({16, 16}, value)));
    EXPECT_THAT(elements(sum), Each(2 * value));
    EXPECT_EQ(number, 7);
  }
}

TEST_F(AsyncSlot, WhatItsTreeGivesHasTheArraysOfTheReplayForItsParameters) {
  auto recorded = run(record(
      [](Floats x, Number<float> a, Tensor<float> y) {
        return zip(add_to(2.0f, x, std::move(y)), scale(x, a, scratch<float>({16, 16})), x);
      },
      Shape{16, 16}, Shape{16, 16}));
  const Floats one = numbers(1) | share;
  auto [y, scaled, x] = run(recorded(one, 3.0f, numbers(10)));
  EXPECT_THAT(elements(y), Each(12.0f));
  EXPECT_THAT(elements(scaled), Each(3.0f));
  EXPECT_THAT(elements(x), Each(1.0f));
  auto [z, other, two] = run(recorded(numbers(2), 4.0f, numbers(20)));
  EXPECT_THAT(elements(z), Each(24.0f));
  EXPECT_THAT(elements(two), Each(2.0f));
  EXPECT_THAT(elements(y), Each(12.0f)) << "the first replay's";
}

// --- numbers -------------------------------------------------------------------------------------

TEST_F(AsyncSlot, EachReplayHasItsNumbers) {
  auto recorded = run(record(
      [](Floats x, Number<float> a, Tensor<float> y) {
        return saxpy(a, std::move(x), std::move(y) | partition(4, 4)) | last | unpartition;
      },
      Shape{16, 16}, Shape{16, 16}));
  const Floats one = numbers(1) | share;
  auto [x, a, y] = run(recorded.replay(one, 2.0f, numbers(10)));
  EXPECT_EQ(a, 2.0f);
  auto [x2, half, z] = run(recorded.replay(one, 0.5f, numbers(20)));
  EXPECT_THAT(elements(std::move(y)), Each(12.0f));
  EXPECT_THAT(elements(std::move(z)), Each(20.5f));
}

TEST_F(AsyncSlot, ReplaysWithOtherNumbersMayBeInFlightTogether) {
  auto recorded = run(record(
      [](Number<float> a, Floats x, Tensor<float> y) {
        return saxpy(a, std::move(x), std::move(y) | partition(4, 4));
      },
      Shape{16, 16}, Shape{16, 16}));
  const Floats one = numbers(1) | share;
  auto [r, s, t] =
      run(zip(recorded.replay(1.0f, one, zeros<float>({16, 16})) | last,
              recorded.replay(2.0f, one, zeros<float>({16, 16})) | last,
              recorded.replay(3.0f, one, zeros<float>({16, 16})) | last));
  EXPECT_THAT(elements(std::move(r)), Each(1.0f));
  EXPECT_THAT(elements(std::move(s)), Each(2.0f));
  EXPECT_THAT(elements(std::move(t)), Each(3.0f));
}

TEST_F(AsyncSlot, ANumberScalesAndServesSeveralOperations) {
  auto recorded = run(record(
      [](Number<float> a, Number<std::uint32_t> n, Floats x, Shared<Tensor<std::uint32_t>> y) {
        return zip(scale(scale(x, a, scratch<float>(4)), a, scratch<float>(4)),
                   scale(y, n, scratch<std::uint32_t>(4)));
      },
      Shape{4}, Shape{4}));
  const auto x = run(full<float>(4, 3.0f) | share);
  const auto y = run(full<std::uint32_t>(4, 5) | share);
  for (const std::uint32_t by : {2u, 7u}) {
    run(recorded.replay(static_cast<float>(by), by, x, y));
    EXPECT_THAT(run(recorded.to_host<0>()), Each(3.0f * by * by));
    EXPECT_THAT(run(recorded.to_host<1>()), Each(5u * by));
  }
}

TEST_F(AsyncSlot, Number_ThatTheFunctionDoesNotUse_MayBeGiven) {
  auto recorded = run(record(
      [](Floats x, Number<float> a, Number<float>) { return scale(x, a, scratch<float>(4)); },
      Shape{4}));
  run(recorded.replay(run(full<float>(4, 3.0f) | share), 2.0f, 5.0f));
  EXPECT_THAT(run(recorded.to_host()), Each(6.0f));
}

TEST_F(AsyncSlot, ANumberIsOfNoUseOutsideOfItsRecording) {
  std::optional<Number<float>> kept;
  auto recorded = run(record(
      [&](Number<float> a, Floats x) {
        kept = a;
        return scale(x, a, scratch<float>(4));
      },
      Shape{4}));
  const auto x = run(full<float>(4, 3.0f) | share);
  const std::string text = ": a Number of a function that was recorded, outside of that recording";
  EXPECT_THAT(failure(scale(x, *kept)), refused_with(StatusCode::kInvalidArgument, "scale" + text));
  EXPECT_THAT(failure(record(
                  [&](Floats y) { return scale(y, *kept, scratch<float>(4)); }, Shape{4})),
              refused_with(StatusCode::kInvalidArgument, "scale" + text));
  EXPECT_THAT(failure(saxpy(*kept, numbers(1) | share, numbers(1) | partition(4, 4))),
              refused_with(StatusCode::kInvalidArgument, "saxpy_tile" + text));
}

TEST_F(AsyncSlot, AReplayTakesWhatOperationsGive) {
  auto recorded = run(record([](Tensor<float> y) { return fill(std::move(y), 3.0f); }, Shape{5}));
  auto [y] = run(recorded.replay(zeros<float>(5)));
  EXPECT_THAT(elements(std::move(y)), Each(3.0f));
}

TEST_F(AsyncSlot, PartsOfAnArgumentAreThoseOfWhatIsGiven) {
  auto recorded =
      run(record([](Floats x) { return copy(x.rows(1, 2).reshape(4), scratch<float>(4)) | last; },
                 Shape{3, 2}));
  const Floats numbers = run(from_host<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {5, 2}) | share);
  run(recorded.replay(numbers.rows(1, 3)));
  EXPECT_THAT(run(recorded.to_host()), ElementsAre(4, 5, 6, 7));
  run(recorded.replay(numbers.rows(2, 3)));
  EXPECT_THAT(run(recorded.to_host()), ElementsAre(6, 7, 8, 9));
}

TEST_F(AsyncSlot, AnOutputHoldsWhatTheReplaysBeforeItsUseMadeOfIt) {
  auto recorded = run(record([&](Floats x) { return add_to(1.0f, x, numbers(0)); }, Shape{16, 16}));
  const Floats sum = recorded.output();
  for (const float expected : {1.0f, 2.0f, 3.0f}) {
    auto [x, read] = run(zip(recorded.replay(numbers(1)) | last, to_host(sum)));
    EXPECT_THAT(read, Each(expected));
  }
}

TEST_F(AsyncSlot, WhatIsTakenHasOneOwnerThoughTheEmptyRecordingIsThere) {
  auto recorded = run(record(fill(numbers(1), 2.0f)));
  run(recorded.replay());
  Floats taken = std::move(recorded).take() | share;
  EXPECT_TRUE(std::move(taken).try_unwrap().has_value());
}

TEST_F(AsyncSlot, ScratchIsThereOnceForAllReplays) {
  auto recorded = run(record(
      [](Floats x) {
        return add_to(1.0f, x, fill(scratch<float>({16, 16}), 0.0f));
      },
      Shape{16, 16}));
  const Floats sum = recorded.output();
  for (int i = 0; i < 3; ++i) {
    run(recorded.replay(numbers(2)));
    EXPECT_THAT(elements(sum), Each(2.0f));
  }
}

TEST_F(AsyncSlot, ScratchOutsideOfARecordingIsATensorOfItsOwn) {
  EXPECT_THAT(elements(fill(scratch<float>(4), 1.0f)), Each(1.0f));
}

TEST_F(AsyncSlot, ArgumentsOfAnotherShapeOrDeviceAreRefusedInWords) {
  auto recorded = run(record([](Floats x) { return copy(x, scratch<float>(4)); }, Shape{2, 2}));
  EXPECT_THAT(failure(recorded.replay(zeros<float>(4))),
              refused_with(StatusCode::kInvalidArgument, "argument 0 is 4; 2 x 2 was recorded"));
  auto with_number = run(record(
      [](Number<float> a, Floats x, Tensor<float> y) {
        return saxpy(a, std::move(x), std::move(y) | partition(4, 4)) | last;
      },
      Shape{16, 16}, Shape{16, 16}));
  EXPECT_THAT(failure(with_number.replay(1.0f, numbers(1), zeros<float>(4))),
              refused_with(StatusCode::kInvalidArgument, "argument 2 is 4; 16 x 16 was recorded"));
  EXPECT_THAT(failure(recorded.replay(zeros<float>({2, 2}) | copy_to(runtime.device(1)))),
              refused_with(StatusCode::kInvalidArgument, "a tensor of another device"));
  Floats moved = run(zeros<float>({2, 2}) | share);
  (void)Floats(std::move(moved));
  EXPECT_THAT(failure(recorded.replay(moved)),
              refused_with(StatusCode::kInvalidArgument, "a tensor that was moved from"));
}

TEST_F(AsyncSlot, MemoryThatTheRecordingWritesIsNoArgumentOfIt) {
  auto recorded = run(record([](Floats x) { return copy(x, scratch<float>(4)) | last; }, Shape{4}));
  EXPECT_THAT(failure(recorded.replay(recorded.output())),
              refused_with(StatusCode::kInvalidArgument,
                           "argument 0 is memory that the recording already uses"));
}

TEST_F(AsyncSlot, MemoryThatTheRecordingReadsMayBeReadAsItsArgumentToo) {
  const Floats x = numbers(3) | share;
  auto recorded = run(record(
      [&](Floats also) {
        return zip(copy(x, scratch<float>({16, 16})), copy(also, scratch<float>({16, 16})));
      },
      Shape{16, 16}));
  EXPECT_TRUE(run(as_result(recorded.replay(x))).ok());
}

TEST_F(AsyncSlot, WhatStandsForAnArgumentIsOfNoUseOutside) {
  std::optional<Floats> leaked;
  auto recorded = run(record(
      [&](Floats x) {
        leaked = x;
        return copy(x, scratch<float>(4));
      },
      Shape{4}));
  for (const Status& status :
       {failure(to_host(*leaked)), failure(add(*leaked, *leaked)),
        failure(recorded.replay(*leaked)), failure(record(copy(*leaked, scratch<float>(4))))}) {
    EXPECT_THAT(status, refused_with(StatusCode::kInvalidArgument, "outside of that recording"));
  }
}

TEST_F(AsyncSlot, AFaultOfTheTreeIsToldByTheAwaitOfItsRecording) {
  EXPECT_THAT(failure(record([](Floats x) { return copy(x, scratch<float>(3)); }, Shape{4})),
              refused_with(StatusCode::kInvalidArgument, ""));
  EXPECT_THAT(failure(record([](Floats x) { return copy(x, scratch<float>(4)); },
                             Shape{std::uint64_t{1} << 63, 2})),
              refused_with(StatusCode::kOutOfRange, "2^64 bytes"));
}

// --- Operations that run once -------------------------------------------------------------------

TEST_F(AsyncSlot, ASharedOperationIsRecordedOnce) {
  int made = 0;
  const auto tree = [&] {
    auto shared = fill(scratch<float>(4), 5.0f) | inspect([&](const auto&) { ++made; }) | share;
    static_assert(Recordable<decltype(shared)>);
    return zip(copy(shared, scratch<float>(4)), copy(shared, scratch<float>(4)));
  };
  auto recorded = run(record(tree()));
  EXPECT_EQ(made, 1);
  run(recorded.replay());
  auto [left, right] = std::move(recorded).take();
  EXPECT_EQ(std::get<0>(left).storage(), std::get<0>(right).storage());
  EXPECT_THAT(elements(std::get<1>(std::move(left))), Each(5.0f));
  EXPECT_THAT(elements(std::get<1>(std::move(right))), Each(5.0f));
}

TEST_F(AsyncSlot, PartsOfATupleAreRecorded) {
  auto [x, y] = unzip(copy(fill(scratch<float>(4), 5.0f), scratch<float>(4)));
  auto recorded = run(record(zip(copy(std::move(y), scratch<float>(4)), std::move(x))));
  run(recorded.replay());
  EXPECT_THAT(run(recorded.to_host<1>()), Each(5.0f));
  EXPECT_THAT(elements(std::get<1>(std::move(std::get<0>(std::move(recorded).take())))),
              Each(5.0f));
}

TEST_F(AsyncSlot, WhatWasRecordedIsPartOfThatRecordingAndOfNothingElse) {
  auto shared = fill(scratch<float>(4), 5.0f) | share;
  auto recorded = run(record(value(0) | and_then([&](int) { return zip(shared, 1); })));
  for (const Status& status : {failure(to_host(shared)), failure(record(zip(shared, 1)))}) {
    EXPECT_THAT(status, refused_with(StatusCode::kFailedPrecondition, "part of a recording"));
  }
}

TEST_F(AsyncSlot, WhatHasRunIsRecordedAsTheValueThatItGave) {
  auto shared = full<float>(4, 5.0f) | share;
  static_assert(!Recordable<decltype(shared)>);
  auto filled = fill(scratch<float>(4), 5.0f) | share;
  const Floats tensor = run(auto(filled));
  auto recorded = run(record(copy(filled, scratch<float>(4))));
  EXPECT_EQ(std::get<0>(recorded.value()).storage(), tensor.storage());
  run(recorded.replay());
  EXPECT_THAT(run(recorded.to_host<1>()), Each(5.0f));
}

class AsyncSlotEdges : public testing::SteppedTest {};

TEST_F(AsyncSlotEdges, BranchesMeetAndPartAgain) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
  control->on_prepare = [&](const hal::RecordedCommands& recording) {
    for (const hal::CommandEdge& edge : recording.edges) edges.insert({edge.before, edge.after});
  };
  // 0: shared = x   1: left = shared   2: right = shared   3: x's other reader   4: y = left
  auto operation = record(
      [](Floats x, Tensor<float> y) {
        auto shared = async::copy(x, scratch<float>(8)) | last | share;
        auto left = async::copy(shared, scratch<float>(8)) | last;
        auto right = async::copy(shared, scratch<float>(8));
        auto other = async::copy(x, scratch<float>(8));
        return zip(std::move(left), std::move(right), std::move(other), std::move(y)) |
               apply([](auto l, auto r, auto o, auto to) {
                 return zip(async::copy(std::move(l), std::move(to)), std::move(r), std::move(o));
               });
      },
      Shape{8}, Shape{8});
  std::optional<Result<decltype(operation)::Output>> recorded;
  const auto coroutine = testing::await_into(recorded, std::move(operation) | on(runtime.device()));
  run_all();
  EXPECT_TRUE(recorded->ok());
  using Edges = std::set<std::pair<std::uint32_t, std::uint32_t>>;
  EXPECT_EQ(edges, (Edges{{0, 1}, {0, 2}, {1, 4}}));
}

TEST_F(AsyncSlotEdges, AReplayWaitsForWhatItIsGivenAndIsWaitedForByWhoReadsIt) {
  const auto at = [&](std::size_t index) { return runtime.device().queue(index); };
  const auto copy_of = [](Floats x, Tensor<float> y) { return async::copy(x, std::move(y)); };
  auto operation = record(copy_of, Shape{8}, Shape{8});
  std::optional<Result<decltype(operation)::Output>> recorded;
  const auto recording = testing::await_into(recorded, std::move(operation) | on(at(0)));
  run_all();
  auto x = fill(tensor(0.0f), 1.0f) | share | on(at(2));
  auto [given, y] = unzip(recorded->value().replay(std::move(x), tensor(0.0f)) | on(at(1)));
  std::optional<Result<std::vector<float>>> read;
  const auto reader = testing::await_into(read, to_host(std::move(y)) | on(at(0)));
  for (const std::size_t against_the_data : {0, 1, 2}) run_queue(against_the_data);
  run_all();
  EXPECT_THAT(read->value(), Each(1.0f));
}

}  // namespace
}  // namespace halyard::async
