// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The timeline of a hardware device, and launches on it.
#include "conformance/hcq.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace hcq_timeline {
namespace {

using hcq::ComputeQueue;
using hcq::CopyQueue;
using hcq::Point;
using hcq::Program;
using hcq::Signal;
using hcq::TimelineTurn;

void first_point_of_a_timeline_is_one(Context& t) {
  const Hardware h(t);
  VERIFY(h.device().last_timeline().reached());
  VERIFY_EQ(h.device().timeline_value(), 1u);
  VERIFY_OK(h.device().synchronize(kNow));
}

void timeline_orders_submissions_without_the_host(Context& t) {
  Hardware h(t);
  const Program increment = h.program("increment");
  const Words x(h, {0}), y(h, {0});
  for (int i = 0; i < 100; ++i) {
    ComputeQueue q;
    q.wait(h.device().last_timeline())
        .exec(increment, incrementing(increment, x.buffer()), {1, 1, 1}, increment.local_size())
        .signal(h.device().next_timeline());
    check(h.submit(q));
    CopyQueue copy;
    copy.wait(h.device().last_timeline())
        .copy(y.buffer(), x.buffer(), 4)
        .copy(x.buffer(), y.buffer(), 4)
        .signal(h.device().next_timeline());
    check(h.submit(copy));
  }
  VERIFY_EQ(y.read(0), 100u);
}

void points_that_are_kept_stay_true(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    std::vector<Point> points;
    for (int i = 0; i < 20; ++i) {
      auto q = make();
      q.wait(h.device().last_timeline()).signal(h.device().next_timeline());
      VERIFY_OK(h.submit(q));
      points.push_back(h.device().last_timeline());
    }
    VERIFY_OK(points.back().wait(kWatchdog));
    for (const Point& point : points) VERIFY(point.reached());
    VERIFY(Point().reached());
    VERIFY_OK(Point().wait(kNow));
  });
}

void synchronize_ends_at_its_deadline(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal gate = h.signal();
    auto q = make();
    q.wait(gate, 1).signal(h.device().next_timeline());
    VERIFY_OK(h.submit(q));
    VERIFY_CODE(h.device().synchronize(kAWhile), StatusCode::kDeadlineExceeded);
    gate.set(1);
    VERIFY_OK(h.device().synchronize(kWatchdog));
  });
}

void turn_without_a_commit_takes_no_point(Context& t) {
  const Hardware h(t);
  const std::uint64_t next = h.device().timeline_value();
  {
    const TimelineTurn turn(h.device());
    VERIFY_EQ(turn.next().value, next);
    VERIFY_EQ(turn.last().value + 1, turn.next().value);
  }
  VERIFY_EQ(h.device().timeline_value(), next);
  VERIFY_OK(h.device().synchronize(kNow));
}

void threads_take_points_in_the_order_of_their_submissions(Context& t) {
  Hardware h(t);
  const Program increment = h.program("increment");
  const Words x(h, {0});
  const std::uint32_t each = t.rounds(100);
  Threads threads;
  for (std::uint32_t i = 0; i < t.threads(4); ++i) {
    threads.start([&] {
      for (std::uint32_t n = 0; n < each; ++n) {
        TimelineTurn turn(h.device());
        ComputeQueue q;
        q.wait(turn.last())
            .exec(increment, incrementing(increment, x.buffer()), {1, 1, 1}, increment.local_size())
            .signal(turn.next());
        VERIFY_OK(q.submit(h.device()));
        turn.commit();
      }
    });
  }
  threads.join();
  VERIFY_EQ(x.read(0), t.threads(4) * each);
}

void launch_runs_behind_everything_submitted(Context& t) {
  Hardware h(t);
  const Program increment = h.program("increment");
  const Words x(h, {7}), copied(h, {0});
  const Signal gate = h.signal();
  CopyQueue q;
  q.wait(gate, 1).copy(copied.buffer(), x.buffer(), 4).signal(h.device().next_timeline());
  VERIFY_OK(h.submit(q));
  const hcq::ArgsState args = incrementing(increment, x.buffer());
  for (int i = 0; i < 10; ++i) VERIFY_OK(increment.launch(h.device(), args, {1, 1, 1}));
  VERIFY_CODE(increment.launch_and_wait(h.device(), args, {1, 1, 1}, kAWhile),
              StatusCode::kDeadlineExceeded);
  gate.set(1);
  VERIFY_EQ(copied.read(0), 7u);
  VERIFY_EQ(x.read(0), 18u);
}

void launch_and_wait_tells_how_long_the_kernel_ran(Context& t) {
  Hardware h(t);
  const Program busy = h.program("busy");
  const Words x(h, {1});
  const auto run = [&](std::uint32_t rounds) {
    const Nanoseconds start = Clock::steady().now();
    const Nanoseconds ran =
        busy.launch_and_wait(h.device(), busy.fill_kernargs({x.buffer()}, {rounds}), {1, 1, 1},
                             kWatchdog)
            .value();
    VERIFY(ran <= Clock::steady().now() - start);
    return ran;
  };
  // Each step of the generator depends on the previous step: a million steps take more than 10 us.
  VERIFY(run(1'000'000) > 10'000);
  VERIFY(run(0) >= 0);
}

void refused_launch_takes_no_point(Context& t) {
  Hardware h(t);
  const Program increment = h.program("increment");
  const std::uint64_t next = h.device().timeline_value();
  const Status status = increment.launch(h.device(), increment.fill_kernargs({}), {1, 1, 1});
  VERIFY_CODE(status, StatusCode::kInvalidArgument);
  VERIFY(status.message().find("program 'increment'") != std::string_view::npos);
  VERIFY_EQ(h.device().timeline_value(), next);
  VERIFY_OK(h.device().synchronize(kNow));
}

void kernel_arguments_may_lie_in_the_callers_memory(Context& t) {
  Hardware h(t);
  const Program write = h.program("write_counts");
  const Words a(h, std::vector<std::uint32_t>(3)), b(h, std::vector<std::uint32_t>(3));
  const Signal gate = h.signal();
  std::vector<std::uint64_t> memory((write.kernargs_size() + 7) / 8);
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(memory));
  const hcq::BufferOperand first[] = {a.buffer()}, second[] = {b.buffer()};
  const hcq::Value values[] = {1u, 2u, 3u};
  ComputeQueue q;
  q.wait(gate, 1)
      .exec(write, write.fill_kernargs(first, values, bytes), {1, 1, 1}, write.local_size())
      .signal(h.device().next_timeline());
  VERIFY_OK(h.submit(q));
  // The kernel reads its arguments when it runs, not before.
  VERIFY_OK(write.fill_kernargs(second, values, bytes).status());
  gate.set(1);
  VERIFY(b.read() == std::vector<std::uint32_t>({1, 2, 3}));
  VERIFY(a.read() == std::vector<std::uint32_t>(3));
  const Status small = write.fill_kernargs(first, values, bytes.first(8)).status();
  VERIFY_CODE(small, StatusCode::kOutOfRange);
  VERIFY(small.message().find("program 'write_counts'") != std::string_view::npos);
  VERIFY_CODE(write.fill_kernargs(first, values, bytes.subspan(1)).status(),
              bytes.size() - 1 < write.kernargs_size() ? StatusCode::kOutOfRange
                                                       : StatusCode::kInvalidArgument);
}

#define CASE(name) {"hcq_timeline", #name, name}
#define CASE_BOUND_AND_NOT(name) {"hcq_timeline", #name, name, Vary::kBoundQueues}
#define CASE_IN_EVERY_WAY(name) \
  {"hcq_timeline", #name, name, Vary::kQueueKinds | Vary::kBoundQueues}
constexpr Case kCases[] = {
    CASE(first_point_of_a_timeline_is_one),
    CASE_BOUND_AND_NOT(timeline_orders_submissions_without_the_host),
    CASE_IN_EVERY_WAY(points_that_are_kept_stay_true),
    CASE_IN_EVERY_WAY(synchronize_ends_at_its_deadline),
    CASE(turn_without_a_commit_takes_no_point),
    CASE(threads_take_points_in_the_order_of_their_submissions),
    CASE_BOUND_AND_NOT(launch_runs_behind_everything_submitted),
    CASE(launch_and_wait_tells_how_long_the_kernel_ran),
    CASE(refused_launch_takes_no_point),
    CASE_BOUND_AND_NOT(kernel_arguments_may_lie_in_the_callers_memory),
};
#undef CASE
#undef CASE_BOUND_AND_NOT
#undef CASE_IN_EVERY_WAY

}  // namespace
}  // namespace hcq_timeline

std::span<const Case> hcq_timeline_cases() noexcept { return hcq_timeline::kCases; }

}  // namespace halyard::inline v0::conformance
