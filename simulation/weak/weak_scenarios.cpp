// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scenarios that only run on a weak memory: locks, and lanes of the cpu driver, with the doorbell
// and the sleep of workers, arming and helping. Workers are threads of the program and end with it.
#include <memory>

#include "base/mutex.h"
#include "base/parker.h"
#include "base/spin_lock.h"
#include "drivers/cpu/lane.h"
#include "drivers/cpu/ring.h"
#include "drivers/cpu/ring_group.h"
#include "drivers/cpu/slice.h"
#include "hal/recording/command.h"
#include "halyard/base/clock.h"
#include "hcq/signal_object.h"
#include "simulation/explore/explore_scenarios.h"
#include "simulation/explore/plain.h"

namespace halyard::inline v0 {

// Only called for traced submissions, which do not occur here. The rest of hal is not linked.
trace::Name hal::name_of(const Command&) noexcept { return trace::kNoName; }

namespace sim {
namespace {

template <class Lock>
void two_lockers(Program& program) {
  struct State {
    Lock lock;
    Plain count;
  };
  auto& state = program.keep<State>();
  for (int i = 0; i < 2; ++i) {
    program.thread("locker", [&state] {
      state.lock.lock();
      state.count.write(state.count.read() + 1);
      state.lock.unlock();
    });
  }
  program.at_end([&state] { expect(state.count.read() == 2, "a count is lost"); });
}

struct LaneWorld {
  explicit LaneWorld(unsigned workers)
      : group(workers), lane(cpu::Lane::create(group, cpu::RingPriority::kNormal).value()) {}

  void issue(std::uint64_t sequence) {
    const timeline::Issue issue{
        .waits = {}, .operation = &barrier, .sequence = sequence, .want_marker = false};
    expect(lane->issue({&issue, 1}, timeline::Doorbell::kRing).count == 1,
           "a ring with room is busy");
  }
  // Sleeps until the sequence is reached; with `help`, works for it first.
  void wait(std::uint64_t sequence, bool help) {
    for (;;) {
      const std::uint32_t epoch = parker.prepare();
      while (help && lane->help(sequence)) {
      }
      expect(lane->arm(sequence, parker).ok(), "no memory to arm");
      if (lane->poll().sequence >= sequence) return;
      (void)parker.park(epoch, Deadline::kForeverTime);
    }
  }

  hal::Operation barrier;
  cpu::RingGroup group;
  std::unique_ptr<cpu::Lane> lane;
  base::Parker parker;
};

// A thread issues, another arms and sleeps, or helps first. The waiter is the last to need workers.
template <int kWorkers, bool kHelps>
void issue_and_wait(Program& program) {
  auto& w = program.keep<LaneWorld>(kWorkers);
  constexpr std::uint64_t kLast = 2;
  program.thread("issuer", [&w] {
    for (std::uint64_t i = 1; i <= kLast; ++i) w.issue(i);
  });
  program.thread("waiter", [&w] {
    for (std::uint64_t i = 1; i <= kLast; ++i) w.wait(i, kHelps);
    w.group.stop();
  });
  for (int i = 0; i < kWorkers; ++i) program.thread("worker", [&w] { w.group.serve(); });
}

// A dispatch that a thread helps with for a moment, as a wait with a deadline does. Another thread
// continues with the rest.
struct DispatchWorld {
  static constexpr std::size_t kGroups = 16;  // 8 chunks, the first two of 4

  DispatchWorld() : ring(cpu::Ring::create(group, &sequence, 4).value()) {}

  static void run_group(const hcq::Workgroup* group, void* const* buffers, const void*) {
    auto& world = *static_cast<DispatchWorld*>(buffers[0]);
    world.runs[group->group[0]].write(world.runs[group->group[0]].read() + 1);
    if (group->group[0] == 1) expect(world.runs[0].read() == 1, "a chunk runs from its end");
    if (group->group[0] % 2 != 0) return;
    base::Parker unwoken;  // lets a helper's time pass
    (void)unwoken.park(unwoken.prepare(), Clock::steady().now() + cpu::Slice::kTime);
  }
  void issue() {
    ring->push(cpu::PacketKind::kExec, 1, reinterpret_cast<std::uintptr_t>(&run_group),
               reinterpret_cast<std::uintptr_t>(&buffers), 0, std::uint64_t{1} << 32 | kGroups, 1);
  }
  bool help() {
    cpu::Slice slice(1);
    return ring->step(slice, false);
  }
  void finish() {
    while (sequence.value() == 0) {
      if (!help()) base::spin_yield();
    }
    for (const Plain& each : runs)
      expect(each.read() == 1, "a workgroup ran more or less than once");
  }

  Plain runs[kGroups];
  void* buffers[1] = {this};
  hcq::SignalObject sequence{0};
  cpu::RingGroup group{0};
  std::unique_ptr<cpu::Ring> ring;
};

void rest_of_a_chunk(Program& program) {
  auto& w = program.keep<DispatchWorld>();
  program.thread("issuer", [&w] {
    w.issue();
    (void)w.help();
  });
  program.thread("helper", [&w] { w.finish(); });
}

constexpr Scenario kScenarios[] = {
    {"two_lockers", &two_lockers<base::Mutex>},
    {"two_spinners", &two_lockers<base::SpinLock>},
    {"lane_issue_and_wait", &issue_and_wait<1, false>},
    {"lane_issue_and_wait_two_workers", &issue_and_wait<2, false>},
    {"lane_issue_and_help", &issue_and_wait<1, true>},
    {"lane_issue_and_help_two_workers", &issue_and_wait<2, true>},
    {"rest_of_a_chunk", &rest_of_a_chunk},
};

}  // namespace

std::span<const Scenario> weak_scenarios() noexcept { return kScenarios; }

}  // namespace sim
}  // namespace halyard::inline v0
