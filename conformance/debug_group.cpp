// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Debug groups: names for the parts of a recording, without effect on its results.
#include "conformance/bytes.h"
#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace debug_group {
namespace {

using hal::Buffer;
using hal::CommandBuffer;
using hal::Recorder;

constexpr StatusCode kFailedPrecondition = StatusCode::kFailedPrecondition;

void commands_in_groups_run_as_without_them(Context& t) {
  const ByteVector data = ramp(1000);
  const Buffer from = t.buffer(1000);
  const Buffer to = t.buffer(1000);
  Recording recording(t);
  recording->begin_debug_group("all").begin_debug_group("upload");
  recording->update(recording.ref(from), data).barrier();
  recording->end_debug_group().begin_debug_group("move");
  recording->copy(recording.whole(from), recording.whole(to)).barrier();
  recording->end_debug_group();
  recording->fill(recording.ref(from), 0x11, 1).end_debug_group();
  recording.run();
  VERIFY(contents(to) == data);
  VERIFY(contents(from) == ByteVector(1000, std::byte{0x11}));
}

void group_may_span_a_dispatch(Context& t) {
  const Buffer x = t.buffer(400);
  Recording recording(t);
  recording->begin_debug_group("twice");
  for (int i = 0; i < 2; ++i) {
    recording->begin_debug_group("step");
    recording->dispatch(t.kernel("increment"), {.items = {100}}, {recording.ref(x)},
                        {std::uint32_t{100}});
    recording->barrier().end_debug_group();
  }
  recording->end_debug_group();
  recording.run();
  const hal::Mapping y = x.map().value();
  for (const std::uint32_t value : y.as<std::uint32_t>()) VERIFY_EQ(value, 2u);
}

void groups_are_no_commands(Context& t) {
  Recorder recorder(t.device());
  recorder.begin_debug_group("outer").barrier().begin_debug_group("inner").end_debug_group();
  recorder.end_debug_group();
  VERIFY_EQ(recorder.finish().value().command_count(), 1u);
}

void empty_groups_make_an_empty_recording(Context& t) {
  Recorder recorder(t.device());
  recorder.begin_debug_group("").end_debug_group().begin_debug_group({}).end_debug_group();
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_EQ(commands.command_count(), 0u);
  VERIFY_OK(t.compute().execute_and_wait(commands, {}, kWatchdog));
  VERIFY_OK(t.copy_queue().execute_and_wait(commands, {}, kWatchdog));
}

void groups_may_have_any_name_and_nest_deeply(Context& t) {
  const Buffer buffer = t.buffer(8);
  Recorder recorder(t.device());
  recorder.begin_debug_group(std::string(1 << 20, 'x'));
  recorder.begin_debug_group(std::string_view("a\0b{}%s\n", 9));
  for (int i = 0; i < 1000; ++i) recorder.begin_debug_group(std::to_string(i));
  recorder.fill(buffer, 0x22, 1);
  for (int i = 0; i < 1002; ++i) recorder.end_debug_group();
  VERIFY_OK(t.compute().execute_and_wait(recorder.finish().value(), {}, kWatchdog));
  VERIFY(contents(buffer) == ByteVector(8, std::byte{0x22}));
}

void name_is_taken_at_once(Context& t) {
  Recorder recorder(t.device());
  std::string name = "before";
  recorder.begin_debug_group(name);
  name.assign("after!");
  const Status status = recorder.fill(Buffer(), 0).finish().status();
  VERIFY_CODE(status, StatusCode::kInvalidArgument);
  VERIFY(status.message().find("before") != std::string_view::npos);
}

void open_group_fails_the_finish(Context& t) {
  VERIFY_CODE(Recorder(t.device()).begin_debug_group("open").finish(), kFailedPrecondition);
  Recorder nested(t.device());
  nested.begin_debug_group("outer").begin_debug_group("inner").barrier().end_debug_group();
  VERIFY_CODE(nested.finish(), kFailedPrecondition);
}

void end_without_a_begin_fails_the_finish(Context& t) {
  VERIFY_CODE(Recorder(t.device()).end_debug_group().finish(), kFailedPrecondition);
  Recorder later(t.device());
  later.begin_debug_group("once").end_debug_group().barrier().end_debug_group();
  VERIFY_CODE(later.finish(), kFailedPrecondition);
  // A later begin does not help: the first error sticks.
  Recorder late_begin(t.device());
  late_begin.end_debug_group().begin_debug_group("late");
  VERIFY_CODE(late_begin.finish(), kFailedPrecondition);
}

void finished_recorder_ignores_groups(Context& t) {
  Recorder recorder(t.device());
  VERIFY_OK(recorder.finish());
  VERIFY_CODE(recorder.begin_debug_group("late").end_debug_group().end_debug_group().finish(),
              kFailedPrecondition);
}

#define CASE(name) {"debug_group", #name, name}
#define CASE_BY_EVERY_BINDING(name) {"debug_group", #name, name, Vary::kBindings}
constexpr Case kCases[] = {
    CASE_BY_EVERY_BINDING(commands_in_groups_run_as_without_them),
    CASE_BY_EVERY_BINDING(group_may_span_a_dispatch),
    CASE(groups_are_no_commands),
    CASE(empty_groups_make_an_empty_recording),
    CASE(groups_may_have_any_name_and_nest_deeply),
    CASE(name_is_taken_at_once),
    CASE(open_group_fails_the_finish),
    CASE(end_without_a_begin_fails_the_finish),
    CASE(finished_recorder_ignores_groups),
};
#undef CASE
#undef CASE_BY_EVERY_BINDING

}  // namespace
}  // namespace debug_group

std::span<const Case> debug_group_cases() noexcept { return debug_group::kCases; }

}  // namespace halyard::inline v0::conformance
