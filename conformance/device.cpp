// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices: discovery, opening, description, closing.
#include <algorithm>
#include <atomic>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace device {
namespace {

using hal::Buffer;
using hal::Device;
using hal::QueueKind;
using hal::Semaphore;

std::uint32_t word(const Buffer& buffer) { return buffer.map().value().as<std::uint32_t>()[0]; }

void device_describes_itself(Context& t) {
  const hal::DeviceInfo& info = t.device().info();
  VERIFY(!info.name.empty());
  VERIFY(!info.targets.empty());
  VERIFY(info.memory_size > 0);
  VERIFY(info.workers > 0);
  VERIFY(info.uri.starts_with(info.driver + "://"));
}

void limits_leave_room_for_the_kernels_of_this_suite(Context& t) {
  const hal::DeviceLimits& limits = t.device().info().limits;
  VERIFY(limits.max_buffer_size >= 1 << 30);
  for (const std::uint32_t most : limits.max_groups) VERIFY(most >= 65535);
  VERIFY(limits.max_workgroup_items >= 128);
  VERIFY(limits.max_shared_bytes >= 16 * 1024);
  VERIFY(limits.max_bindings >= 9);
  VERIFY(limits.max_constants_bytes >= 128);
  VERIFY(limits.max_in_flight >= 1);
  VERIFY(limits.max_backlog >= 1);
}

void buffer_beyond_its_limit_is_resource_exhausted(Context& t) {
  const std::uint64_t most = t.device().info().limits.max_buffer_size;
  VERIFY_CODE(t.device().allocate({.size = most + 1}).status(), StatusCode::kResourceExhausted);
}

void uri_of_a_device_opens_its_like(Context& t) {
  const Device again = hal::open(t.device().info().uri).value();
  VERIFY_EQ(again.info().driver, t.device().info().driver);
  VERIFY_EQ(again.info().name, t.device().info().name);
}

void new_device_is_ok(Context& t) {
  VERIFY_OK(t.device(0).status());
  VERIFY_OK(t.device(1).status());
}

void open_all_gives_at_least_one_and_open_the_first(Context& t) {
  const std::vector<Device> all = hal::open_all(t.uri()).value();
  VERIFY(!all.empty());
  VERIFY_EQ(hal::open(t.uri()).value().info().uri, all[0].info().uri);
}

void devices_opened_twice_are_independent(Context& t) {
  const Device other = hal::open(t.uri()).value();
  VERIFY(!(other == t.device()));
  VERIFY(!(other.queue() == t.device().queue()));
}

void enumerated_devices_can_be_opened(Context& t) {
  const std::vector<hal::DeviceInfo> found = hal::enumerate().value();
  const std::string& driver = t.device().info().driver;
  VERIFY(std::ranges::any_of(found, [&](const auto& info) { return info.driver == driver; }));
  for (const hal::DeviceInfo& info : found) {
    if (info.driver != driver) continue;
    const auto opened = hal::open(info.uri);
    VERIFY_OK(opened);
    if (opened.ok()) VERIFY_EQ(opened->info().name, info.name);
  }
}

void malformed_uri_is_refused(Context& t) {
  for (const char* const uri : {"", "cpu", "cpu:", "cpu:/", "://", "CPU://", "cpu://?", "cpu://?a",
                                "cpu://?a=", "cpu://?=1", "cpu://?a=1&", "cpu://?a=1&a=2",
                                "cpu://0?a=1 ", "cpu://\n", "cpu://0?A=1", " cpu://"}) {
    const auto result = hal::open(uri);
    if (result.status().code() != StatusCode::kInvalidArgument) {
      t.fail(__FILE__, __LINE__, fmt::format("\"{}\": {}", uri, result.status().to_string()));
    }
    VERIFY_CODE(hal::open_all(uri), StatusCode::kInvalidArgument);
  }
  VERIFY_CODE(hal::open(std::string(1 << 20, 'a')), StatusCode::kInvalidArgument);
}

void unknown_driver_is_not_found_and_what_there_is_is_named(Context& t) {
  const auto result = hal::open("nosuchdriver://");
  VERIFY_CODE(result, StatusCode::kNotFound);
  VERIFY(result.status().message().find(t.device().info().driver) != std::string_view::npos);
}

void unknown_device_is_not_found(Context& t) {
  VERIFY_CODE(hal::open(t.device().info().driver + "://4000000"), StatusCode::kNotFound);
}

void unknown_option_is_refused_and_named(Context& t) {
  const auto result = hal::open(t.device().info().driver + "://?no_such_option=1");
  VERIFY_CODE(result, StatusCode::kInvalidArgument);
  VERIFY(result.status().message().find("no_such_option") != std::string_view::npos);
}

// ---- Queues

void queue_of_a_kind_is_always_the_same(Context& t) {
  for (const QueueKind kind : {QueueKind::kCompute, QueueKind::kCopy}) {
    const hal::Queue queue = t.device().queue(kind);
    VERIFY(static_cast<bool>(queue));
    VERIFY_EQ(queue.kind(), kind);
    VERIFY(queue == t.device().queue(kind));
  }
  VERIFY(!(t.device().queue() == t.device().queue(QueueKind::kCopy)));
  VERIFY(!(t.device(0).queue() == t.device(1).queue()));
  VERIFY(t.device().queue() == t.device().queue(QueueKind::kCompute));
}

void queue_keeps_its_device(Context& t) {
  const hal::Queue queue = t.compute();
  t.drop_devices();
  VERIFY_OK(queue.barrier_and_wait({}, kWatchdog));
}

void semaphore_keeps_its_device(Context& t) {
  const Semaphore s = t.semaphore();
  t.drop_devices();
  VERIFY_OK(s.signal(1));
  VERIFY_OK(s.wait(1, kNow));
}

void buffer_keeps_its_device(Context& t) {
  const Buffer buffer = t.buffer(64, 3);
  t.drop_devices();
  VERIFY_EQ(word(buffer), 0x03030303u);
  VERIFY_EQ(buffer.subspan(32).value().size(), 32u);
}

void recording_and_function_keep_their_device(Context& t) {
  const Buffer buffer = t.buffer(4);
  const hal::Queue queue = t.compute();
  hal::Recorder recorder(t.device());
  const hal::Function function = t.kernel("increment");
  t.drop_devices();
  recorder.dispatch(function, {.items = {1}}, {buffer}, {std::uint32_t{1}});
  const hal::CommandBuffer commands = recorder.finish().value();
  VERIFY_OK(queue.execute_and_wait(commands, {}, kWatchdog));
  VERIFY_EQ(word(buffer), 1u);
}

void kept_queue_accepts_work_after_all_other_handles(Context& t) {
  const hal::Queue queue = t.copy_queue(1);
  const Semaphore done = t.device(1).create_semaphore().value();
  t.drop_devices();
  for (std::uint64_t i = 1; i <= 10; ++i) {
    VERIFY_OK(queue.barrier({.signal = {{done, i}}}));
  }
  VERIFY_OK(done.wait(10, kWatchdog));
}

// ---- Closing

void closing_device_finishes_its_work_in_flight(Context& t) {
  const Device survivor = t.device(1);
  const Semaphore done = survivor.create_semaphore().value();
  {
    const Device device = hal::open(t.uri()).value();
    const hal::Executable executable = device.load(built_in_kernels(), "kernels").value();
    const Buffer x = device.allocate({.size = 4}).value();
    VERIFY_OK(device.queue().dispatch(executable.function("busy").value(), {.groups = {1}}, {x},
                                      {std::uint32_t{3'000'000}}, {.signal = {{done, 1}}}));
  }
  VERIFY_OK(done.wait(1, kWatchdog));
}

void closing_device_cancels_what_is_parked(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  {
    const Device device = hal::open(t.uri()).value();
    for (const QueueKind kind : {QueueKind::kCompute, QueueKind::kCopy}) {
      VERIFY_OK(device.queue(kind).barrier({.wait = {{gate, 1}}, .signal = {{done, 1}}}));
    }
    VERIFY_VALUE(done, 0);
  }
  VERIFY_CODE(done.wait(1, kWatchdog), StatusCode::kCancelled);
  VERIFY_OK(gate.signal(1));
}

void closing_device_cancels_parked_host_calls(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  std::atomic<bool> called = false;
  {
    const Device device = hal::open(t.uri()).value();
    VERIFY_OK(device.queue().host_call([&] { called = true; },
                                       {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  }
  VERIFY_CODE(done.wait(1, kWatchdog), StatusCode::kCancelled);
  VERIFY_OK(gate.signal(1));
  VERIFY(!called);
}

void closed_device_leaves_the_others_alone(Context& t) {
  const Buffer buffer = t.buffer(4);
  const Semaphore s = t.semaphore();
  for (std::uint32_t i = 1; i <= 10; ++i) {
    {
      const Device device = hal::open(t.uri()).value();
    }
    VERIFY_OK(t.compute().fill(buffer, i, 4, {.signal = {{s, i}}}));
    VERIFY_OK(s.wait(i, kWatchdog));
    VERIFY_EQ(word(buffer), i);
  }
}

// ---- Dumps and messages

void dump_names_what_a_parked_submission_waits_for(Context& t) {
  const Semaphore gate = t.device().create_semaphore(0, "the gate").value();
  const Semaphore done = t.device().create_semaphore(0, "the end").value();
  VERIFY_OK(t.compute().barrier({.wait = {{gate, 3}}, .signal = {{done, 1}}}));
  const std::string dump = t.device().dump_timelines();
  VERIFY(dump.find("the gate") != std::string::npos);
  VERIFY(dump.find("the end") != std::string::npos);
  VERIFY_OK(gate.signal(3));
  VERIFY_OK(done.wait(1, kWatchdog));
}

// Even if listing the waits of other devices would exceed the length of a message.
void passed_deadline_tells_who_was_to_signal(Context& t) {
  const Semaphore other = t.device().create_semaphore(0, "another gate").value();
  std::vector<Device> devices;
  for (int i = 0; i < 10; ++i) {
    devices.push_back(hal::open(t.uri()).value());
    for (int n = 0; n < 10; ++n) {
      VERIFY_OK(devices.back().queue().barrier({.wait = {{other, 1}}}));
    }
  }
  const Semaphore gate = devices.back().create_semaphore(0, "my gate").value();
  const Semaphore done = devices.back().create_semaphore(0, "my end").value();
  VERIFY_OK(devices.back().queue().barrier({.wait = {{gate, 3}}, .signal = {{done, 1}}}));
  const Status status = done.wait(1, kAWhile);
  VERIFY_CODE(status, StatusCode::kDeadlineExceeded);
  if (status.message().find("my gate") == std::string_view::npos) {
    t.fail(__FILE__, __LINE__, fmt::format("no \"my gate\" in: {}", status.to_string()));
  }
  VERIFY_OK(gate.signal(3));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_OK(other.signal(1));
}

void dump_can_be_taken_at_any_time(Context& t) {
  std::atomic<bool> done = false;
  Threads threads;
  threads.start([&] {
    while (!done) VERIFY(!t.device().dump_timelines().empty());
  });
  const Semaphore s = t.semaphore();
  for (std::uint64_t i = 0; i < 200; ++i) {
    VERIFY_OK(t.compute().barrier({.wait = {{s, i}}, .signal = {{s, i + 1}}}));
  }
  VERIFY_OK(s.wait(200, kWatchdog));
  done = true;
}

#define CASE(name) {"device", #name, name}
constexpr Case kCases[] = {
    CASE(device_describes_itself),
    CASE(limits_leave_room_for_the_kernels_of_this_suite),
    CASE(buffer_beyond_its_limit_is_resource_exhausted),
    CASE(uri_of_a_device_opens_its_like),
    CASE(new_device_is_ok),
    CASE(open_all_gives_at_least_one_and_open_the_first),
    CASE(devices_opened_twice_are_independent),
    CASE(enumerated_devices_can_be_opened),
    CASE(malformed_uri_is_refused),
    CASE(unknown_driver_is_not_found_and_what_there_is_is_named),
    CASE(unknown_device_is_not_found),
    CASE(unknown_option_is_refused_and_named),
    CASE(queue_of_a_kind_is_always_the_same),
    CASE(queue_keeps_its_device),
    CASE(semaphore_keeps_its_device),
    CASE(buffer_keeps_its_device),
    CASE(recording_and_function_keep_their_device),
    CASE(kept_queue_accepts_work_after_all_other_handles),
    CASE(closing_device_finishes_its_work_in_flight),
    CASE(closing_device_cancels_what_is_parked),
    CASE(closing_device_cancels_parked_host_calls),
    CASE(closed_device_leaves_the_others_alone),
    CASE(dump_names_what_a_parked_submission_waits_for),
    CASE(passed_deadline_tells_who_was_to_signal),
    CASE(dump_can_be_taken_at_any_time),
};
#undef CASE

}  // namespace
}  // namespace device

std::span<const Case> device_cases() noexcept { return device::kCases; }

}  // namespace halyard::inline v0::conformance
