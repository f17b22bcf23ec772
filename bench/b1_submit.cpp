// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B1: the cost of a submission to a live queue for the submitting thread. Bursts of 64, each with
// its doorbell; the wait for them is not timed. Producer and consumer stay on two cores: on one
// core each would run only while the other sleeps, and the queue would not be live.
#include <atomic>
#include <memory>
#include <thread>

#include "base/atomic.h"
#include "counts/counters.h"
#include "drivers/cpu/ring.h"
#include "drivers/cpu/ring_group.h"
#include "machine.h"
#include "world.h"

namespace halyard::bench {
namespace {

constexpr std::uint64_t kBurst = 64;
constexpr std::uint64_t kBursts = 15;  // 960 submissions: no row fills its queue
constexpr std::uint64_t kSubmissions = kBurst * kBursts;
constexpr int kLoops = 20;  // of that many submissions per repetition
constexpr std::size_t kSlots = 2048;

// The commands increment it.
using Counter = std::atomic<std::uint64_t>;
void count(const Workgroup*, void* const* buffers, const void*) {
  auto& counter = *static_cast<Counter*>(buffers[0]);
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}
void wait_for(const Counter& counter, std::uint64_t value) {
  while (counter.load(std::memory_order_acquire) != value) base::spin_pause();
}

// Loops with the consumer awake: the first burst wakes it and is not timed.
template <class Burst, class Drain>
Sample submit_loops(int loops, Burst&& burst, Drain&& drain) {
  Sample sample;
  burst();
  drain();
  for (int i = 0; i < loops; ++i) {
    sample.times.push_back(time_each(kSubmissions, [&] {
      for (std::uint64_t k = 0; k < kBursts; ++k) burst();
    }));
    drain();
  }
  return sample;
}

// Halyard's ring with one worker.
class HalyardRing {
 public:
  explicit HalyardRing(int core)
      : ring_(std::move(cpu::Ring::create(group_, nullptr, kSlots).value())) {
    worker_ = std::thread([this, core] {
      const Pin pin(core);
      group_.serve();
    });
  }
  ~HalyardRing() {
    group_.stop();
    worker_.join();
    ring_->close();
  }

  Sample run(int loops) {
    const auto sample = submit_loops(
        loops,
        [&] {
          while (!ring_->has_room(kBurst)) base::spin_pause();
          for (std::uint64_t i = 0; i < kBurst; ++i) {
            ring_->push(cpu::PacketKind::kExec, 0, reinterpret_cast<std::uintptr_t>(&count),
                        reinterpret_cast<std::uintptr_t>(buffers_), std::uint64_t{0},
                        std::uint64_t{1} | std::uint64_t{1} << 32, std::uint64_t{1});
          }
          group_.bell(*ring_);
          pushed_ += kBurst;
        },
        [&] { wait_for(counter_, pushed_); });
    verify(counter_ == pushed_, "commands of the ring");
    return sample;
  }

 private:
  cpu::RingGroup group_{1};
  std::unique_ptr<cpu::Ring> ring_;
  std::thread worker_;
  Counter counter_{0};
  void* buffers_[1] = {&counter_};
  std::uint64_t pushed_ = 0;
};

// The limit: a ring of the same slots, published likewise by a header word in each. Its consumer
// polls likewise (16 pauses between polls) and writes its head back as often. It has no doorbell
// and no roles.
class BareRing {
 public:
  explicit BareRing(int core) : consumer_([this, core] { consume(core); }) {}
  ~BareRing() {
    stop_ = true;
    active_ = 1;
    active_.notify_one();
    consumer_.join();
  }

  Sample run(int loops) {
    active_ = 1;
    active_.notify_one();
    const auto sample = submit_loops(
        loops,
        [&] {
          while (kSlots - (tail_ - head_seen_) < kBurst) head_seen_ = head_.load();
          for (std::uint64_t i = 0; i < kBurst; ++i) push();
        },
        [&] { wait_for(counter_, tail_); });
    active_ = 0;
    verify(counter_ == tail_, "commands of the bare ring");
    return sample;
  }

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint32_t> header{0};
    std::uint32_t unused = 0;
    std::uint64_t words[7] = {};
  };
  static std::uint32_t lap(std::uint64_t index) {
    return static_cast<std::uint32_t>(index / kSlots + 1);
  }

  void push() {
    Slot& slot = slots_[tail_ % kSlots];
    slot.words[0] = 0;
    slot.words[1] = reinterpret_cast<std::uintptr_t>(&count);
    slot.words[2] = reinterpret_cast<std::uintptr_t>(buffers_);
    slot.words[3] = 0;
    slot.words[4] = std::uint64_t{1} | std::uint64_t{1} << 32;
    slot.words[5] = 1;
    slot.header.store(lap(tail_), std::memory_order_release);
    ++tail_;
  }

  void consume(int core) {
    const Pin pin(core);
    static constexpr Workgroup kOnly{{0, 0, 0}, {1, 1, 1}};
    std::uint64_t head = 0, written_back = 0;
    while (!stop_) {
      const Slot& slot = slots_[head % kSlots];
      if (slot.header.load(std::memory_order_acquire) == lap(head)) {
        const auto kernel = reinterpret_cast<hcq::Kernel>(slot.words[1]);
        kernel(&kOnly, reinterpret_cast<void* const*>(slot.words[2]), nullptr);
        if (++head - written_back == 64) head_.store(written_back = head);
        continue;
      }
      if (head != written_back) head_.store(written_back = head);
      if (active_ == 0) active_.wait(0);
      for (int i = 0; i < 16; ++i) base::spin_pause();
    }
  }

  alignas(64) std::uint64_t tail_ = 0;
  std::uint64_t head_seen_ = 0;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::unique_ptr<Slot[]> slots_{new Slot[kSlots]};
  Counter counter_{0};
  void* buffers_[1] = {&counter_};
  std::atomic<int> active_{0};
  std::atomic<bool> stop_{false};
  std::thread consumer_;
};

Arm limit(World& world, const std::vector<int>& at) {
  return {"bare ring", [ring = std::make_shared<BareRing>(at[1]), at, loops = world.turns(kLoops)] {
            const Pin pin(at[0]);
            return ring->run(loops);
          }};
}

std::vector<Arm> peers(World& world) {
  std::vector<Arm> arms;
  if (OpenCl* cl = world.opencl(); cl != nullptr) {
    arms.push_back({cl->name(), [cl, loops = world.turns(4)] {
                      const std::uint32_t before = cl->counter();
                      const auto burst = [&] {
                        for (std::uint64_t i = 0; i < kBurst; ++i) cl->enqueue();
                      };
                      const Sample sample = submit_loops(loops, burst, [&] { cl->finish(); });
                      const std::uint64_t done =
                          kBurst + static_cast<std::uint64_t>(loops) * kSubmissions;
                      verify(cl->counter() - before == done, "OpenCL kernels");
                      return sample;
                    }});
  }
  for (const TaskPeer& peer : world.task_peers()) {
    if (!peer.spawn) continue;
    arms.push_back({peer.name, [&peer, loops = world.turns(kLoops)] {
                      Counter counter{0};
                      void* const buffers[] = {&counter};
                      const Call call{[](const Workgroup*, void* const* memory, const void*) {
                                        ++*static_cast<Counter*>(memory[0]);
                                      },
                                      buffers, nullptr};
                      Sample sample;
                      for (int i = 0; i < loops; ++i) {
                        sample.times.push_back(peer.spawn(call, kSubmissions));
                      }
                      verify(counter == static_cast<std::uint64_t>(loops) * kSubmissions, "tasks");
                      return sample;
                    }});
  }
  return arms;
}

Arms ring_row(World& world) {
  const std::vector<int> at = cores(2);
  const auto run = [ring = std::make_shared<HalyardRing>(at[1]), at, loops = world.turns(kLoops)] {
    const Pin pin(at[0]);
    return ring->run(loops);
  };
  return {{"halyard: cpu::Ring", run}, limit(world, at), peers(world)};
}

// Barriers with one signal each. The thread that waits retires them, here after the loop, so the
// time of a submission excludes it. ns_with_the_wait includes it.
Arms hal_row(World& world) {
  const std::vector<int> at = cores(2);
  const hal::Device device = World::open_device(at[1]);
  struct State {
    hal::Queue queue;
    hal::Semaphore done;
    std::uint64_t value = 0;
  };
  auto state = std::make_shared<State>(device.queue(), device.create_semaphore().value());
  const auto run = [state, at, loops = world.turns(kLoops)] {
    const Pin pin(at[0]);
    const auto burst = [&] {
      for (std::uint64_t i = 0; i < kBurst; ++i) {
        check(state->queue.barrier({.signal = {{state->done, ++state->value}}}));
      }
    };
    // query() does not help, so the worker does all the work.
    const auto drain = [&] {
      while (state->done.query().value() != state->value) base::spin_pause();
    };
    Sample sample;
    std::uint64_t calls = 0;
    double waited = 0;
    for (int i = 0; i < loops; ++i) {
      // Retiring a whole loop takes longer than an idle worker stays awake. This submission wakes
      // it.
      check(state->queue.barrier({.signal = {{state->done, ++state->value}}}));
      drain();
      const std::uint64_t calls_before = counts::system_calls();
      sample.times.push_back(time_each(kSubmissions, [&] {
        for (std::uint64_t k = 0; k < kBursts; ++k) burst();
      }));
      calls += counts::system_calls() - calls_before;
      waited += time_each(kSubmissions, drain);
    }
    sample.metrics["ns_with_the_wait"] = median(sample.times) + waited / loops;
    sample.metrics["system_calls"] =
        static_cast<double>(calls) / (static_cast<double>(kSubmissions) * loops);
    return sample;
  };
  return {{"halyard: Queue::barrier", run}, limit(world, at), peers(world)};
}

}  // namespace

std::vector<Row> submit_rows() {
  using Kind = Target::Kind;
  return {{"B1.ring",
           "a command into a live ring, bursts of 64 with a doorbell each, submission only; pinned",
           {{Kind::kLimit, 2}, {Kind::kPeer, 0.1, "PoCL"}},
           ring_row},
          {"B1.hal",
           "Queue::barrier with one signal to a live queue, bursts of 64, submission only; pinned",
           {{Kind::kLimit, 3}, {Kind::kMetric, 0, "system_calls"}},
           hal_row}};
}

}  // namespace halyard::bench
