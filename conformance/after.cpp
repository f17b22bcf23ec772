// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recorder::after: recordings that are graphs.
#include <algorithm>
#include <vector>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace after {
namespace {

using hal::Buffer;
using hal::CommandId;
using hal::Event;

void command_sees_what_those_it_follows_wrote(Context& t) {
  const Buffer a = t.buffer(4), b = t.buffer(4), out = t.buffer(8);
  Recording recording(t);
  const CommandId left = recording->fill(recording.whole(a), 0x11, 1).last();
  const CommandId right = recording->fill(recording.whole(b), 0x22, 1).last();
  recording->after({left}).copy(recording.whole(a), recording.ref(out, 0, 4));
  recording->after({right}).copy(recording.whole(b), recording.ref(out, 4, 4));
  recording.run();
  const hal::Mapping y = out.map().value();
  VERIFY_EQ(y.as<std::uint32_t>()[0], 0x11111111u);
  VERIFY_EQ(y.as<std::uint32_t>()[1], 0x22222222u);
}

void chain_of_after_runs_in_its_order(Context& t) {
  constexpr std::uint32_t kLinks = 200;
  const Buffer x = t.buffer(4 * (kLinks + 1));
  Recording recording(t);
  CommandId last = recording->fill(recording.ref(x, 0, 4), 77).last();
  for (std::uint32_t i = 0; i < kLinks; ++i) {
    recording->after({last}).copy(recording.ref(x, 4 * i, 4), recording.ref(x, 4 * i + 4, 4));
    last = recording->last();
  }
  recording.run();
  VERIFY_EQ(x.map().value().as<std::uint32_t>()[kLinks], 77u);
}

// Node (i, j) adds the counts of its two neighbours: Pascal's triangle, modulo 2^32.
void wavefront_of_kernels_counts_ways(Context& t) {
  constexpr std::uint32_t kSide = 24;
  std::vector<std::uint32_t> start((kSide + 1) * (kSide + 1));
  for (std::uint32_t i = 0; i <= kSide; ++i) start[i] = start[i * (kSide + 1)] = 1;
  const auto at = [](std::uint32_t i, std::uint32_t j) { return i * (kSide + 1) + j; };
  std::vector<std::uint32_t> expected = start;
  for (std::uint32_t i = 1; i <= kSide; ++i) {
    for (std::uint32_t j = 1; j <= kSide; ++j) {
      expected[at(i, j)] = expected[at(i - 1, j)] + expected[at(i, j - 1)];
    }
  }
  const Buffer x = t.buffer_of<std::uint32_t>(start);
  Recording recording(t);
  const auto cell = [&](std::uint32_t i, std::uint32_t j) {
    return recording.ref(x, 4 * at(i, j), 4);
  };
  std::vector<CommandId> nodes(start.size());
  for (std::uint32_t i = 1; i <= kSide; ++i) {
    for (std::uint32_t j = 1; j <= kSide; ++j) {
      std::vector<CommandId> before;
      if (i > 1) before.push_back(nodes[at(i - 1, j)]);
      if (j > 1) before.push_back(nodes[at(i, j - 1)]);
      recording->after(before).dispatch(t.kernel("sum_of_two"), {.groups = 1},
                                        {cell(i - 1, j), cell(i, j - 1), cell(i, j)});
      nodes[at(i, j)] = recording->last();
    }
  }
  const hal::CommandBuffer commands = recording.finish();
  for (int run = 0; run < 5; ++run) {
    std::ranges::copy(start, x.map().value().as<std::uint32_t>().begin());
    VERIFY_OK(t.compute().execute_and_wait(commands, {.bindings = recording.table()}, kWatchdog));
    VERIFY(std::ranges::equal(x.map().value().as<std::uint32_t>(), expected));
  }
}

// Commands of many groups and bytes, which a driver may split, in two branches that join.
void large_commands_of_branches_meet_in_one_that_follows_both(Context& t) {
  constexpr std::uint32_t kWords = 500'000;
  const Buffer a = t.buffer(4 * kWords), b = t.buffer(4 * kWords), out = t.buffer(8 * kWords);
  Recording recording(t);
  const auto branch = [&](const Buffer& x, std::uint32_t from, int increments) {
    CommandId last = recording->fill(recording.whole(x), from).last();
    for (int i = 0; i < increments; ++i) {
      recording->after({last}).dispatch(t.kernel("increment"), {.items = kWords},
                                        {recording.whole(x)}, {kWords});
      last = recording->last();
    }
    return last;
  };
  const CommandId left = branch(a, 100, 3), right = branch(b, 200, 5);
  const CommandId joined = recording->after({left, right}).fill(recording.whole(out), 0).last();
  recording->after({joined}).copy(recording.whole(a), recording.ref(out, 0, 4 * kWords));
  recording->after({joined}).copy(recording.whole(b), recording.ref(out, 4 * kWords, 4 * kWords));
  recording.run();
  const hal::Mapping y = out.map().value();
  for (std::uint32_t i = 0; i < kWords; ++i) VERIFY_EQ(y.as<std::uint32_t>()[i], 103u);
  for (std::uint32_t i = 0; i < kWords; ++i) VERIFY_EQ(y.as<std::uint32_t>()[kWords + i], 205u);
}

void commands_between_barriers_stay_between_them(Context& t) {
  constexpr std::uint32_t kWidth = 50, kStages = 20;
  const Buffer x = t.buffer(4 * kWidth * (kStages + 1));
  const auto cell = [&](Recording& recording, std::uint32_t stage, std::uint32_t i) {
    return recording.ref(x, 4 * (stage * kWidth + i % kWidth), 4);
  };
  Recording recording(t);
  for (std::uint32_t i = 0; i < kWidth; ++i) recording->fill(cell(recording, 0, i), i);
  for (std::uint32_t stage = 0; stage < kStages; ++stage) {
    recording->barrier();
    for (std::uint32_t i = 0; i < kWidth; ++i) {
      recording->copy(cell(recording, stage, i + 1), cell(recording, stage + 1, i));
    }
  }
  recording.run();
  const hal::Mapping y = x.map().value();
  for (std::uint32_t i = 0; i < kWidth; ++i) {
    VERIFY_EQ(y.as<std::uint32_t>()[kStages * kWidth + i], (i + kStages) % kWidth);
  }
}

void one_graph_runs_on_all_queues_at_once(Context& t) {
  constexpr std::uint32_t kFills = 300;
  const Buffer a = t.buffer(4 * kFills), b = t.buffer(4 * kFills);
  hal::Recorder recorder(t.device());
  for (std::uint32_t i = 0; i < kFills; ++i) recorder.fill(hal::slot(0, 4 * i, 4), i);
  const hal::CommandBuffer commands = recorder.finish().value();
  const hal::Semaphore done = t.semaphore(), also = t.semaphore();
  for (std::uint64_t run = 1; run <= 30; ++run) {
    VERIFY_OK(t.compute().execute(
        commands, {.bindings = {a}, .wait = {{done, run - 1}}, .signal = {{done, run}}}));
    VERIFY_OK(t.copy_queue().execute(
        commands, {.bindings = {b}, .wait = {{also, run - 1}}, .signal = {{also, run}}}));
  }
  VERIFY_OK(done.wait(30, kWatchdog));
  VERIFY_OK(also.wait(30, kWatchdog));
  for (const Buffer& buffer : {a, b}) {
    const hal::Mapping y = buffer.map().value();
    for (std::uint32_t i = 0; i < kFills; ++i) VERIFY_EQ(y.as<std::uint32_t>()[i], i);
  }
}

void command_of_another_recording_cannot_be_followed(Context& t) {
  const Buffer x = t.buffer(4);
  hal::Recorder first(t.device()), second(t.device());
  const CommandId foreign = first.fill(x, 1).last();
  VERIFY_CODE(second.after({foreign}).fill(x, 2).finish(), StatusCode::kInvalidArgument);
  VERIFY_CODE(first.after({CommandId()}).fill(x, 2).finish(), StatusCode::kInvalidArgument);
}

void after_without_a_command_fails_the_finish(Context& t) {
  const Buffer x = t.buffer(4);
  hal::Recorder recorder(t.device()), barrier(t.device());
  const CommandId id = recorder.fill(x, 1).last();
  VERIFY_CODE(recorder.after({id}).finish(), StatusCode::kFailedPrecondition);
  const CommandId other = barrier.fill(x, 1).last();
  VERIFY_CODE(barrier.after({other}).barrier().finish(), StatusCode::kFailedPrecondition);
}

#define CASE(name) \
  Case { "after", #name, name }
#define CASE_BY_EVERY_BINDING(name) \
  Case { "after", #name, name, Vary::kBindings }
#define CASE_IN_EVERY_WAY(name) {"after", #name, name, Vary::kQueueKinds | Vary::kBindings}
constexpr Case kCases[] = {
    CASE_IN_EVERY_WAY(command_sees_what_those_it_follows_wrote),
    CASE_IN_EVERY_WAY(chain_of_after_runs_in_its_order),
    CASE_BY_EVERY_BINDING(wavefront_of_kernels_counts_ways),
    CASE_BY_EVERY_BINDING(large_commands_of_branches_meet_in_one_that_follows_both),
    CASE_IN_EVERY_WAY(commands_between_barriers_stay_between_them),
    CASE(one_graph_runs_on_all_queues_at_once),
    CASE(command_of_another_recording_cannot_be_followed),
    CASE(after_without_a_command_fails_the_finish),
};
#undef CASE
#undef CASE_BY_EVERY_BINDING
#undef CASE_IN_EVERY_WAY

}  // namespace
}  // namespace after

std::span<const Case> after_cases() noexcept { return after::kCases; }

}  // namespace halyard::inline v0::conformance
