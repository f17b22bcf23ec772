// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs drawn from a seed, run by several threads at once on the real runtime, with its shells,
// the cpu driver's workers and the serial driver's threads. The seed determines what each thread
// does, the machine its order. HALYARD_STRESS_SEEDS=A..B (or A) replaces the default seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "hal/device/device.h"
#include "hal/device/registry.h"
#include "hal/stress_seeds.h"
#include "halyard/hal/device.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeeds = 20;
constexpr unsigned kThreads = 6;
constexpr int kActions = 200;  // of each thread
constexpr std::size_t kLines = 8;
constexpr auto kNever = 60s;  // beyond any wait that ends
constexpr StatusCode kPlanted = StatusCode::kInternal;

// A semaphore with many producers, each of which takes a value of its own. A producer offers its
// value before it signals: a value that was not offered is reached too early.
struct Line {
  Semaphore semaphore;
  std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> offered{0};

  std::uint64_t take() { return taken.fetch_add(1) + 1; }
  void offer(std::uint64_t value) {
    std::uint64_t seen = offered.load();
    while (seen < value && !offered.compare_exchange_weak(seen, value)) {
    }
  }
};

// The findings of threads and callbacks.
struct Ledger {
  std::atomic<int> payloads{0};  // of host calls, alive
  std::atomic<const char*> wrong{nullptr};

  void expect(bool holds, const char* what) {
    const char* none = nullptr;
    if (!holds) wrong.compare_exchange_strong(none, what);
  }
};

struct Callback {
  std::atomic<int> calls{0};
  std::atomic<bool> dropped{false};
  Registration registration;
};

class StressProgram {
 public:
  explicit StressProgram(std::uint64_t seed) : seed_(seed) {
    check(register_all_drivers(registry_));
    for (const char* uri : {"cpu://?devices=2&workers=1", "serial://"}) {
      auto opened = registry_.open_all(uri);
      if (opened.status().code() == StatusCode::kNotFound) continue;  // not in this build
      for (Device& device : opened.value()) devices.push_back(std::move(device));
    }
    for (Line& line : lines) line.semaphore = devices[0].create_semaphore().value();
  }

  void run();

  std::array<Line, kLines> lines;
  std::vector<Device> devices;
  Ledger ledger;

 private:
  static void check(const Status& status) { ASSERT_TRUE(status.ok()) << status.to_string(); }

  const std::uint64_t seed_;
  DriverRegistry registry_;
};

// The actions of one thread.
class Actor {
 public:
  Actor(StressProgram& program, std::uint64_t seed, unsigned thread)
      : program_(program), ledger_(program.ledger), random_(seed * 64 + thread) {}

  void run() {
    for (int i = 0; i < kActions; ++i) act(i);
  }
  void drop_queue() { queue_ = {}; }
  // At the end: each callback that was not dropped was called once.
  void check_callbacks() {
    for (const auto& callback : callbacks_) {
      const int calls = callback->calls.load();
      expect(callback->dropped ? calls <= 1 : calls == 1, "a callback is not called once");
    }
    callbacks_.clear();
  }

 private:
  void expect(bool holds, const char* what) { ledger_.expect(holds, what); }
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  bool once_in(std::uint64_t count) { return draw(count) == 0; }
  Line& draw_line() { return program_.lines[draw(kLines)]; }
  Device& draw_device() { return program_.devices[draw(program_.devices.size())]; }
  Queue draw_queue() {
    if (queue_ && once_in(3)) return queue_;
    return draw_device().queue(once_in(2) ? QueueKind::kCompute : QueueKind::kCopy);
  }
  // A value that a producer has recently offered or will soon offer.
  std::uint64_t near(const Line& line) { return std::max<std::uint64_t>(line.taken + draw(3), 1); }

  void act(int step) {
    switch (draw(16)) {
      case 0:
      case 1:
      case 2:
        return submit();
      case 3:
      case 4:
        return signal();
      case 5:
        return wait_one();
      case 6:
        return wait_several();
      case 7:
        return call_back();
      case 8:
        return drop_callback();
      case 9:
        return query();
      case 10:
        return cancel();
      case 11:
        return drop_semaphore();
      case 12:
        return allocate();
      case 13:
        return change_queue();
      case 14:
        (void)draw_queue().wait_idle(std::chrono::microseconds(draw(200)));
        return (void)draw_queue().flush();
      default:
        if (once_in(8))
          program_.lines[kLines / 2 + draw(kLines / 2)].semaphore.fail(Status(kPlanted, "planted"));
        if (step > kActions / 2 && once_in(60)) {
          program_.devices.back().object()->timeline().lose(Status(kPlanted, "planted"));
        }
    }
  }

  void submit() {
    // Waits are for earlier lines only; otherwise all lines would soon have failed.
    const auto [first, second] = std::minmax({draw(kLines), draw(kLines), draw(kLines)});
    Line &from = program_.lines[first], &to = program_.lines[second];
    std::vector<Point> waits, signals;
    if (first != second && once_in(2)) waits.emplace_back(from.semaphore, near(from));
    const std::uint64_t value = to.take();
    signals.emplace_back(to.semaphore, value);
    const SubmitInfo info{.wait = waits, .signal = signals};
    if (once_in(2)) {
      // The host call offers the value itself, when it runs.
      ledger_.payloads.fetch_add(1);
      std::shared_ptr<Ledger> alive(&ledger_, [](Ledger* at) { at->payloads.fetch_sub(1); });
      (void)draw_queue().host_call([alive, &to, value] { to.offer(value); }, info,
                                   once_in(4) ? HostCallMode::kMayBlock : HostCallMode::kShort);
    } else {
      to.offer(value);
      (void)draw_queue().barrier(info);
    }
  }

  void signal() {
    Line& line = draw_line();
    const std::uint64_t value = line.take();
    line.offer(value);
    (void)line.semaphore.signal(value);  // refused if it is late or the line has failed
  }

  void wait_one() {
    Line& line = draw_line();
    const std::uint64_t value = near(line);
    const bool patient = once_in(2);
    const Status status = line.semaphore.wait(
        value, patient ? Deadline(kNever) : Deadline(std::chrono::microseconds(draw(100))));
    expect(!patient || status.code() != StatusCode::kDeadlineExceeded, "a wait is not woken");
    expect(!status.ok() || line.offered.load() >= value, "a wait passes early");
  }

  void wait_several() {
    Line &a = draw_line(), &b = draw_line();
    const std::uint64_t of_a = near(a), of_b = near(b);
    const Point points[] = {{a.semaphore, of_a}, {b.semaphore, of_b}};
    const bool any = once_in(2);
    const Status status = any ? wait_any(points, kNever) : wait_all(points, kNever);
    expect(status.code() != StatusCode::kDeadlineExceeded, "a wait for several is not woken");
    const bool is_a = a.offered.load() >= of_a, is_b = b.offered.load() >= of_b;
    expect(!status.ok() || (any ? is_a || is_b : is_a && is_b), "a wait for several passes early");
  }

  void call_back() {
    Line &line = draw_line(), &next = draw_line();
    const std::uint64_t value = near(line);
    auto callback = std::make_unique<Callback>();
    auto on_reach = [this, at = callback.get(), &line, &next, value,
                     queue = draw_queue()](const Status& status) {
      expect(!at->dropped.load(), "a callback runs after its registration is gone");
      expect(at->calls.fetch_add(1) == 0, "a callback is called twice");
      expect(!status.ok() || line.offered.load() >= value, "a callback comes early");
      const std::uint64_t offered = next.take();
      next.offer(offered);
      (void)next.semaphore.signal(offered);
      (void)queue.barrier({.wait = {{next.semaphore, offered}}});
    };
    auto registration = line.semaphore.on_reach(value, std::move(on_reach));
    if (registration.ok()) callback->registration = std::move(registration).value();
    callbacks_.push_back(std::move(callback));
  }

  void drop_callback() {
    if (callbacks_.empty()) return;
    Callback& callback = *callbacks_[draw(callbacks_.size())];
    callback.registration.reset();
    callback.dropped.store(true);
  }

  void query() {
    const std::size_t at = draw(kLines);
    const Line& line = program_.lines[at];
    const auto now = line.semaphore.query();
    Seen& seen = seen_[at];
    if (!now.ok()) {
      expect(seen.failure.ok() || seen.failure.same_as(now.status()), "a failure changes");
      seen.failure = now.status();
      return;
    }
    expect(seen.failure.ok(), "a failure is taken back");
    expect(now.value() >= seen.value, "a value goes back");
    expect(now.value() <= line.offered.load(), "a value that was not offered");
    seen.value = now.value();
  }

  void cancel() {
    Line& line = draw_line();
    const auto done = draw_device().create_semaphore();
    Submission submission;
    if (!done.ok() || !draw_queue()
                           .barrier({.wait = {{line.semaphore, line.taken.load() + draw(4)}},
                                     .signal = {{done.value(), 1}},
                                     .submission = &submission})
                           .ok()) {
      return;
    }
    if (once_in(2)) std::this_thread::yield();
    const bool cancelled = submission.cancel();
    if (once_in(2)) submission = {};
    if (!cancelled && once_in(2)) return;
    const Status status = done.value().wait(1, kNever);
    expect(cancelled == (status.code() == StatusCode::kCancelled), "cancel() says otherwise");
  }

  // A wait for a value that no signaller can reach any more fails.
  void drop_semaphore() {
    auto start = draw_device().create_semaphore();
    const auto end = draw_device().create_semaphore();
    if (!start.ok() || !end.ok()) return;
    const Status submitted =
        draw_queue().barrier({.wait = {{start.value(), 1}}, .signal = {{end.value(), 1}}});
    start = Status(kPlanted, "dropped");
    if (!submitted.ok() || once_in(2)) return;
    const StatusCode code = end.value().wait(1, kNever).code();
    expect(code == StatusCode::kCancelled || code == StatusCode::kDeviceLost,
           "a semaphore that was dropped does not fail its dependents");
  }

  void allocate() {
    const Device& device = draw_device();
    const auto step = device.create_semaphore();
    const Queue queue = device.queue();
    if (!step.ok()) return;
    const Line& line = draw_line();
    const auto buffer = queue.allocate(
        device.default_pool(), {.size = std::uint64_t{64} << draw(8)},
        {.wait = {{line.semaphore, draw(line.taken.load() + 1)}}, .signal = {{step.value(), 1}}});
    if (!buffer.ok()) return;
    (void)queue.fill(buffer.value(), 7, 4,
                     {.wait = {{step.value(), 1}}, .signal = {{step.value(), 2}}});
    if (once_in(3)) return;
    (void)device.queue(QueueKind::kCopy).deallocate(buffer.value(), {.wait = {{step.value(), 2}}});
  }

  void change_queue() {
    queue_ = {};
    if (once_in(4)) return;
    auto queue = draw_device().create_queue(
        {.priority = once_in(2) ? QueuePriority::kHigh : QueuePriority::kLow});
    if (queue.ok()) queue_ = std::move(queue).value();
  }

  StressProgram& program_;
  Ledger& ledger_;
  std::mt19937_64 random_;
  Queue queue_;  // a created queue
  std::vector<std::unique_ptr<Callback>> callbacks_;
  struct Seen {
    std::uint64_t value = 0;
    Status failure;
  };
  std::array<Seen, kLines> seen_;
};

void StressProgram::run() {
  std::vector<std::unique_ptr<Actor>> actors;
  std::atomic<unsigned> acting{kThreads};
  {
    std::barrier<> start(kThreads);
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < kThreads; ++i) {
      actors.push_back(std::make_unique<Actor>(*this, seed_, i));
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        actors[i]->run();
        acting.fetch_sub(1);
      });
    }
    // Keeps every line advancing until all threads are done, so that no wait lasts for ever.
    while (acting.load() != 0) {
      for (Line& line : lines) {
        const std::uint64_t value = line.take();
        line.offer(value);
        (void)line.semaphore.signal(value);
      }
      std::this_thread::yield();
    }
  }
  for (Line& line : lines) line.semaphore.fail(Status(StatusCode::kCancelled, "the end"));
  for (const Device& device : devices) {
    for (const QueueKind kind : {QueueKind::kCompute, QueueKind::kCopy}) {
      ledger.expect(device.queue(kind).wait_idle(kNever).ok(), "a queue does not come to its end");
    }
  }
  // Drops every handle; the work of created queues ends with their devices.
  for (auto& actor : actors) actor->drop_queue();
  for (Line& line : lines) line.semaphore = {};
  devices.clear();
  ledger.expect(registry_.shutdown(kNever).ok(), "a device does not close");
  for (auto& actor : actors) actor->check_callbacks();
  ledger.expect(ledger.payloads.load() == 0, "a payload is left");
}

TEST(HalStress, InvariantsHoldUnderAnyActionsOfThreads) {
  for (const std::uint64_t seed : testing::stress_seeds(kSeeds)) {
    StressProgram program(seed);
    program.run();
    ASSERT_EQ(program.ledger.wrong.load(), nullptr)
        << program.ledger.wrong.load() << "; HALYARD_STRESS_SEEDS=" << seed;
  }
}

}  // namespace
}  // namespace halyard::hal
