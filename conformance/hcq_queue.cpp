// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hardware queues: the effect of each command, and refused uses; both kinds, copied and bound.
#include <algorithm>
#include <atomic>

#include "conformance/bytes.h"
#include "conformance/hcq.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace hcq_queue {
namespace {

using hcq::ComputeQueue;
using hcq::CopyQueue;
using hcq::Program;
using hcq::Signal;

constexpr StatusCode kInvalidArgument = StatusCode::kInvalidArgument;

bool says(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string_view::npos;
}

// ---- Signals

void signal_reaches_a_waiting_host(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal done = h.signal();
    Threads threads;
    threads.start([&] { VERIFY_SIGNALLED(done, 5); });
    auto q = make();
    q.signal(done, 5);
    VERIFY_OK(h.submit(q));
    threads.join();
    VERIFY_EQ(done.value(), 5u);
  });
}

void signal_of_a_lower_value_changes_nothing(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal s = h.signal(7);
    const Signal done = h.signal();
    auto q = make();
    q.signal(s, 3).signal(done, 1);
    VERIFY_OK(h.submit(q));
    VERIFY_SIGNALLED(done, 1);
    VERIFY_EQ(s.value(), 7u);
  });
}

void values_of_64_bits_are_waited_for(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const std::uint64_t high = std::uint64_t{1} << 32;
    const Signal gate = h.signal(high - 2);
    const Signal done = h.signal();
    auto q = make();
    for (std::uint64_t value = high - 1; value <= high + 1; ++value) {
      q.wait(gate, value - 1).signal(gate, value);
    }
    q.signal(done, 1);
    VERIFY_OK(h.submit(q));
    VERIFY_SIGNALLED(done, 1);
    VERIFY_EQ(gate.value(), high + 1);
  });
}

void reached_wait_lets_the_queue_pass(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal gate = h.signal(4);
    const Signal done = h.signal();
    auto q = make();
    q.wait(gate, 0).wait(gate, 4).signal(done, 1);
    VERIFY_OK(h.submit(q));
    VERIFY_SIGNALLED(done, 1);
  });
}

void wait_set_late_blocks_the_queue_until_then(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal gate = h.signal();
    const Signal done = h.signal();
    auto q = make();
    q.wait(gate, 2).signal(done, 1);
    VERIFY_OK(h.submit(q));
    gate.set(1);
    VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
    gate.set(2);
    VERIFY_SIGNALLED(done, 1);
  });
}

void wait_is_satisfied_by_a_larger_value(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal gate = h.signal();
    const Signal done = h.signal();
    auto q = make();
    q.wait(gate, 3).signal(done, 1);
    VERIFY_OK(h.submit(q));
    gate.set(1000);
    VERIFY_SIGNALLED(done, 1);
  });
}

void host_wait_ends_at_its_deadline_and_names_both_values(Context& t) {
  const Hardware h(t);
  const Status status = h.signal(3).wait(42, kAWhile);
  VERIFY_CODE(status, StatusCode::kDeadlineExceeded);
  VERIFY(says(status, "signal") && says(status, "42") && says(status, "3"));
}

void timestamp_leaves_the_value_and_lies_between_the_hosts(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal stamp = h.signal(9);
    const Signal later = h.signal();
    const Signal done = h.signal();
    VERIFY_EQ(stamp.timestamp(), 0);
    auto q = make();
    q.timestamp(stamp).timestamp(later).signal(done, 1);
    const Nanoseconds before = Clock::steady().now();
    VERIFY_OK(h.submit(q));
    VERIFY_SIGNALLED(done, 1);
    const Nanoseconds after = Clock::steady().now();
    VERIFY(before <= stamp.timestamp());
    VERIFY(stamp.timestamp() <= later.timestamp());
    VERIFY(later.timestamp() <= after);
    VERIFY_EQ(stamp.value(), 9u);
  });
}

// ---- Kernels and copies

void kernel_runs_between_wait_and_signal(Context& t) {
  Hardware h(t);
  const Program increment = h.program("increment");
  const Words x(h, std::vector<std::uint32_t>(1000, 41));
  const Signal gate = h.signal();
  const Signal done = h.signal();
  ComputeQueue q;
  q.wait(gate, 1)
      .exec(increment, incrementing(increment, x.buffer()), {16, 1, 1}, increment.local_size())
      .signal(done, 1);
  VERIFY_OK(h.submit(q));
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_EQ(x.read(999), 41u);
  gate.set(1);
  VERIFY_SIGNALLED(done, 1);
  VERIFY(x.read() == std::vector<std::uint32_t>(1000, 42));
}

void every_group_of_a_large_grid_runs_once(Context& t) {
  Hardware h(t);
  const Program places = h.program("group_places");
  const Words marks(h, std::vector<std::uint32_t>(40 * 30 * 20));
  const Signal done = h.signal();
  ComputeQueue q;
  q.exec(places, places.fill_kernargs({marks.buffer()}), {40, 30, 20}, places.local_size())
      .signal(done, 1);
  VERIFY_OK(h.submit(q));
  VERIFY_SIGNALLED(done, 1);
  const std::vector<std::uint32_t> seen = marks.read();
  for (std::uint32_t i = 0; i < seen.size(); ++i) {
    const std::uint32_t expected = 1 + i % 40 + 100 * (i / 40 % 30) + 10000 * (i / 1200);
    if (seen[i] != expected) VERIFY_EQ(seen[i], expected);
  }
}

void kernel_of_no_groups_runs_nothing(Context& t) {
  Hardware h(t);
  const Program increment = h.program("increment");
  const Words x(h, {5});
  const Signal done = h.signal();
  ComputeQueue q;
  for (const hcq::Size3 size : {hcq::Size3{0, 1, 1}, hcq::Size3{1, 0, 1}, hcq::Size3{1, 1, 0}}) {
    q.exec(increment, incrementing(increment, x.buffer()), size, increment.local_size());
  }
  q.signal(done, 1);
  VERIFY_OK(h.submit(q));
  VERIFY_SIGNALLED(done, 1);
  VERIFY_EQ(x.read(0), 5u);
}

void memory_barrier_shows_what_was_copied_in(Context& t) {
  Hardware h(t);
  const Program increment = h.program("increment");
  const Words x(h, {0});
  const hcq::ArgsState args = incrementing(increment, x.buffer());
  for (std::uint32_t i = 1; i < 256; ++i) {
    VERIFY_OK(h.allocator().copy_in(x.buffer(), &i, 4));
    ComputeQueue q;
    q.wait(h.device().last_timeline())
        .memory_barrier()
        .exec(increment, args, {1, 1, 1}, increment.local_size())
        .signal(h.device().next_timeline());
    VERIFY_OK(h.submit(q));
    if (x.read(0) != i + 1) VERIFY_EQ(x.read(0), i + 1);
  }
}

void copy_writes_its_range_alone(Context& t) {
  Hardware h(t);
  constexpr std::uint64_t kSize = 70000;
  const ByteVector source = ramp(kSize);
  const hcq::Memory from = h.allocator().allocate(kSize).value();
  const hcq::Memory to = h.allocator().allocate(kSize).value();
  check(h.allocator().copy_in(from.buffer(), source.data(), kSize));
  for (const CopyClass& at : kCopyAlignments) {
    for (const std::uint64_t length : kCopyLengths) {
      ByteVector expected(kSize, std::byte{0x33});
      check(h.allocator().copy_in(to.buffer(), expected.data(), kSize));
      CopyQueue q;
      q.wait(h.device().last_timeline())
          .copy({to.buffer().va_addr + at.target, length},
                {from.buffer().va_addr + at.source, length}, length)
          .signal(h.device().next_timeline());
      VERIFY_OK(h.submit(q));
      std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(at.source), length,
                  expected.begin() + static_cast<std::ptrdiff_t>(at.target));
      ByteVector seen(kSize);
      check(h.allocator().copy_out(seen.data(), to.buffer(), kSize, kWatchdog));
      if (seen != expected) {
        t.fail(__FILE__, __LINE__,
               fmt::format("from {} to {}, length {}", at.source, at.target, length));
      }
    }
  }
}

void copies_of_one_queue_are_ordered(Context& t) {
  Hardware h(t);
  const Words a(h, std::vector<std::uint32_t>(5000, 1));
  const Words b(h, std::vector<std::uint32_t>(5000, 2));
  const Words c(h, std::vector<std::uint32_t>(5000, 3));
  CopyQueue q;
  q.copy(b.buffer(), a.buffer(), 20000)
      .copy(c.buffer(), b.buffer(), 20000)
      .signal(h.device().next_timeline());
  VERIFY_OK(h.submit(q));
  VERIFY(c.read() == std::vector<std::uint32_t>(5000, 1));
}

void overlapping_copy_is_a_move(Context& t) {
  Hardware h(t);
  const Words x(h, {1, 2, 3, 4, 5, 6});
  CopyQueue q;
  q.copy(x.part(1, 5), x.part(0, 5), 20).signal(h.device().next_timeline());
  VERIFY_OK(h.submit(q));
  VERIFY(x.read() == std::vector<std::uint32_t>({1, 1, 2, 3, 4, 5}));
}

void custom_command_runs_in_its_turn_with_its_words(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const hcq::CustomCommand append{"append", [](const std::uint64_t* words) {
                                      auto& sum =
                                          *reinterpret_cast<std::atomic<std::uint64_t>*>(words[0]);
                                      sum = 10 * sum + words[1] + words[2] + words[3];
                                    }};
    std::atomic<std::uint64_t>& sum = h.cell();
    const Signal gate = h.signal();
    const Signal done = h.signal();
    auto q = make();
    q.wait(gate, 1);
    for (std::uint64_t i = 1; i <= 5; ++i) q.custom(append, {address_of(sum), i, 1});
    q.signal(done, 1);
    VERIFY_OK(h.submit(q));
    VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
    VERIFY_EQ(sum.load(), 0u);
    gate.set(1);
    VERIFY_SIGNALLED(done, 1);
    VERIFY_EQ(sum.load(), 23456u);
  });
}

// ---- Profiles

void profile_tells_when_each_command_ran(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const hcq::CustomCommand nothing{"nothing", [](const std::uint64_t*) {}};
    const hcq::CustomCommand second{"second", [](const std::uint64_t*) {}};
    const Signal done = h.signal();
    auto q = make();
    q.custom(nothing, {});
    q.set_profiling(true);
    q.custom(nothing, {}).custom(second, {}).signal(done, 1);
    const Nanoseconds before = Clock::steady().now();
    VERIFY_OK(h.submit(q));
    VERIFY_SIGNALLED(done, 1);
    const Nanoseconds after = Clock::steady().now();
    const std::vector<hcq::CommandTimes> times = q.profile();
    VERIFY_EQ(times.size(), 2u);
    if (times.size() != 2) return;
    VERIFY_EQ(times[0].command, 1u);
    VERIFY_EQ(times[0].name, "nothing");
    VERIFY_EQ(times[1].name, "second");
    VERIFY(before <= times[0].begin);
    VERIFY(times[0].begin <= times[0].end);
    VERIFY(times[0].end <= times[1].begin);
    VERIFY(times[1].end <= after);
  });
}

// ---- Refused uses

void empty_queue_may_be_submitted(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    auto q = make();
    VERIFY_EQ(q.command_count(), 0u);
    VERIFY_OK(h.submit(q));
    VERIFY_OK(q.submit(h.device()));
  });
}

void empty_signal_is_refused_and_nothing_is_queued(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal done = h.signal();
    auto signalling = make();
    signalling.signal(done, 1).signal(Signal(), 1);
    const Status status = signalling.submit(h.device());
    VERIFY_CODE(status, kInvalidArgument);
    VERIFY(says(status, "signal with an empty signal"));
    auto waiting = make();
    waiting.signal(done, 1).wait(Signal(), 1);
    VERIFY_CODE(waiting.submit(h.device()), kInvalidArgument);
    auto stamping = make();
    stamping.signal(done, 1).timestamp(Signal());
    VERIFY_CODE(stamping.submit(h.device()), kInvalidArgument);
    VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
    VERIFY_CODE(Signal().wait(1, kNow), kInvalidArgument);
  });
}

void first_error_of_a_queue_sticks(Context& t) {
  Hardware h(t);
  const Words x(h, {1});
  const Signal done = h.signal();
  CopyQueue q;
  q.copy(x.buffer(), x.buffer(), 5).signal(Signal(), 1).signal(done, 1);
  for (int i = 0; i < 2; ++i) {
    const Status status = q.submit(h.device());
    VERIFY_CODE(status, StatusCode::kOutOfRange);
    VERIFY(says(status, "queue: copy of 5 bytes from 4 to 4 bytes"));
  }
  CopyQueue wrapped;
  wrapped.copy(x.buffer(), x.buffer(), std::uint64_t{0} - 4);
  VERIFY(says(wrapped.submit(h.device()), "queue: copy of 2^64 - 4 bytes from 4 to 4 bytes"));
}

void wrong_arguments_of_a_kernel_are_refused_and_named(Context& t) {
  Hardware h(t);
  const Program increment = h.program("increment");
  const Words x(h, {1});
  const hcq::Buffer b = x.buffer();
  const Status typed = increment.fill_kernargs({b}, {1.0f}).status();
  VERIFY_CODE(typed, kInvalidArgument);
  VERIFY(says(typed, "program 'increment': 'n' is uint32, float32 was given"));
  VERIFY_CODE(increment.fill_kernargs({b, b}, {1u}).status(), kInvalidArgument);
  VERIFY_CODE(increment.fill_kernargs({b}, {1u, 1u}).status(), kInvalidArgument);
  const auto refused = [&](const hcq::ArgsState& args, hcq::Size3 groups, hcq::Size3 local) {
    ComputeQueue q;
    VERIFY_CODE(q.exec(increment, args, groups, local).submit(h.device()), kInvalidArgument);
  };
  const hcq::Size3 local = increment.local_size();
  refused(increment.fill_kernargs({b}, {1.0f}), {1, 1, 1}, local);
  refused(incrementing(increment, b), {1, 1, 1}, {local.x + 1, 1, 1});
  refused(incrementing(increment, b), {~0u, ~0u, 2}, local);
  refused(h.program("negate").fill_kernargs({b}, {1u}), {1, 1, 1}, local);
  VERIFY_CODE(Program().fill_kernargs({b}, {}).status(), kInvalidArgument);
  VERIFY_EQ(x.read(0), 1u);
}

void no_command_follows_bind(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal done = h.signal();
    auto q = make();
    q.signal(done, 1);
    VERIFY_OK(q.bind(h.device()));
    q.signal(done, 2);
    VERIFY_CODE(q.submit(h.device()), StatusCode::kFailedPrecondition);
    VERIFY_EQ(done.value(), 0u);
  });
}

#define CASE(name) {"hcq_queue", #name, name}
#define CASE_ON_EVERY_QUEUE(name) {"hcq_queue", #name, name, Vary::kQueueKinds}
#define CASE_BOUND_AND_NOT(name) {"hcq_queue", #name, name, Vary::kBoundQueues}
#define CASE_IN_EVERY_WAY(name) {"hcq_queue", #name, name, Vary::kQueueKinds | Vary::kBoundQueues}
constexpr Case kCases[] = {
    CASE_IN_EVERY_WAY(signal_reaches_a_waiting_host),
    CASE_IN_EVERY_WAY(signal_of_a_lower_value_changes_nothing),
    CASE_IN_EVERY_WAY(values_of_64_bits_are_waited_for),
    CASE_IN_EVERY_WAY(reached_wait_lets_the_queue_pass),
    CASE_IN_EVERY_WAY(wait_set_late_blocks_the_queue_until_then),
    CASE_IN_EVERY_WAY(wait_is_satisfied_by_a_larger_value),
    CASE(host_wait_ends_at_its_deadline_and_names_both_values),
    CASE_IN_EVERY_WAY(timestamp_leaves_the_value_and_lies_between_the_hosts),
    CASE_BOUND_AND_NOT(kernel_runs_between_wait_and_signal),
    CASE_BOUND_AND_NOT(every_group_of_a_large_grid_runs_once),
    CASE_BOUND_AND_NOT(kernel_of_no_groups_runs_nothing),
    CASE_BOUND_AND_NOT(memory_barrier_shows_what_was_copied_in),
    CASE_BOUND_AND_NOT(copy_writes_its_range_alone),
    CASE_BOUND_AND_NOT(copies_of_one_queue_are_ordered),
    CASE_BOUND_AND_NOT(overlapping_copy_is_a_move),
    CASE_IN_EVERY_WAY(custom_command_runs_in_its_turn_with_its_words),
    CASE_IN_EVERY_WAY(profile_tells_when_each_command_ran),
    CASE_IN_EVERY_WAY(empty_queue_may_be_submitted),
    CASE_ON_EVERY_QUEUE(empty_signal_is_refused_and_nothing_is_queued),
    CASE(first_error_of_a_queue_sticks),
    CASE(wrong_arguments_of_a_kernel_are_refused_and_named),
    CASE_ON_EVERY_QUEUE(no_command_follows_bind),
};
#undef CASE
#undef CASE_ON_EVERY_QUEUE
#undef CASE_BOUND_AND_NOT
#undef CASE_IN_EVERY_WAY

}  // namespace
}  // namespace hcq_queue

std::span<const Case> hcq_queue_cases() noexcept { return hcq_queue::kCases; }

}  // namespace halyard::inline v0::conformance
