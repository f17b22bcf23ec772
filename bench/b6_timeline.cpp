// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B6: the cost of a semaphore when no thread or queue waits.
#include <atomic>
#include <memory>
#include <thread>

#include "machine.h"
#include "world.h"

namespace halyard::bench {
namespace {

constexpr int kLoop = 1000;  // operations per clock reading
constexpr int kLoops = 20;

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

using Word = std::atomic<std::uint64_t>;

struct Signals {
  explicit Signals(const World& world) : semaphore(world.device().create_semaphore().value()) {}
  // Loops in sequence; the value stays in a register.
  Sample signal(int count) {
    std::uint64_t next = value;
    Sample sample = loops(count, [&] { check(semaphore.signal(++next)); });
    value = next;
    verify(semaphore.query().value() == value, "the semaphore's value");
    return sample;
  }

  hal::Semaphore semaphore;
  std::uint64_t value = 0;
};

Arm fetch_add(World& world) {
  return {"fetch_add", [word = std::make_shared<Word>(0), count = world.turns(kLoops)] {
            const std::uint64_t before = *word;
            const Sample sample = loops(count, [&] { word->fetch_add(1); });
            verify(*word - before == static_cast<std::uint64_t>(count) * kLoop, "fetch_add");
            return sample;
          }};
}

Arms signal_row(World& world) {
  const auto run = [state = std::make_shared<Signals>(world), count = world.turns(kLoops)] {
    return state->signal(count);
  };
  return {{"halyard: Semaphore::signal", run}, fetch_add(world), {}};
}

// Meanwhile a kernel runs until a word is set; it will signal a larger value.
Arms promised_row(World& world) {
  constexpr std::uint64_t kPromised = std::uint64_t{1} << 40;
  const auto run = [&world, open = std::make_shared<Words>(world.device(), 1),
                    spin = world.function("spin"), count = world.turns(kLoops)] {
    Signals state(world);
    const std::atomic_ref word((*open)[0]);
    word = 0;
    struct Open {  // ends the kernel even if the loops throw
      std::atomic_ref<std::uint32_t> word;
      ~Open() { word = 1; }
    };
    check(world.device().queue().dispatch(spin, {.groups = 1}, {open->buffer()}, {},
                                          {.signal = {{state.semaphore, kPromised}}}));
    Sample sample;
    {
      const Open at_the_end{word};
      sample = state.signal(count);
    }
    check(state.semaphore.wait(kPromised));
    return sample;
  };
  return {{"halyard: Semaphore::signal", run}, fetch_add(world), {}};
}

Arms wait_row(World& world) {
  const auto run = [state = std::make_shared<Signals>(world), count = world.turns(kLoops)] {
    (void)state->signal(1);
    return loops(count, [&] { check(state->semaphore.wait(1)); });
  };
  return {{"halyard: Semaphore::wait", run}, fetch_add(world), {}};
}

// Runs `measured` on one core while another core repeats `disturb`.
template <class Measured, class Disturb>
Sample against(const std::vector<int>& at, Measured&& measured, Disturb&& disturb) {
  std::atomic<bool> running{false}, stop{false};
  std::thread other([&] {
    const Pin pin(at[1]);
    running = true;
    while (!stop.load(std::memory_order_relaxed)) {
      for (int i = 0; i < 100; ++i) disturb();
    }
  });
  const Pin pin(at[0]);
  while (!running) std::this_thread::yield();
  Sample sample = measured();
  stop = true;
  other.join();
  return sample;
}

// One thread signals, the other waits for a reached value. Two threads cannot both signal without
// ordering each other: a value must be above the current one. The limit has the same accesses.
Arms contended_row(World& world) {
  const std::vector<int> at = cores(2);
  const auto run = [state = std::make_shared<Signals>(world), at, count = world.turns(kLoops)] {
    (void)state->signal(1);
    return against(
        at, [&] { return state->signal(count); }, [&] { check(state->semaphore.wait(1)); });
  };
  const auto limit = [word = std::make_shared<Word>(0), at, count = world.turns(kLoops)] {
    const std::uint64_t before = *word;
    const Sample sample = against(
        at, [&] { return loops(count, [&] { word->fetch_add(1); }); },
        [&] { (void)word->load(std::memory_order_acquire); });
    verify(*word - before == static_cast<std::uint64_t>(count) * kLoop, "fetch_add");
    return sample;
  };
  return {{"halyard: signal against wait", run}, Arm{"fetch_add against load", limit}, {}};
}

}  // namespace

std::vector<Row> timeline_rows() {
  using Kind = Target::Kind;
  return {
      {"B6.signal", "Semaphore::signal, no waiter", {{Kind::kLimit, 2}}, signal_row},
      {"B6.signal.promised",
       "the same while a kernel runs that is to signal a larger value",
       {{Kind::kLimit, 10}},
       promised_row},
      {"B6.wait", "Semaphore::wait for a value that is reached", {{Kind::kLimit, 1.5}}, wait_row},
      {"B6.contended",
       "signal while another core waits for reached values; pinned to two cores",
       {{Kind::kLimit, 2.5}},
       contended_row}};
}

}  // namespace halyard::bench
