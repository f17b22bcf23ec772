// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hardware queues: order between queues and devices, backpressure, lifetimes, threads.
#include <atomic>
#include <random>

#include "conformance/hcq.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace hcq_order {
namespace {

using hcq::ComputeQueue;
using hcq::CopyQueue;
using hcq::Program;
using hcq::Signal;

// Increments a counter in host memory.
const hcq::CustomCommand kCount{"count", [](const std::uint64_t* words) {
                                  ++*reinterpret_cast<std::atomic<std::uint64_t>*>(words[0]);
                                }};

// ---- Order

void blocked_queue_does_not_stop_the_other(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal gate = h.signal();
    const Signal blocked = h.signal();
    const Signal done = h.signal();
    auto q = make();
    q.wait(gate, 1).signal(blocked, 1);
    VERIFY_OK(h.submit(q));
    const auto pass = [&](auto other) { VERIFY_OK(other.signal(done, 1).submit(h.device())); };
    t.kind() == hal::QueueKind::kCompute ? pass(CopyQueue()) : pass(ComputeQueue());
    VERIFY_SIGNALLED(done, 1);
    VERIFY_EQ(blocked.value(), 0u);
    gate.set(1);
    VERIFY_SIGNALLED(blocked, 1);
  });
}

void signals_order_the_queues_of_two_devices(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    VERIFY(h.device(0).can_access(h.device(1)));
    const Signal there = h.device(0).create_signal().value();
    const Signal back = h.device(1).create_signal().value();
    std::atomic<std::uint64_t>& count = h.cell();
    for (std::uint64_t i = 1; i <= 50; ++i) {
      auto first = make();
      first.wait(back, i - 1).custom(kCount, {address_of(count)}).signal(there, i);
      auto second = make();
      second.wait(there, i).custom(kCount, {address_of(count)}).signal(back, i);
      VERIFY_OK(h.submit(second, 1));  // before the work that signals it
      VERIFY_OK(h.submit(first, 0));
    }
    VERIFY_SIGNALLED(back, 50);
    VERIFY_EQ(count.load(), 100u);
  });
}

void random_waits_across_devices_are_all_met(Context& t) {
  constexpr std::size_t kQueues = 4;
  std::vector<Signal> signals;  // the commands read them, so they live as long as the devices
  Hardware h(t);
  for (std::size_t i = 0; i < kQueues; ++i) signals.push_back(h.signal());
  const hcq::CustomCommand expect{"expect", [](const std::uint64_t* words) {
                                    const auto& s = *reinterpret_cast<const Signal*>(words[0]);
                                    if (s.value() >= words[1]) return;
                                    ++*reinterpret_cast<std::atomic<std::uint64_t>*>(words[2]);
                                  }};
  std::atomic<std::uint64_t>& early = h.cell();
  std::mt19937 random(7);
  std::uint64_t steps[kQueues] = {};
  const auto build = [&](auto q, std::size_t own) {
    for (std::size_t waits = random() % 4; waits > 0; --waits) {
      const std::size_t other = random() % kQueues;
      if (steps[other] == 0) continue;
      const std::uint64_t value = 1 + random() % steps[other];
      q.wait(signals[other], value)
          .custom(expect, {address_of(signals[other]), value, address_of(early)});
    }
    q.signal(signals[own], ++steps[own]);
    check(h.submit(q, own / 2));
  };
  for (std::uint32_t step = 0; step < t.rounds(2000); ++step) {
    const std::size_t own = random() % kQueues;
    own % 2 == 0 ? build(ComputeQueue(), own) : build(CopyQueue(), own);
  }
  for (std::size_t i = 0; i < kQueues; ++i) VERIFY_SIGNALLED(signals[i], steps[i]);
  VERIFY_EQ(early.load(), 0u);
}

// ---- Backpressure

void twenty_thousand_increments_behind_a_gate_all_run(Context& t) {
  Hardware h(t);
  const Program increment = h.program("increment");
  const Words x(h, {0});
  const Signal gate = h.signal();
  const Signal done = h.signal();
  ComputeQueue first;
  VERIFY_OK(first.wait(gate, 1).submit(h.device()));
  ComputeQueue q;
  q.exec(increment, incrementing(increment, x.buffer()), {1, 1, 1}, increment.local_size());
  h.prepare(q);
  for (int i = 0; i < 20'000; ++i) check(q.submit(h.device()));
  VERIFY_OK(ComputeQueue().signal(done, 1).submit(h.device()));
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  gate.set(1);
  VERIFY_SIGNALLED(done, 1);
  VERIFY_EQ(x.read(0), 20'000u);
}

void kernel_arguments_in_flight_are_never_overwritten(Context& t) {
  Hardware h(t);
  const Program write = h.program("write_counts");
  constexpr std::uint32_t kLaunches = 3000;
  const Words x(h, std::vector<std::uint32_t>(3 * kLaunches));
  const Signal gate = h.signal();
  const Signal done = h.signal();
  VERIFY_OK(ComputeQueue().wait(gate, 1).submit(h.device()));
  for (std::uint32_t i = 0; i < kLaunches; ++i) {
    ComputeQueue q;
    q.exec(write, write.fill_kernargs({x.part(3 * i, 3)}, {i, i + 1, ~i}), {1, 1, 1},
           write.local_size());
    check(h.submit(q));
  }
  VERIFY_OK(ComputeQueue().signal(done, 1).submit(h.device()));
  gate.set(1);
  VERIFY_SIGNALLED(done, 1);
  const std::vector<std::uint32_t> seen = x.read();
  for (std::uint32_t i = 0; i < kLaunches; ++i) {
    if (seen[3 * i] != i || seen[3 * i + 2] != ~i) VERIFY_EQ(seen[3 * i], i);
  }
}

void submission_larger_than_the_ring_runs_whole(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    std::atomic<std::uint64_t>& count = h.cell();
    const Signal done = h.signal();
    auto q = make();
    for (int i = 0; i < 5000; ++i) q.custom(kCount, {address_of(count)});
    q.signal(done, 1);
    VERIFY_EQ(q.command_count(), 5001u);
    VERIFY_OK(h.submit(q));
    VERIFY_SIGNALLED(done, 1);
    VERIFY_EQ(count.load(), 5000u);
  });
}

void endless_submission_is_refused_and_nothing_is_lost(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    std::atomic<std::uint64_t>& count = h.cell();
    const Signal gate = h.signal();
    const Signal done = h.signal();
    auto first = make();
    VERIFY_OK(first.wait(gate, 1).submit(h.device()));
    auto q = make();
    for (int i = 0; i < 10'000; ++i) q.custom(kCount, {address_of(count)});
    std::uint64_t accepted = 0;
    Status status;
    while (accepted < 100'000 && status.ok()) {
      status = q.submit(h.device());
      if (status.ok()) ++accepted;
    }
    VERIFY_CODE(status, StatusCode::kResourceExhausted);
    VERIFY(status.message().find("queue") != std::string_view::npos);
    gate.set(1);
    auto last = make();
    last.signal(done, 1);
    VERIFY_UNTIL(last.submit(h.device()).ok());
    VERIFY_SIGNALLED(done, 1);
    VERIFY_EQ(count.load(), 10'000 * accepted);
  });
}

// ---- Lifetimes

void queue_signal_and_program_may_go_while_queued(Context& t) {
  Hardware h(t);
  const Words x(h, {1});
  const Signal gate = h.signal();
  const Signal done = h.signal();
  {
    const Program increment = h.program("increment");
    const Signal middle = h.signal();
    ComputeQueue q;
    q.wait(gate, 1)
        .exec(increment, incrementing(increment, x.buffer()), {1, 1, 1}, increment.local_size())
        .signal(middle, 1)
        .wait(middle, 1)
        .signal(done, 1);
    VERIFY_OK(h.submit(q));
  }
  const Signal other = h.signal();  // would reuse a freed one's memory
  gate.set(1);
  VERIFY_SIGNALLED(done, 1);
  VERIFY_EQ(x.read(0), 2u);
}

void signal_outlives_its_device(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    Signal kept;
    {
      const Hardware other(t);
      kept = other.signal(3);
    }
    auto q = make();
    q.wait(kept, 3).signal(kept, 4);
    VERIFY_OK(h.submit(q));
    VERIFY_SIGNALLED(kept, 4);
  });
}

void device_closes_over_a_blocked_queue(Context& t) {
  with_queue(t, [&](Hardware& outer, auto make) {
    std::atomic<std::uint64_t>& count = outer.cell();
    const Signal gate = outer.signal();
    const Signal started = outer.signal();
    const Signal ended = outer.signal();
    {
      const Hardware h(t);
      auto q = make();
      q.signal(started, 1).wait(gate, 1).custom(kCount, {address_of(count)}).signal(ended, 1);
      VERIFY_OK(h.submit(q));
      VERIFY_SIGNALLED(started, 1);
    }
    gate.set(1);
    VERIFY_CODE(ended.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
    VERIFY_EQ(count.load(), 0u);
  });
}

void bound_queue_goes_to_another_device_as_a_copy(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    std::atomic<std::uint64_t>& count = h.cell();
    const Signal done = h.signal();
    auto q = make();
    q.custom(kCount, {address_of(count)}).signal(done, 1);
    VERIFY_OK(q.bind(h.device(0)));
    VERIFY_OK(q.submit(h.device(1)));
    VERIFY_SIGNALLED(done, 1);
    VERIFY_EQ(count.load(), 1u);
  });
}

// ---- Threads

void threads_submit_to_one_device(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    std::atomic<std::uint64_t>& count = h.cell();
    const std::uint32_t each = t.rounds(300);
    Threads threads;
    for (std::uint32_t i = 0; i < t.threads(4); ++i) {
      threads.start([&] {
        const Signal done = h.signal();
        for (std::uint64_t n = 1; n <= each; ++n) {
          auto q = make();
          q.custom(kCount, {address_of(count)}).signal(done, n);
          h.prepare(q);
          Status status;
          VERIFY_UNTIL((status = q.submit(h.device())).code() != StatusCode::kResourceExhausted);
          VERIFY_OK(status);
        }
        VERIFY_SIGNALLED(done, each);
      });
    }
    threads.join();
    VERIFY_EQ(count.load(), t.threads(4) * each);
  });
}

void signals_race_waiting_queues(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const std::uint64_t count = t.rounds(300);
    const Signal gate = h.signal();
    const Signal done = h.signal();
    Threads threads;
    threads.start([&] {
      for (std::uint64_t i = 1; i <= count; ++i) gate.set(i);
    });
    for (std::uint64_t i = 1; i <= count; ++i) {
      auto q = make();
      q.wait(gate, i).signal(done, i);
      check(h.submit(q));
    }
    VERIFY_SIGNALLED(done, count);
  });
}

#define CASE_ON_EVERY_QUEUE(name) {"hcq_order", #name, name, Vary::kQueueKinds}
#define CASE_BOUND_AND_NOT(name) {"hcq_order", #name, name, Vary::kBoundQueues}
#define CASE_IN_EVERY_WAY(name) {"hcq_order", #name, name, Vary::kQueueKinds | Vary::kBoundQueues}
constexpr Case kCases[] = {
    CASE_IN_EVERY_WAY(blocked_queue_does_not_stop_the_other),
    CASE_IN_EVERY_WAY(signals_order_the_queues_of_two_devices),
    CASE_BOUND_AND_NOT(random_waits_across_devices_are_all_met),
    CASE_BOUND_AND_NOT(twenty_thousand_increments_behind_a_gate_all_run),
    CASE_BOUND_AND_NOT(kernel_arguments_in_flight_are_never_overwritten),
    CASE_IN_EVERY_WAY(submission_larger_than_the_ring_runs_whole),
    CASE_ON_EVERY_QUEUE(endless_submission_is_refused_and_nothing_is_lost),
    CASE_BOUND_AND_NOT(queue_signal_and_program_may_go_while_queued),
    CASE_IN_EVERY_WAY(signal_outlives_its_device),
    CASE_IN_EVERY_WAY(device_closes_over_a_blocked_queue),
    CASE_ON_EVERY_QUEUE(bound_queue_goes_to_another_device_as_a_copy),
    CASE_IN_EVERY_WAY(threads_submit_to_one_device),
    CASE_IN_EVERY_WAY(signals_race_waiting_queues),
};
#undef CASE_ON_EVERY_QUEUE
#undef CASE_BOUND_AND_NOT
#undef CASE_IN_EVERY_WAY

}  // namespace
}  // namespace hcq_order

std::span<const Case> hcq_order_cases() noexcept { return hcq_order::kCases; }

}  // namespace halyard::inline v0::conformance
