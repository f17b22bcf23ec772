// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constant slots: the numbers that each submission of a recording brings.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace constant_slot {
namespace {

using hal::Buffer;
using hal::CommandBuffer;
using hal::Recorder;
using hal::Semaphore;
using hal::slot;

void slots_take_the_numbers_of_each_submission(Context& t) {
  const Buffer y = t.buffer(4);
  Recording recording(t);
  recording->dispatch(t.kernel("constants"), {.groups = {1}}, {recording.ref(y)},
                      {hal::constant_slot(0), std::int32_t{20}, hal::constant_slot(1)});
  const CommandBuffer commands = recording.finish();
  VERIFY_EQ(commands.constant_slot_count(), 2u);
  for (std::uint32_t i = 0; i < 6; ++i) {
    VERIFY_OK(t.compute().execute_and_wait(
        commands, {.bindings = recording.table(), .constants = {100.5f * i, i}}, kWatchdog));
    const auto whole = static_cast<std::uint32_t>(100.5f * i);
    VERIFY_EQ(y.map().value().as<std::uint32_t>()[0], whole + 20 + i);
  }
}

// All are submitted before the first may run.
void every_submission_in_flight_has_its_own_numbers(Context& t) {
  constexpr std::uint32_t kCount = 20;
  const hal::Function function = t.kernel("constants");
  Recorder recorder(t.device());
  recorder.dispatch(function, {.groups = {1}}, {slot(0, 0, 4)},
                    {hal::constant_slot(0), std::int32_t{1}, std::uint32_t{2}});
  recorder.dispatch(function, {.groups = {1}}, {slot(0, 4, 4)},
                    {1.0f, hal::constant_slot(1), std::uint32_t{3}});
  const CommandBuffer commands = recorder.finish().value();
  const Semaphore s = t.semaphore();
  std::vector<Buffer> results;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    results.push_back(t.buffer(8));
    VERIFY_OK(t.compute().execute(
        commands, {.bindings = {results[i]},
                   .constants = {static_cast<float>(i), -static_cast<std::int32_t>(i)},
                   .wait = {{s, i + 1}},
                   .signal = {{s, i + 2}}}));
  }
  VERIFY_OK(s.signal(1));
  VERIFY_OK(s.wait(kCount + 1, kWatchdog));
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const auto words = results[i].map().value();
    VERIFY_EQ(words.as<std::int32_t>()[0], static_cast<std::int32_t>(i) + 3);
    VERIFY_EQ(words.as<std::int32_t>()[1], 4 - static_cast<std::int32_t>(i));
  }
}

void one_slot_serves_several_dispatches(Context& t) {
  const hal::Function function = t.kernel("scale_and_offset");
  const Buffer x = t.buffer(400), y = t.buffer(400);
  Recording recording(t);
  recording->fill(recording.ref(x), 3).barrier();
  recording->dispatch(function, {.items = {100}}, {recording.ref(x), recording.ref(y)},
                      {hal::constant_slot(0), hal::constant_slot(3), std::uint32_t{100}});
  recording->barrier();
  recording->dispatch(function, {.items = {100}}, {recording.ref(y), recording.ref(x)},
                      {hal::constant_slot(0), hal::constant_slot(0), std::uint32_t{100}});
  const CommandBuffer commands = recording.finish();
  VERIFY_EQ(commands.constant_slot_count(), 4u);
  for (const std::int32_t scale : {2, 5, -1, 7}) {
    VERIFY_OK(t.compute().execute_and_wait(
        commands, {.bindings = recording.table(), .constants = {scale, {}, 1.0f, 10 * scale}},
        kWatchdog));
    const auto words = x.map().value();
    const std::int32_t expected = (3 * scale + 10 * scale) * scale + scale;
    VERIFY(std::ranges::all_of(words.as<std::int32_t>(), [&](auto w) { return w == expected; }));
  }
}

void slots_are_checked(Context& t) {
  const hal::Function function = t.kernel("constants");
  const Buffer y = t.buffer(4);
  const auto recorded = [&](const hal::Constant& a, const hal::Constant& b) {
    Recorder recorder(t.device());
    recorder.dispatch(function, {.groups = {1}}, {y}, {a, b, std::uint32_t{1}});
    return recorder.finish();
  };
  const auto s = hal::constant_slot;
  VERIFY_CODE(recorded(s(0), s(0)).status(), StatusCode::kInvalidArgument);
  VERIFY_CODE(recorded(s(hal::kMaxSlots), 1).status(), StatusCode::kOutOfRange);
  const CommandBuffer commands = recorded(s(0), 1).value();
  const auto execute = [&](hal::View<hal::Constant> constants) {
    return t.compute().execute_and_wait(commands, {.constants = constants}, kWatchdog);
  };
  VERIFY_CODE(execute({}), StatusCode::kOutOfRange);
  VERIFY_CODE(execute({1}), StatusCode::kInvalidArgument);
  VERIFY_CODE(execute({s(0)}), StatusCode::kInvalidArgument);
  VERIFY_CODE(execute({1.0f, 1.0f}), StatusCode::kInvalidArgument);
  VERIFY_CODE(execute({1.0f, {}}), StatusCode::kInvalidArgument);
  VERIFY_OK(execute({1.0f}));
  VERIFY_CODE(t.compute().dispatch(function, {.groups = {1}}, {y}, {s(0), 1, 1u}, {}),
              StatusCode::kInvalidArgument);
}

#define CASE(name) {"constant_slot", #name, name}
#define CASE_BY_EVERY_BINDING(name) {"constant_slot", #name, name, Vary::kBindings}
constexpr Case kCases[] = {
    CASE_BY_EVERY_BINDING(slots_take_the_numbers_of_each_submission),
    CASE(every_submission_in_flight_has_its_own_numbers),
    CASE_BY_EVERY_BINDING(one_slot_serves_several_dispatches),
    CASE(slots_are_checked),
};
#undef CASE
#undef CASE_BY_EVERY_BINDING

}  // namespace
}  // namespace constant_slot

std::span<const Case> constant_slot_cases() noexcept { return constant_slot::kCases; }

}  // namespace halyard::inline v0::conformance
