// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations explores each order of submissions exactly once and finds the errors of each.
#include "simulation/operations/operations.h"

#include <gtest/gtest.h>

namespace halyard::sim {
namespace {

constexpr Operation kNothing{};
constexpr Operation kSignal{.signal = {1, 0}};
constexpr Operation kWait{.wait = {1, 0}};

std::uint64_t states(const OperationProgram& program, const OperationOptions& options) {
  OperationResult result;
  explore_operations(program, options, result);
  EXPECT_EQ(result.programs, 1u);
  return result.states;
}

// The states: not submitted, issued, run, and seen complete.
TEST(Operations, OneHasAStateForEachStep) {
  const OperationProgram one{.queues = {{{kSignal}}}};
  EXPECT_EQ(states(one, {.looks = true}), 4u);
  EXPECT_EQ(states(one, {.looks = false}), 3u);
}

TEST(Operations, OfTwoQueuesAreSeenInAllPairsOfTheirStates) {
  const OperationProgram two{.queues = {{{kNothing}, {kNothing}}}};
  EXPECT_EQ(states(two, {.looks = false}), 9u);
}

// While the signal is not submitted, the wait is absent or parked. Once the signal is submitted,
// the wait is issued with an edge. After the signal has run, the wait may instead have been issued
// later, without an edge, and may have run.
TEST(Operations, ThatWaitDoNotRunFirst) {
  const OperationProgram two{.queues = {{{kSignal}, {kWait}}}};
  EXPECT_EQ(states(two, {.looks = false}), 2u + 2u + 5u);
}

TEST(Operations, ThatRunBeforeTheirWaitsAreFound) {
  const OperationProgram two{.queues = {{{kSignal}, {kWait}}}};
  EXPECT_EXIT(states(two, {.ignores_waits = true}), ::testing::ExitedWithCode(1),
              "runs before what it waits for(.|\n)*submit 0, submit 1, run 1");
}

// The submission is absent or parked: its second wait is never reached.
TEST(Operations, WaitForBothSemaphores) {
  const OperationProgram one{.queues = {{{kSignal}, {{.wait = {1, 1}}}}}};
  const OperationProgram ran{.queues = {{{{.signal = {1, 1}}}, {{.wait = {1, 1}}}}}};
  EXPECT_EQ(states(one, {.looks = false}), 3u * 2u);
  EXPECT_EQ(states(ran, {.looks = false}), 2u + 2u + 5u);
}

// 5 waits and 5 signals, without the 6 pairs that wait for their own signal. All except the empty
// pair exist twice.
TEST(Operations, ThatDifferOnlyInNumbersAreExploredOnce) {
  EXPECT_EQ(all_programs(1, false).size(), 10u);
}

// For each semaphore, 6 of the 9 pairs of a wait and a signal are valid; 6 of the 36 combinations
// are equal for both.
TEST(Operations, OfBothSemaphoresAreAllPairsOfThoseOfOne) {
  EXPECT_EQ(all_programs(1, true).size(), (36u + 6u) / 2u);
}

TEST(Operations, ThatAreDrawnWaitForAndSignalNoneOneAndBoth) {
  int waits[3] = {}, signals[3] = {};
  for (const OperationProgram& program : drawn_programs(1, 10, 3, 4)) {
    for (const auto& queue : program.queues) {
      EXPECT_EQ(queue.size(), 4u);
      for (const Operation& each : queue) {
        ++waits[(each.wait[0] != 0) + (each.wait[1] != 0)];
        ++signals[(each.signal[0] != 0) + (each.signal[1] != 0)];
      }
    }
  }
  for (const int count : waits) EXPECT_GT(count, 10);
  for (const int count : signals) EXPECT_GT(count, 10);
}

}  // namespace
}  // namespace halyard::sim
