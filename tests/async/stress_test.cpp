// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs of several threads on one runtime of real devices: they await, drop, stop and
// exchange operations and tensors at any moment. The seed determines the actions of each thread,
// but not their interleaving. HALYARD_STRESS_SEEDS=A..B (or A) selects the seeds.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "async/device_state.h"
#include "async/stepped_world.h"
#include "hal/stress_seeds.h"

namespace halyard::async::stress {
namespace {

using async::testing::Detached;
using async::testing::Handmade;

constexpr std::uint64_t kSeeds = 10;
constexpr unsigned kThreads = 8;
constexpr int kActions = 200;  // per thread
const Shape kShape = {257};

// Values that the threads exchange. Safe from any thread.
template <class T>
class Exchange {
 public:
  void put(T value) {
    std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
  }
  // Removes one of the values.
  std::optional<T> take(std::uint64_t drawn) {
    std::lock_guard lock(mutex_);
    if (values_.empty()) return std::nullopt;
    std::swap(values_[drawn % values_.size()], values_.back());
    std::optional<T> value(std::move(values_.back()));
    values_.pop_back();
    return value;
  }

 private:
  std::mutex mutex_;
  std::vector<T> values_;
};

// An operation that ends when the test opens the gate.
class Gate {
 public:
  struct Operation {
    using Output = int;
    Result<int> execute(Context& context) && {
      const Status status = context.join({timeline, 1});
      if (!status.ok()) return status;
      return 0;
    }
    Ref<detail::TreeTimeline> timeline;
  };

  explicit Gate(const QueueRef& queue)
      : timeline_(Ref<detail::TreeTimeline>::adopt(new detail::TreeTimeline(
            queue.device().hal().create_semaphore().value(), queue.state()->queue))) {}
  Operation operation() const { return {timeline_}; }
  void open() const { check(timeline_->semaphore().signal(1)); }

 private:
  Ref<detail::TreeTimeline> timeline_;
};

// A coroutine that starts at once and destroys itself at its end, without an awaiter.
using Elements = std::vector<float>;
using Floats = Shared<Tensor<float>>;
using Second = std::tuple_element_t<1, decltype(unzip(zip(ones<float>(1), ones<float>(1))))>;

struct Made {
  float element;
  Floats tensor;
};
struct Part {
  float element;
  Second operation;
};
// A coroutine that is destroyed while it waits for the gate.
struct Held {
  std::unique_ptr<Gate> gate;
  Handmade coroutine;
};

class Program {
 public:
  explicit Program(std::uint64_t seed) : seed_(seed) {}
  void run();
  const char* wrong() const { return wrong_.load(); }

 private:
  friend class Actor;
  void expect(bool holds, const char* what) {
    const char* none = nullptr;
    if (!holds) wrong_.compare_exchange_strong(none, what);
  }
  void expect_all(const Elements& elements, float element) {
    expect(elements.size() == kShape.elements() &&
               std::ranges::all_of(elements, [&](float each) { return each == element; }),
           "elements of another tree");
  }
  // Count the Detached coroutines.
  void started() {
    std::lock_guard lock(mutex_);
    ++under_way_;
  }
  void ended() {
    std::lock_guard lock(mutex_);
    if (--under_way_ == 0)
      all_ended_.notify_all();  // under the lock: afterwards this may be destroyed
  }

  const std::uint64_t seed_;
  Runtime runtime_ =
      Runtime::open("cpu://?devices=2&workers=1", {.queues = 2, .policy = RoundRobin()}).value();
  Exchange<Made> tensors_;
  Exchange<Part> parts_;
  Exchange<std::stop_source> stops_;
  Exchange<Held> held_;
  std::mutex mutex_;
  std::condition_variable all_ended_;
  int under_way_ = 0;
  std::atomic<const char*> wrong_{nullptr};
};

// The actions of one thread.
class Actor {
 public:
  Actor(Program& program, std::uint64_t seed, unsigned thread)
      : program_(program), random_(seed * 64 + thread) {}
  void run() {
    for (int i = 0; i < kActions; ++i) act();
  }

 private:
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  QueueRef draw_queue() { return program_.runtime_.queues()[draw(4)]; }
  // A value that no other tree is likely to have.
  float fresh() { return static_cast<float>(1 + draw(1 << 20)); }

  void act() {
    switch (draw(10)) {
      case 0:
      case 1:
        return await_tree();
      case 2:
        return go_on_elsewhere();
      case 3:
        return make_in_flight();
      case 4:
        return read_and_drop();
      case 5:
        return unzip_across();
      case 6:
        return await_with_stop();
      case 7:
        if (auto stop = program_.stops_.take(draw(1 << 20))) (void)stop->request_stop();
        return;
      case 8:
        return hold();
      default:
        return drop_held();
    }
  }

  static auto sum(float a, float b) { return add(full<float>(kShape, a), full<float>(kShape, b)); }

  // On a queue that the policy picks.
  void await_tree() {
    const float a = fresh(), b = fresh();
    program_.expect_all(sync_wait(to_host(sum(a, b)), program_.runtime_), a + b);
  }

  void go_on_elsewhere() {
    program_.started();
    [](Program& program, float element, QueueRef first, QueueRef second) -> Detached {
      auto x = co_await (full<float>(kShape, element) | share | on(std::move(first)));
      program.expect_all(co_await (to_host(std::move(x)) | on(std::move(second))), element);
      program.ended();
    }(program_, fresh(), draw_queue(), draw_queue());
  }

  // Makes a tensor that is still to be written available to all threads.
  void make_in_flight() {
    program_.started();
    [](Program& program, float element, QueueRef queue) -> Detached {
      auto put = [&program, element](Floats&& tensor) {
        program.tensors_.put({element, std::move(tensor)});
        return 0;
      };
      (void)co_await (full<float>(kShape, element) | share | map(put) | on(std::move(queue)));
      program.ended();
    }(program_, fresh(), draw_queue());
  }

  // The reads may be in flight when the last owner drops the tensor.
  void read_and_drop() {
    auto made = program_.tensors_.take(draw(1 << 20));
    if (!made) return;
    for (std::uint64_t i = draw(3); i != 0; --i) {
      program_.started();
      [](Program& program, Made of, QueueRef queue) -> Detached {
        auto reading = to_host(std::move(of.tensor)) | on(std::move(queue));
        program.expect_all(co_await std::move(reading), of.element);
        program.ended();
      }(program_, *made, draw_queue());
    }
    if (draw(2) == 0) program_.tensors_.put(*std::move(made));
  }

  // Awaits one element here; any thread awaits the other. The first await runs both.
  void unzip_across() {
    if (auto part = program_.parts_.take(draw(1 << 20)); part && draw(4) != 0) {
      program_.expect_all(sync_wait(to_host(std::move(part->operation)) | on(draw_queue())),
                          part->element);
    }
    const float a = fresh(), b = fresh();
    auto [first, second] = unzip(zip(full<float>(kShape, a), full<float>(kShape, b)));
    program_.parts_.put({b, std::move(second)});
    if (draw(3) != 0)
      program_.expect_all(sync_wait(to_host(std::move(first)) | on(draw_queue())), a);
  }

  // Any thread may stop it, before or after its end.
  void await_with_stop() {
    std::stop_source stop;
    program_.stops_.put(stop);
    const float element = fresh();
    if (draw(2) == 0) {
      return expect_stopped_or(program_,
                               sync_wait(as_result(to_host(full<float>(kShape, element))),
                                         program_.runtime_, stop.get_token()),
                               element);
    }
    program_.started();
    [](Program& program, float of, QueueRef queue, std::stop_token token) -> Detached {
      auto reading = to_host(full<float>(kShape, of)) | on(std::move(queue));
      expect_stopped_or(program,
                        co_await as_result(std::move(reading) | stop_with(std::move(token))), of);
      program.ended();
    }(program_, element, draw_queue(), stop.get_token());
    if (draw(2) == 0) (void)stop.request_stop();
  }
  static void expect_stopped_or(Program& program, const Result<Elements>& result, float element) {
    if (result.ok()) return program.expect_all(*result, element);
    program.expect(result.status().code() == StatusCode::kCancelled, "a stop is another failure");
  }

  void hold() {
    const QueueRef queue = draw_queue();
    auto gate = std::make_unique<Gate>(queue);
    auto coroutine = [](Program& program, float a, float b, QueueRef on_queue,
                        Gate::Operation closed) -> Handmade {
      auto tree = zip(to_host(sum(a, b)), std::move(closed)) | on(std::move(on_queue));
      (void)co_await std::move(tree);
      program.expect(false, "an await ends before its gate opens");
    }(program_, fresh(), fresh(), queue, gate->operation());
    program_.held_.put({std::move(gate), std::move(coroutine)});
  }

  // Destroys the coroutine while its tree waits for the gate, and may open the gate afterwards.
  void drop_held() {
    auto held = program_.held_.take(draw(1 << 20));
    if (!held) return;
    held->coroutine.destroy();
    if (draw(2) == 0) held->gate->open();
  }

  Program& program_;
  std::mt19937_64 random_;
};

void Program::run() {
  {
    std::barrier<> start(kThreads);
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        Actor(*this, seed_, i).run();
      });
    }
  }
  while (held_.take(0)) {
  }
  while (tensors_.take(0)) {
  }
  while (parts_.take(0)) {
  }
  {
    std::unique_lock lock(mutex_);
    all_ended_.wait(lock, [this] { return under_way_ == 0; });
  }
  for (int i = 0; i < 8; ++i) {
    const auto element = static_cast<float>(i);
    expect_all(
        sync_wait(to_host(add(full<float>(kShape, element), full<float>(kShape, 0.5f))), runtime_),
        element + 0.5f);
  }
  for (const QueueRef& queue : runtime_.queues()) check(queue.state()->queue.wait_idle());
  for (const Device& device : runtime_.devices()) {
    const hal::Pool pool = device.hal().default_pool(hal::MemoryType::kDeviceLocal);
    expect(pool.statistics().used_bytes == 0, "memory that was not freed");
  }
}

TEST(AsyncStress, WhateverSeveralThreadsDoHolds) {
  for (const std::uint64_t seed : hal::testing::stress_seeds(kSeeds)) {
    Program program(seed);
    program.run();
    ASSERT_EQ(program.wrong(), nullptr) << program.wrong() << "; HALYARD_STRESS_SEEDS=" << seed;
  }
}

}  // namespace
}  // namespace halyard::async::stress
