// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B2: from a submission until the host sees its completion.
#include <atomic>
#include <memory>
#include <thread>

#include "base/atomic.h"
#include "base/futex.h"
#include "counts/counters.h"
#include "halyard/hcq/cpu.h"
#include "halyard/hcq/queue.h"
#include "machine.h"
#include "world.h"

namespace halyard::bench {
namespace {

constexpr int kLoop = 200;  // operations per clock reading
constexpr int kLoops = 20;

// Rows with a parked partner time one operation at a time. This thread sleeps before each, in every
// arm, so that the partner has parked.
constexpr int kParkedOperations = 100;
constexpr auto kPark = std::chrono::microseconds(100);

template <class F>
Sample loops(int count, F&& operation) {
  Sample sample;
  for (int i = 0; i < count; ++i) {
    sample.times.push_back(time_each(kLoop, [&] {
      for (int k = 0; k < kLoop; ++k) operation();
    }));
  }
  return sample;
}

template <class F>
Sample one_by_one(int count, F&& operation) {
  Sample sample;
  for (int i = 0; i < count; ++i) {
    std::this_thread::sleep_for(kPark);
    sample.times.push_back(time_each(1, operation));
  }
  return sample;
}

// The partner of a limit: replies to `ping` with `pong`, on its own thread, on one core. It sleeps
// between repetitions.
class Partner {
 public:
  explicit Partner(int core) : thread_([this, core] { answer(core); }) {}
  ~Partner() {
    stop_ = true;
    ping_.fetch_add(1);
    base::futex_wake(ping_, 1);
    thread_.join();
  }

  void begin_spinning() {
    spinning_ = true;
    parked();  // wakes it
  }
  void end_spinning() { spinning_ = false; }

  // One round trip.
  void spinning() {
    const std::uint32_t next = ping_.load(std::memory_order_relaxed) + 1;
    ping_.store(next, std::memory_order_release);
    while (pong_.load(std::memory_order_acquire) != next) base::spin_pause();
  }
  void parked() {
    const std::uint32_t before = pong_.load(std::memory_order_relaxed);
    ping_.fetch_add(1);
    base::futex_wake(ping_, 1);
    while (pong_.load() == before) {
      if (!spinning_) base::futex_wait(pong_, before, Deadline::kForeverTime);
    }
  }

 private:
  void answer(int core) {
    const Pin pin(core);
    for (std::uint32_t seen = 0; !stop_;) {
      const std::uint32_t now = ping_.load(std::memory_order_acquire);
      if (now != seen) {
        pong_.store(seen = now, std::memory_order_release);
        if (!spinning_) base::futex_wake(pong_, 1);
      } else if (spinning_) {
        base::spin_pause();
      } else {
        base::futex_wait(ping_, seen, Deadline::kForeverTime);
      }
    }
  }

  alignas(64) std::atomic<std::uint32_t> ping_{0};
  alignas(64) std::atomic<std::uint32_t> pong_{0};
  std::atomic<bool> spinning_{false}, stop_{false};
  std::thread thread_;
};

struct QueueState {
  hal::Device device;
  hal::Queue queue;
  hal::Semaphore done;
  std::uint64_t value = 0;

  explicit QueueState(hal::Device device_)
      : device(std::move(device_)),
        queue(device.queue()),
        done(device.create_semaphore().value()) {}
  void expect_done() const { verify(done.query().value() == value, "the semaphore's value"); }
};

// A recorded kernel that increments a word, and the word.
struct Increment : QueueState {
  Words words;
  hal::CommandBuffer commands;
  std::uint32_t expected = 0;

  explicit Increment(World& world) : QueueState(world.device()), words(device, 1) {
    hal::Recorder recorder(device);
    recorder.dispatch(world.function("increment"), {.groups = 1}, {words.buffer()});
    commands = recorder.finish().value();
  }
  void expect(std::uint32_t more) {
    expected += more;
    expect_done();
    verify(words[0] == expected, "increments");
  }
};

std::vector<Arm> opencl_arm(World& world, bool parked) {
  OpenCl* cl = world.opencl();
  if (cl == nullptr) return {};
  const auto run = [cl, parked, turns = world.turns(parked ? kParkedOperations : kLoop)] {
    const std::uint32_t before = cl->counter();
    const auto operation = [&] {
      cl->enqueue();
      cl->finish();
    };
    Sample sample;
    if (parked) {
      sample = one_by_one(turns, operation);
    } else {
      sample.times.reserve(static_cast<std::size_t>(turns));
      for (int i = 0; i < turns; ++i) sample.times.push_back(time_each(1, operation));
    }
    verify(cl->counter() - before == static_cast<std::uint32_t>(turns), "OpenCL kernels");
    return sample;
  };
  return {{cl->name(), run}};
}

Arms inline_row(World& world) {
  const auto run = [state = std::make_shared<QueueState>(world.device()),
                    count = world.turns(kLoops)] {
    const auto operation = [&] {
      check(state->queue.barrier_and_wait({.signal = {{state->done, ++state->value}}}));
    };
    Sample sample = loops(count, operation);
    if (counts::can_step()) {
      const counts::Steps steps = counts::count_steps(operation);
      sample.metrics["read_modify_writes"] = static_cast<double>(steps.read_modify_writes);
      sample.metrics["instructions"] = static_cast<double>(steps.instructions);
    }
    state->expect_done();
    return sample;
  };
  auto word = std::make_shared<std::atomic<std::uint64_t>>(0);
  const auto add = [word, count = world.turns(kLoops)] {
    const std::uint64_t before = *word;
    const Sample sample = loops(count, [&] { word->fetch_add(1); });
    verify(*word - before == static_cast<std::uint64_t>(count) * kLoop, "fetch_add");
    return sample;
  };
  return {{"halyard: barrier_and_wait", run}, Arm{"fetch_add", add}, {}};
}

Arms spinning_row(World& world) {
  const std::vector<int> at = cores(2);
  const auto run = [state = std::make_shared<QueueState>(World::open_device(at[1])), at,
                    count = world.turns(kLoops)] {
    const Pin pin(at[0]);
    // query() does not help: the worker does the work and stays awake for more.
    const Sample sample = loops(count, [&] {
      check(state->queue.barrier({.signal = {{state->done, ++state->value}}}));
      while (state->done.query().value() != state->value) base::spin_pause();
    });
    state->expect_done();
    return sample;
  };
  const auto lines = [partner = std::make_shared<Partner>(at[1]), at, count = world.turns(kLoops)] {
    const Pin pin(at[0]);
    partner->begin_spinning();
    const Sample sample = loops(count, [&] { partner->spinning(); });
    partner->end_spinning();
    return sample;
  };
  return {{"halyard: barrier, polled", run}, Arm{"cache line round trip", lines}, {}};
}

// Host and worker both sleep. A waiter of the hal helps and needs no worker, so this row uses the
// hcq interface, where only the worker executes.
Arms parked_row(World& world, bool same_core) {
  const std::vector<int> at = cores(same_core ? 1 : 2);
  const int host = at.front(), other = at.back();
  struct State {
    std::unique_ptr<hcq::Device> device;
    hcq::Signal signal;
    std::uint64_t value = 0;
  };
  auto state = std::make_shared<State>();
  {
    const Pin pin(other);  // inherited by the worker
    state->device = std::move(hcq::open_cpu(1).value());
  }
  state->signal = state->device->create_signal().value();
  const int turns = world.turns(kParkedOperations);
  const auto run = [state, host, turns] {
    const Pin pin(host);
    Sample sample;
    for (int i = 0; i < turns; ++i) {
      hcq::ComputeQueue commands;
      commands.signal(state->signal, ++state->value);
      std::this_thread::sleep_for(kPark);
      sample.times.push_back(time_each(1, [&] {
        check(commands.submit(*state->device));
        check(state->signal.wait(state->value));
      }));
    }
    verify(state->signal.value() == state->value, "the signal's value");
    return sample;
  };
  const auto futex = [partner = std::make_shared<Partner>(other), host, turns] {
    const Pin pin(host);
    return one_by_one(turns, [&] { partner->parked(); });
  };
  return {{"halyard: hcq submit, wait", run}, Arm{"futex round trip", futex}, {}};
}

Arms default_row(World& world) {
  const auto run = [state = std::make_shared<Increment>(world),
                    turns = world.turns(kParkedOperations)] {
    const Sample sample = one_by_one(turns, [&] {
      check(state->queue.execute(state->commands, {.signal = {{state->done, ++state->value}}}));
      check(state->done.wait(state->value));
    });
    state->expect(static_cast<std::uint32_t>(turns));
    return sample;
  };
  return {{"halyard: execute, wait", run}, std::nullopt, opencl_arm(world, true)};
}

Arms submit_and_wait_row(World& world) {
  const auto run = [state = std::make_shared<Increment>(world), count = world.turns(kLoops)] {
    const Sample sample = loops(count, [&] {
      check(state->queue.execute_and_wait(state->commands,
                                          {.signal = {{state->done, ++state->value}}}));
    });
    state->expect(static_cast<std::uint32_t>(count * kLoop));
    return sample;
  };
  return {{"halyard: execute_and_wait", run}, std::nullopt, opencl_arm(world, false)};
}

}  // namespace

std::vector<Row> round_trip_rows() {
  using Kind = Target::Kind;
  return {
      {"B2.inline",
       "barrier_and_wait with one signal: the calling thread does it all",
       {{Kind::kLimit, 40}, {Kind::kMetric, 16, "read_modify_writes"}},
       inline_row},
      {"B2.spinning",
       "barrier done by an awake worker, the host polls; pinned to two cores",
       {{Kind::kLimit, 2.5}},
       spinning_row},
      {"B2.parked.same_core",
       "hcq submit and wait, host and worker asleep; pinned to one core",
       {{Kind::kLimit, 1.15}},
       [](World& world) { return parked_row(world, true); }},
      {"B2.parked.cross_core",
       "hcq submit and wait, host and worker asleep; pinned to two cores",
       {},
       [](World& world) { return parked_row(world, false); }},
      {"B2.default",
       "execute a kernel, then wait; the worker is asleep and the doorbell rings",
       {{Kind::kPeer, 0.2, "PoCL"}},
       default_row},
      {"B2.submit_and_wait",
       "execute_and_wait of a kernel: no doorbell",
       {{Kind::kPeer, 0.02, "PoCL"}},
       submit_and_wait_row},
  };
}

}  // namespace halyard::bench
