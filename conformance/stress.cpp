// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many objects, from many threads, and handles dropped at any moment.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <stop_token>

#include "conformance/bytes.h"
#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace stress {
namespace {

using hal::Buffer;
using hal::CommandBuffer;
using hal::Device;
using hal::Function;
using hal::Queue;
using hal::Recorder;
using hal::Semaphore;

std::uint32_t word(const Buffer& buffer, std::size_t index = 0) {
  return buffer.map().value().as<std::uint32_t>()[index];
}

// ---- Many submissions

void rapid_fills_leave_the_last_pattern(Context& t) {
  const Buffer buffer = t.buffer(4096);
  const Semaphore s = t.semaphore();
  const std::uint32_t count = t.rounds(200);
  for (std::uint32_t i = 1; i <= count; ++i) {
    check(t.queue().fill(buffer, i, 4, {.wait = {{s, i - 1}}, .signal = {{s, i}}}));
  }
  // The same with recordings whose handles are dropped at once.
  for (std::uint32_t i = count + 1; i <= 2 * count; ++i) {
    Recorder once(t.device());
    once.fill(buffer, i);
    check(t.queue().execute(once.finish().value(), {.wait = {{s, i - 1}}, .signal = {{s, i}}}));
  }
  VERIFY_OK(s.wait(2 * count, kWatchdog));
  VERIFY_EQ(word(buffer), 2 * count);
  VERIFY_EQ(word(buffer, 1023), 2 * count);
}

// Each lap carries its own pattern and ends in its own part of the result: every copy moves new
// bytes, and no later lap hides a missed write. In the first pass each submission may run at once;
// in the second all are submitted before any runs.
void rapid_copies_carry_a_pattern_round(Context& t) {
  constexpr std::uint64_t kSize = 4096;
  const std::uint32_t laps = t.rounds(25);
  for (const bool open : {true, false}) {
    std::vector<Buffer> ring;
    for (int i = 0; i < 8; ++i) ring.push_back(t.buffer(kSize));
    const Buffer ends = t.buffer(kSize * laps);
    const Semaphore s = t.semaphore(open ? 1 : 0);
    std::uint64_t at = 1;
    const auto next = [&](auto submit) {
      check(submit(hal::SubmitInfo{.wait = {{s, at}}, .signal = {{s, at + 1}}}));
      ++at;
    };
    const auto copy = [&](const Buffer& from, const hal::BufferRange& to) {
      next([&](const hal::SubmitInfo& info) { return t.queue().copy(from, to, info); });
    };
    for (std::uint32_t lap = 0; lap < laps; ++lap) {
      next([&](const auto& info) { return t.queue().fill(ring[0], lap + 1, 4, info); });
      for (int i = 1; i < 8; ++i) copy(ring[i - 1], ring[i]);
      copy(ring[7], {ends, kSize * lap, kSize});
    }
    if (!open) VERIFY_OK(s.signal(1));
    VERIFY_OK(s.wait(at, kWatchdog));
    verify_rounds<std::uint32_t>(t, ends, kSize);
  }
}

void bursts_of_copies_all_arrive(Context& t) {
  const ByteVector source = ramp(64 * 64);
  const Buffer from = t.buffer_of(std::span<const std::byte>(source));
  const Buffer to = t.buffer(64 * 64);
  const std::vector<Semaphore> done = t.semaphores(64);
  for (std::uint64_t round = 1; round <= t.rounds(64); ++round) {
    std::vector<hal::Point> all;
    for (std::uint64_t i = 0; i < 64; ++i) {
      check(t.queue().copy({from, 64 * i, 64}, {to, 64 * i, 64}, {.signal = {{done[i], round}}}));
      all.emplace_back(done[i], round);
    }
    VERIFY_OK(hal::wait_all(all, kWatchdog));
    VERIFY(contents(to) == source);
    std::ranges::fill(to.map().value().bytes(), std::byte{0});
  }
}

void many_threads_submit_to_one_queue(Context& t) {
  const std::uint32_t thread_count = t.threads(4);
  const std::uint32_t each = t.rounds(300);
  const Buffer buffer = t.buffer(4 * thread_count * each);
  Threads threads;
  for (std::uint32_t i = 0; i < thread_count; ++i) {
    threads.start([&, i] {
      const Semaphore s = t.semaphore();
      for (std::uint32_t n = 0; n < each; ++n) {
        const std::uint64_t at = each * i + n;
        VERIFY_OK(t.queue().fill({buffer, 4 * at, 4}, each * i + n + 1, 4,
                                 {.wait = {{s, n}}, .signal = {{s, n + 1}}}));
      }
      VERIFY_OK(s.wait(each, kWatchdog));
    });
  }
  threads.join();
  for (std::uint32_t i = 0; i < thread_count * each; ++i) {
    if (word(buffer, i) != i + 1) VERIFY_EQ(word(buffer, i), i + 1);
  }
}

void many_threads_wait_on_one_queue(Context& t) {
  Threads threads;
  for (std::uint32_t i = 0; i < t.threads(4); ++i) {
    threads.start([&] {
      for (std::uint32_t n = 0; n < t.rounds(200); ++n)
        VERIFY_OK(t.queue().barrier_and_wait({}, kWatchdog));
    });
  }
}

void many_threads_execute_one_recording(Context& t) {
  Recorder recorder(t.device());
  recorder.dispatch(t.kernel("increment"), {.items = {64}}, {hal::slot(0)}, {std::uint32_t{64}});
  const CommandBuffer commands = recorder.finish().value();
  Threads threads;
  for (std::uint32_t i = 0; i < t.threads(4); ++i) {
    threads.start([&] {
      const Buffer buffer = t.buffer(256);
      for (std::uint32_t n = 0; n < t.rounds(100); ++n) {
        VERIFY_OK(t.compute().execute_and_wait(commands, {.bindings = {buffer}}, kWatchdog));
      }
      VERIFY_EQ(word(buffer, 63), t.rounds(100));
    });
  }
}

void chain_of_a_hundred_thousand_is_released_by_one_signal(Context& t) {
  const std::uint64_t links = t.rounds(100'000);
  const Semaphore s = t.semaphore();
  const Queue queues[2] = {t.compute(), t.copy_queue()};
  for (std::uint64_t i = links; i >= 1; --i) {
    check(queues[i % 2].barrier({.wait = {{s, i}}, .signal = {{s, i + 1}}}));
  }
  VERIFY_OK(s.signal(1));
  VERIFY_OK(s.wait(links + 1, kWatchdog));
}

void ten_thousand_waits_in_random_order_are_all_released(Context& t) {
  const std::size_t count = t.rounds(10'000);
  std::vector<std::uint64_t> values(count);
  std::iota(values.begin(), values.end(), 1);
  std::shuffle(values.begin(), values.end(), std::mt19937(3));
  const Semaphore gate = t.semaphore();
  std::atomic<std::size_t> released = 0;
  std::vector<hal::Registration> registrations;
  for (const std::uint64_t value : values) {
    check(t.queue().barrier({.wait = {{gate, value}}}));
    registrations.push_back(gate.on_reach(value, [&](const Status&) { ++released; }).value());
  }
  for (std::uint64_t value = 100; value <= count; value += 100) VERIFY_OK(gate.signal(value));
  VERIFY_UNTIL(released == count);
  VERIFY_OK(t.queue().wait_idle(kWatchdog));  // no submission is still parked
}

void two_devices_play_ping_pong(Context& t) {
  const Semaphore a = t.device(0).create_semaphore().value();
  const Semaphore b = t.device(1).create_semaphore().value();
  const std::uint64_t count = t.rounds(1000);
  for (std::uint64_t i = 1; i <= count; ++i) {
    check(t.queue(0).barrier({.wait = {{b, i - 1}}, .signal = {{a, i}}}));
    check(t.queue(1).barrier({.wait = {{a, i}}, .signal = {{b, i}}}));
  }
  VERIFY_OK(b.wait(count, kWatchdog));
}

void random_graph_over_all_queues_runs_in_its_order(Context& t) {
  const std::size_t nodes = t.rounds(600);
  std::mt19937 random(11);
  const std::vector<Queue> queues = t.queues();
  const std::vector<Semaphore> done = t.semaphores(nodes);
  std::vector<std::vector<std::size_t>> needs(nodes);
  std::vector<std::vector<std::size_t>> calls_before(nodes);  // host calls that a node follows
  std::vector<std::atomic<bool>> ran(nodes);                  // directly or through barriers
  std::vector<std::size_t> order(nodes);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (std::size_t node = 1; node < nodes; ++node) {
    std::set<std::size_t> calls;
    for (int edge = 0; edge < 3; ++edge) {
      const std::size_t need = needs[node].emplace_back(random() % node);
      if (need % 3 == 0) {
        calls.insert(need);
      } else {
        calls.insert(calls_before[need].begin(), calls_before[need].end());
      }
    }
    calls_before[node].assign(calls.begin(), calls.end());
  }
  for (const std::size_t node : order) {
    std::vector<hal::Point> waits;
    for (const std::size_t need : needs[node]) waits.emplace_back(done[need], 1);
    if (node % 3 != 0) {
      check(queues[node % 4].barrier({.wait = waits, .signal = {{done[node], 1}}}));
      continue;
    }
    check(queues[node % 4].host_call(
        [&, node] {
          for (const std::size_t call : calls_before[node]) VERIFY(ran[call].load());
          ran[node] = true;
        },
        {.wait = waits, .signal = {{done[node], 1}}}));
  }
  std::vector<hal::Point> all;
  for (const Semaphore& each : done) all.emplace_back(each, 1);
  VERIFY_OK(hal::wait_all(all, kWatchdog));
}

// ---- Races

void submissions_race_host_waits_on_one_semaphore(Context& t) {
  const Semaphore s = t.semaphore();
  const std::uint64_t count = t.rounds(500);
  Threads threads;
  for (std::uint32_t i = 0; i < t.threads(3); ++i) {
    threads.start([&] {
      for (std::uint64_t value = 1; value <= count; ++value) {
        VERIFY_OK(s.wait(value, kWatchdog));
      }
    });
  }
  for (std::uint64_t value = 1; value <= count; ++value) {
    VERIFY_OK(t.queue().barrier({.wait = {{s, value - 1}}, .signal = {{s, value}}}));
  }
}

// After OpenCL's user events: each thread's work is released by another thread.
void threads_open_the_gates_of_each_others_work(Context& t) {
  const std::size_t count = t.threads(4);
  const std::uint64_t rounds = t.rounds(200);
  const std::vector<Semaphore> gates = t.semaphores(count);
  const std::vector<Queue> queues = t.queues();
  Threads threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.start([&, i] {
      const Semaphore done = t.semaphore();
      for (std::uint64_t n = 1; n <= rounds; ++n) {
        VERIFY_OK(queues[i % 4].barrier({.wait = {{gates[i], n}}, .signal = {{done, n}}}));
        VERIFY_OK(gates[(i + 1) % count].signal(n));
        VERIFY_OK(done.wait(n, kWatchdog));
      }
    });
  }
}

void polling_threads_do_not_stop_a_submitter(Context& t) {
  const Semaphore s = t.semaphore();
  std::atomic<bool> done = false;
  const std::uint64_t count = t.rounds(2000);
  Threads threads;
  for (std::uint32_t i = 0; i < t.threads(2); ++i) {
    threads.start([&] {
      while (!done) {
        VERIFY_OK(s.query());
        std::this_thread::yield();
      }
    });
  }
  for (std::uint64_t i = 1; i <= count; ++i) {
    VERIFY_OK(t.queue().barrier({.wait = {{s, i - 1}}, .signal = {{s, i}}}));
  }
  VERIFY_OK(s.wait(count, kWatchdog));
  done = true;
}

void cancel_races_release(Context& t) {
  for (std::uint32_t round = 0; round < t.rounds(200); ++round) {
    const Semaphore gate = t.semaphore();
    const Semaphore done = t.semaphore();
    hal::Submission submission;
    check(
        t.queue().barrier({.wait = {{gate, 1}}, .signal = {{done, 1}}, .submission = &submission}));
    Threads threads;
    threads.start([&] { VERIFY_OK(gate.signal(1)); });
    const bool cancelled = submission.cancel();
    VERIFY_CODE(done.wait(1, kWatchdog), cancelled ? StatusCode::kCancelled : StatusCode::kOk);
  }
}

void failure_races_release(Context& t) {
  for (std::uint32_t round = 0; round < t.rounds(200); ++round) {
    const Semaphore gate = t.semaphore();
    const Semaphore done = t.semaphore();
    check(t.queue().barrier({.wait = {{gate, 1}}, .signal = {{done, 1}}}));
    Threads threads;
    threads.start([&] { gate.fail(Status(StatusCode::kDataLoss, "failed")); });
    const bool signalled = gate.signal(1).ok();
    VERIFY_CODE(done.wait(1, kWatchdog), signalled ? StatusCode::kOk : StatusCode::kDataLoss);
  }
}

void recording_survives_queries_of_other_threads(Context& t) {
  std::atomic<std::uint64_t> queries = 0;
  const Semaphore s = t.semaphore();
  const hal::Pool pool = t.device().create_pool({}).value();
  const Buffer buffer = t.buffer(4096);
  Threads threads;
  threads.start([&](const std::stop_token& stop) {
    for (; !stop.stop_requested(); ++queries) {
      VERIFY_OK(t.device().status());
      VERIFY_OK(s.query());
      VERIFY_OK(buffer.map());
      VERIFY_OK(t.device().allocate({.size = 64}));
      VERIFY(t.device().memory_statistics().total_allocations != 0);
      VERIFY(pool.statistics().used_bytes == 0);
      VERIFY(!t.device().dump_timelines().empty());
    }
  });
  for (std::uint32_t i = 0; i < t.rounds(50); ++i) {
    Recorder recorder(t.device());
    const std::uint64_t before = queries;
    for (std::uint32_t n = 0; n < 64; ++n) {
      // In some rounds the other threads certainly query during the recording.
      if (n == 32 && i % 8 == 0) VERIFY_UNTIL(queries > before + 1);
      recorder.fill(hal::BufferRange(buffer, 64 * n, 64), n + i);
    }
    VERIFY_OK(t.compute().execute_and_wait(recorder.finish().value(), {}, kWatchdog));
    for (std::uint32_t n = 0; n < 64; ++n) VERIFY_EQ(word(buffer, 16 * n + 15), n + i);
  }
}

// ---- Handles dropped at any moment

// A device with all kinds of work, whose handles are all dropped after `step` steps.
void drop_after(Context& t, int step) {
  const Semaphore gate = t.semaphore();  // of a device that lives on
  const Semaphore done = t.semaphore();
  {
    Device device = hal::open(t.uri()).value();
    Queue queue = device.queue();
    Semaphore s = device.create_semaphore().value();
    Buffer buffer =
        device.allocate({.size = 4096, .memory = hal::MemoryType::kHostVisible}).value();
    hal::Executable executable = device.load(built_in_kernels(), "kernels").value();
    Function function = executable.function("increment").value();
    Recorder recorder(device);
    recorder.dispatch(function, {.items = {64}}, {buffer}, {std::uint32_t{64}});
    CommandBuffer commands = recorder.finish().value();
    const auto steps = {
        +[](const Queue& q, const Semaphore&, const Semaphore&, const Buffer& b, const Function&,
            const CommandBuffer&) { return q.fill({b, 3072, 1024}, 1, 4, {}); },
        +[](const Queue& q, const Semaphore& mine, const Semaphore&, const Buffer& b,
            const Function&,
            const CommandBuffer&) { return q.fill({b, 0, 2048}, 1, 4, {.signal = {{mine, 1}}}); },
        +[](const Queue& q, const Semaphore& mine, const Semaphore&, const Buffer& b,
            const Function&, const CommandBuffer&) {
          return q.copy({b, 0, 64}, {b, 2048, 64}, {.wait = {{mine, 1}}});
        },
        +[](const Queue& q, const Semaphore&, const Semaphore& other, const Buffer& b,
            const Function& f, const CommandBuffer&) {
          return q.dispatch(f, {.items = {64}}, {{b, 512, 256}}, {std::uint32_t{64}},
                            {.wait = {{other, 1}}});
        },
        +[](const Queue& q, const Semaphore& mine, const Semaphore& other, const Buffer&,
            const Function&, const CommandBuffer& c) {
          return q.execute(c, {.wait = {{other, 1}}, .signal = {{mine, 2}}});
        },
        +[](const Queue& q, const Semaphore& mine, const Semaphore&, const Buffer&, const Function&,
            const CommandBuffer&) { return q.host_call([] {}, {.wait = {{mine, 2}}}); },
    };
    int taken = 0;
    for (const auto take : steps) {
      if (taken++ == step) break;
      VERIFY_OK(take(queue, s, gate, buffer, function, commands));
    }
    VERIFY_OK(queue.barrier({.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  }
  VERIFY_CODE(done.wait(1, kWatchdog), StatusCode::kCancelled);
}

void handles_are_dropped_after_every_step(Context& t) {
  for (std::uint32_t round = 0; round < t.rounds(5); ++round) {
    for (int step = 0; step <= 6; ++step) drop_after(t, step);
  }
}

void handles_are_dropped_in_every_order(Context& t) {
  for (int first = 0; first < 6; ++first) {
    const Semaphore done = t.semaphore();
    Device device = hal::open(t.uri()).value();
    Queue queue = device.queue();
    Semaphore s = device.create_semaphore().value();
    Buffer buffer = device.allocate({.size = 64, .memory = hal::MemoryType::kHostVisible}).value();
    hal::Executable executable = device.load(built_in_kernels(), "kernels").value();
    Recorder recorder(device);
    recorder.fill(buffer, 1);
    CommandBuffer commands = recorder.finish().value();
    VERIFY_OK(queue.execute(commands, {.signal = {{s, 1}, {done, 1}}}));
    const std::function<void()> drops[] = {[&] { device = {}; },     [&] { queue = {}; },
                                           [&] { s = {}; },          [&] { buffer = {}; },
                                           [&] { executable = {}; }, [&] { commands = {}; }};
    for (int i = 0; i < 6; ++i) drops[(first + i) % 6]();
    VERIFY_OK(done.wait(1, kWatchdog));
  }
}

// All handles of a device, together, so that a callback can drop them.
struct DeviceHandles {
  Device device;
  Queue queue;
  Buffer buffer;
  hal::Executable executable;
  Function function;
  CommandBuffer commands;
  Semaphore semaphore;
  hal::Submission submission;

  explicit DeviceHandles(const std::string& uri)
      : device(hal::open(uri).value()),
        queue(device.queue()),
        buffer(device.allocate({.size = 4096, .memory = hal::MemoryType::kHostVisible}).value()),
        executable(device.load(built_in_kernels(), "kernels").value()),
        function(executable.function("increment").value()),
        semaphore(device.create_semaphore().value()) {
    Recorder recorder(device);
    recorder.dispatch(function, {.items = {64}}, {buffer}, {std::uint32_t{64}});
    commands = recorder.finish().value();
  }
};

void every_handle_is_dropped_inside_a_callback_of_a_host_signal(Context& t) {
  for (std::uint32_t round = 0; round < t.rounds(20); ++round) {
    const Semaphore start = t.semaphore();
    const Semaphore dropped = t.semaphore();
    auto all = std::make_unique<DeviceHandles>(t.uri());
    check(all->queue.execute(
        all->commands,
        {.wait = {{start, 1}}, .signal = {{all->semaphore, 1}}, .submission = &all->submission}));
    const auto registration = start.on_reach(1, [&](const Status&) {
      all.reset();
      VERIFY_OK(dropped.signal(1));
    });
    VERIFY_OK(start.signal(1));
    VERIFY_OK(dropped.wait(1, kWatchdog));
  }
}

void every_handle_is_dropped_inside_a_callback_of_its_own_device(Context& t) {
  for (std::uint32_t round = 0; round < t.rounds(20); ++round) {
    const Semaphore dropped = t.semaphore();
    const Semaphore ended = t.semaphore();
    auto all = std::make_unique<DeviceHandles>(t.uri());
    const auto registration = ended.on_reach(1, [&](const Status& status) {
      VERIFY_OK(status);
      all.reset();
      VERIFY_OK(dropped.signal(1));
    });
    // Copies: the callback may drop the originals before execute() returns.
    const Queue queue = all->queue;
    const CommandBuffer commands = all->commands;
    const Semaphore semaphore = all->semaphore;
    VERIFY_OK(queue.execute(commands, {.signal = {{semaphore, 1}, {ended, 1}}}));
    VERIFY_OK(dropped.wait(1, kWatchdog));
  }
}

void every_handle_is_dropped_inside_a_host_call(Context& t) {
  for (std::uint32_t round = 0; round < t.rounds(20); ++round) {
    const Semaphore done = t.semaphore();
    const Semaphore gate = t.semaphore();
    auto all = std::make_unique<DeviceHandles>(t.uri());
    const Queue& queue = all->queue;
    check(queue.execute(all->commands, {.signal = {{all->semaphore, 1}}}));
    check(queue.host_call(
        [&t, handles = std::shared_ptr<DeviceHandles>(std::move(all))]() mutable {
          VERIFY_OK(handles->semaphore.wait(1, kWatchdog));
          handles.reset();
        },
        {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
    VERIFY_OK(gate.signal(1));
    VERIFY_OK(done.wait(1, kWatchdog));
  }
}

void every_handle_is_dropped_with_a_failed_callback(Context& t) {
  for (std::uint32_t round = 0; round < t.rounds(20); ++round) {
    const Semaphore gate = t.semaphore();
    const Semaphore ended = t.semaphore();
    const Semaphore dropped = t.semaphore();
    auto all = std::make_unique<DeviceHandles>(t.uri());
    check(all->queue.execute(all->commands, {.wait = {{gate, 1}}, .signal = {{ended, 1}}}));
    const auto registration = ended.on_reach(1, [&](const Status& status) {
      VERIFY_CODE(status, StatusCode::kDataLoss);
      all.reset();
      VERIFY_OK(dropped.signal(1));
    });
    gate.fail(Status(StatusCode::kDataLoss, "failed"));
    VERIFY_OK(dropped.wait(1, kWatchdog));
  }
}

void devices_open_and_close_on_many_threads(Context& t) {
  Threads threads;
  for (std::uint32_t i = 0; i < t.threads(3); ++i) {
    threads.start([&] {
      for (std::uint32_t round = 0; round < t.rounds(15); ++round) {
        const Device device = hal::open(t.uri()).value();
        const Buffer buffer =
            device.allocate({.size = 64, .memory = hal::MemoryType::kHostVisible}).value();
        const Semaphore s = device.create_semaphore().value();
        VERIFY_OK(device.queue().fill(buffer, 7, 4, {.signal = {{s, 1}}}));
        if (round % 2 == 0) VERIFY_OK(s.wait(1, kWatchdog));
      }
    });
  }
}

// ---- Limits

void endless_submission_is_refused_or_done_but_never_lost(Context& t) {
  // Submits without waiting, after slow work: each submission completes or is refused with a
  // reason.
  const Buffer x = t.buffer(4);
  const Semaphore done = t.semaphore();
  VERIFY_OK(
      t.compute().dispatch(t.kernel("busy"), {.groups = {1}}, {x}, {std::uint32_t{3'000'000}}, {}));
  std::uint64_t accepted = 0;
  for (std::uint64_t i = 1; i <= t.rounds(50'000); ++i) {
    const Status status =
        t.compute().barrier({.wait = {{done, accepted}}, .signal = {{done, accepted + 1}}});
    if (status.ok()) {
      ++accepted;
    } else {
      VERIFY_CODE(status, StatusCode::kResourceExhausted);
      std::this_thread::yield();
    }
  }
  VERIFY_OK(done.wait(accepted, kWatchdog));
  VERIFY_VALUE(done, accepted);
}

#define CASE(name) {"stress", #name, name}
#define CASE_ON_EVERY_QUEUE(name) {"stress", #name, name, Vary::kQueueKinds}
constexpr Case kCases[] = {
    CASE_ON_EVERY_QUEUE(rapid_fills_leave_the_last_pattern),
    CASE_ON_EVERY_QUEUE(rapid_copies_carry_a_pattern_round),
    CASE_ON_EVERY_QUEUE(bursts_of_copies_all_arrive),
    CASE_ON_EVERY_QUEUE(many_threads_submit_to_one_queue),
    CASE_ON_EVERY_QUEUE(many_threads_wait_on_one_queue),
    CASE(many_threads_execute_one_recording),
    CASE(chain_of_a_hundred_thousand_is_released_by_one_signal),
    CASE_ON_EVERY_QUEUE(ten_thousand_waits_in_random_order_are_all_released),
    CASE_ON_EVERY_QUEUE(two_devices_play_ping_pong),
    CASE(random_graph_over_all_queues_runs_in_its_order),
    CASE_ON_EVERY_QUEUE(submissions_race_host_waits_on_one_semaphore),
    CASE(threads_open_the_gates_of_each_others_work),
    CASE_ON_EVERY_QUEUE(polling_threads_do_not_stop_a_submitter),
    CASE_ON_EVERY_QUEUE(cancel_races_release),
    CASE_ON_EVERY_QUEUE(failure_races_release),
    CASE(recording_survives_queries_of_other_threads),
    CASE(handles_are_dropped_after_every_step),
    CASE(handles_are_dropped_in_every_order),
    CASE(every_handle_is_dropped_inside_a_callback_of_a_host_signal),
    CASE(every_handle_is_dropped_inside_a_callback_of_its_own_device),
    CASE(every_handle_is_dropped_inside_a_host_call),
    CASE(every_handle_is_dropped_with_a_failed_callback),
    CASE(devices_open_and_close_on_many_threads),
    CASE(endless_submission_is_refused_or_done_but_never_lost),
};
#undef CASE
#undef CASE_ON_EVERY_QUEUE

}  // namespace
}  // namespace stress

std::span<const Case> stress_cases() noexcept { return stress::kCases; }

}  // namespace halyard::inline v0::conformance
