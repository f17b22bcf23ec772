// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// V1, V3, V4, V5, V8: submissions without commands to a Vulkan device, compared with raw Vulkan on
// the same physical device. They measure the cost of the submission itself.
#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "vulkan_arms.h"

namespace halyard::bench {

VulkanQueue::VulkanQueue() {
  auto opened = hal::open("vulkan://0");
  if (!opened.ok()) throw Unavailable(opened.status().to_string());
  device = *std::move(opened);
  queue = device.queue();
  done = device.create_semaphore().value();
}

RawQueue::RawQueue() {
  // The rows of a run share the device, as Halyard's devices share theirs.
  static std::weak_ptr<RawVulkan> shared;
  vulkan = shared.lock();
  if (vulkan == nullptr) shared = vulkan = RawVulkan::open(World::kernel_file("bench"));
  done = vulkan->timeline();
}

void expect_one_device(const VulkanQueue& halyard, const RawQueue& raw) {
  if (halyard.device.info().name != raw.vulkan->name()) {
    throw Unavailable("Halyard's device is " + halyard.device.info().name + ", the raw one " +
                      raw.vulkan->name());
  }
}

namespace {

// ---- V1

struct HalyardEmpty : VulkanQueue {
  Sample run(int count) {
    return in_loops(count, [&] { check(queue.barrier_and_wait({.signal = {{done, ++value}}})); });
  }
};

struct RawEmpty : RawQueue {
  Sample run(int count) {
    return in_loops(count, [&] {
      submit(VK_NULL_HANDLE);
      wait();
    });
  }
};

// ---- V3

constexpr std::uint64_t kChain = 1000;

struct HalyardChain : VulkanQueue {
  Sample run(int count) {
    Sample sample;
    for (int i = 0; i < count; ++i) {
      sample.times.push_back(time_each(kChain, [&] {
        for (std::uint64_t k = 0; k < kChain; ++k, ++value) {
          check(queue.barrier({.wait = {{done, value}}, .signal = {{done, value + 1}}}));
        }
        check(done.wait(value));
      }));
    }
    return sample;
  }
};

struct RawChain : RawQueue {
  Sample run(int count) {
    Sample sample;
    for (int i = 0; i < count; ++i) {
      sample.times.push_back(time_each(kChain, [&] {
        for (std::uint64_t k = 0; k < kChain; ++k) {
          const VkSemaphoreSubmitInfo before = point(done, value);
          submit(VK_NULL_HANDLE, {&before, 1});
        }
        wait();
      }));
    }
    return sample;
  }
};

// A chain ordered only by the queue, which requires that all its submissions share a queue.
struct RawQueueOrder : RawQueue {
  Sample run(int count) {
    Sample sample;
    for (int i = 0; i < count; ++i) {
      sample.times.push_back(time_each(kChain, [&] {
        for (std::uint64_t k = 0; k < kChain; ++k) submit(VK_NULL_HANDLE);
        wait();
      }));
    }
    return sample;
  }
};

// ---- V4

constexpr std::uint64_t kBatch = 64;

// The batch is submitted in advance and waits for a semaphore, whose signal issues the whole batch
// in one call. The metric "ns to park" is the time of the 64 submissions.
struct HalyardBatch : VulkanQueue {
  hal::Semaphore gate = device.create_semaphore().value();
  std::uint64_t opened = 0;

  Sample run(int count) {
    Sample sample;
    std::vector<double> parking;
    for (int i = 0; i < count; ++i) {
      ++opened;
      parking.push_back(time_each(kBatch, [&] {
        for (std::uint64_t k = 0; k < kBatch; ++k) {
          check(queue.barrier({.wait = {{gate, opened}}, .signal = {{done, ++value}}}));
        }
      }));
      sample.times.push_back(time_each(kBatch, [&] {
        check(gate.signal(opened));
        check(done.wait(value));
      }));
    }
    sample.metrics["ns to park"] = median(parking);
    return sample;
  }
};

// 64 calls, as a program makes them.
struct HalyardBurst : VulkanQueue {
  Sample run(int count) {
    Sample sample;
    for (int i = 0; i < count; ++i) {
      sample.times.push_back(time_each(kBatch, [&] {
        for (std::uint64_t k = 0; k < kBatch; ++k) {
          check(queue.barrier({.signal = {{done, ++value}}}));
        }
        check(done.wait(value));
      }));
    }
    return sample;
  }
};

struct RawBatch : RawQueue {
  Sample run(int count) {
    Sample sample;
    for (int i = 0; i < count; ++i) {
      sample.times.push_back(time_each(kBatch, [&] {
        std::array<VkSemaphoreSubmitInfo, kBatch> signals;
        std::array<VkSubmitInfo2, kBatch> submits;
        for (std::uint64_t k = 0; k < kBatch; ++k) {
          signals[k] = point(done, ++value);
          submits[k] = submission({}, {}, {&signals[k], 1});
        }
        vulkan->submit(submits);
        wait();
      }));
    }
    return sample;
  }
};

struct RawBurst : RawQueue {
  Sample run(int count) {
    Sample sample;
    for (int i = 0; i < count; ++i) {
      sample.times.push_back(time_each(kBatch, [&] {
        for (std::uint64_t k = 0; k < kBatch; ++k) submit(VK_NULL_HANDLE);
        wait();
      }));
    }
    return sample;
  }
};

// ---- V5

constexpr std::size_t kLanes = 4;
constexpr std::size_t kNodes = 1000;

struct Node {
  std::size_t lane;
  // The value that it waits for, of each other lane; 0: none.
  std::array<std::uint64_t, kLanes> after;
};

// Each node follows its lane's last one and up to two of the 16 before it.
std::vector<Node> random_dag() {
  std::mt19937 random(1);
  std::vector<Node> nodes;
  std::vector<std::uint64_t> values;  // each node's, in its lane
  std::array<std::uint64_t, kLanes> last{};
  for (std::size_t i = 0; i < kNodes; ++i) {
    Node node{random() % kLanes, {}};
    for (std::size_t k = 0; k < 2 && i != 0; ++k) {
      const std::size_t other = i - 1 - random() % std::min<std::size_t>(i, 16);
      std::uint64_t& after = node.after[nodes[other].lane];
      if (nodes[other].lane != node.lane) after = std::max(after, values[other]);
    }
    values.push_back(++last[node.lane]);
    nodes.push_back(node);
  }
  return nodes;
}

struct HalyardDag : VulkanQueue {
  const std::vector<Node> nodes = random_dag();
  std::array<hal::Queue, kLanes> queues;
  std::array<hal::Semaphore, kLanes> semaphores;
  std::array<std::uint64_t, kLanes> values{};

  HalyardDag() {
    for (std::size_t i = 0; i < kLanes; ++i) {
      queues[i] = i == 0 ? queue : device.create_queue({}).value();
      semaphores[i] = device.create_semaphore().value();
    }
  }

  Sample run(int count) {
    Sample sample;
    for (int i = 0; i < count; ++i) {
      const std::array<std::uint64_t, kLanes> before = values;
      sample.times.push_back(time_each(kNodes, [&] {
        for (const Node& node : nodes) {
          std::array<timeline::Point, kLanes> waits;
          std::size_t wait_count = 0;
          for (std::size_t k = 0; k < kLanes; ++k) {
            if (node.after[k] != 0)
              waits[wait_count++] = {semaphores[k], before[k] + node.after[k]};
          }
          check(queues[node.lane].barrier(
              {.wait = {waits.data(), wait_count},
               .signal = {{semaphores[node.lane], ++values[node.lane]}}}));
        }
        for (std::size_t k = 0; k < kLanes; ++k) check(semaphores[k].wait(values[k]));
      }));
    }
    return sample;
  }
  void expect_done() const {
    for (std::size_t k = 0; k < kLanes; ++k) {
      verify(semaphores[k].query().value() == values[k], "Halyard's semaphores of a graph");
    }
  }
};

struct RawDag : RawQueue {
  const std::vector<Node> nodes = random_dag();
  std::array<VkSemaphore, kLanes> semaphores;
  std::array<std::uint64_t, kLanes> values{};

  RawDag() {
    for (VkSemaphore& semaphore : semaphores) semaphore = vulkan->timeline();
  }

  Sample run(int count) {
    Sample sample;
    for (int i = 0; i < count; ++i) {
      const std::array<std::uint64_t, kLanes> before = values;
      sample.times.push_back(time_each(kNodes, [&] {
        for (const Node& node : nodes) {
          std::array<VkSemaphoreSubmitInfo, kLanes> waits;
          std::size_t wait_count = 0;
          for (std::size_t k = 0; k < kLanes; ++k) {
            if (node.after[k] == 0) continue;
            waits[wait_count++] = point(semaphores[k], before[k] + node.after[k]);
          }
          const VkSemaphoreSubmitInfo signal = point(semaphores[node.lane], ++values[node.lane]);
          const VkSubmitInfo2 submit = submission({waits.data(), wait_count}, {}, {&signal, 1});
          vulkan->submit({&submit, 1}, node.lane % vulkan->queue_count());
        }
        vulkan->wait(semaphores, values);
      }));
    }
    return sample;
  }
  void expect_done() const {
    for (std::size_t k = 0; k < kLanes; ++k) {
      verify(vulkan->value(semaphores[k]) == values[k], "the timeline semaphores of a graph");
    }
  }
};

// ---- V8

// A thread that waits for 1, 2, 3 ... and notes when it saw each.
class SleepingWaiter {
 public:
  // `wait(value)` blocks until the value is reached.
  template <class Wait>
  explicit SleepingWaiter(Wait wait) {
    thread_ = std::thread([this, wait] {
      for (std::uint64_t value = 1;; ++value) {
        wait(value);
        if (stop_.load()) return;
        seen_at_ = Clock::now();
        seen_.store(value);
        seen_.notify_one();
      }
    });
  }
  // `release` signals the next value.
  template <class Release>
  void stop(Release release) {
    stop_.store(true);
    release();
    thread_.join();
  }

  // Nanoseconds from before `release`, which signals `value`, until the thread saw it. The thread
  // sleeps by then.
  template <class Release>
  double time(std::uint64_t value, Release release) {
    constexpr auto kFallAsleep = std::chrono::microseconds(200);
    std::this_thread::sleep_for(kFallAsleep);
    const auto start = Clock::now();
    release();
    for (std::uint64_t seen; (seen = seen_.load()) != value;) seen_.wait(seen);
    return std::chrono::duration<double, std::nano>(seen_at_ - start).count();
  }

 private:
  Clock::time_point seen_at_;  // of seen_, which is written after it
  std::atomic<std::uint64_t> seen_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

struct HalyardSleeper : VulkanQueue {
  SleepingWaiter waiter{[this](std::uint64_t next) { check(done.wait(next)); }};

  ~HalyardSleeper() {
    waiter.stop([&] { release(); });
  }
  void release() { check(queue.barrier({.signal = {{done, ++value}}})); }
  Sample run(int count) {
    Sample sample;
    for (int i = 0; i < count; ++i) {
      sample.times.push_back(waiter.time(value + 1, [&] { release(); }));
    }
    return sample;
  }
};

struct RawSleeper : RawQueue {
  SleepingWaiter waiter{[this](std::uint64_t next) { vulkan->wait({&done, 1}, {&next, 1}); }};

  ~RawSleeper() {
    waiter.stop([&] { submit(VK_NULL_HANDLE); });
  }
  Sample run(int count) {
    Sample sample;
    for (int i = 0; i < count; ++i) {
      sample.times.push_back(waiter.time(value + 1, [&] { submit(VK_NULL_HANDLE); }));
    }
    return sample;
  }
};

}  // namespace

std::vector<Row> vulkan_submit_rows() {
  using Kind = Target::Kind;
  return {{"V1",
           "a barrier with one signal submitted to a Vulkan device, and waited for",
           {{Kind::kLimit, 1.3}},
           [](World& world) {
             return arms<HalyardEmpty, RawEmpty>("halyard: barrier_and_wait", "raw Vulkan",
                                                 world.turns(20));
           }},
          {"V3",
           "1000 barriers, each of which waits for the one before, and the last awaited; each",
           {{Kind::kLimit, 1.5}},
           [](World& world) {
             Arms row = arms<HalyardChain, RawChain>("halyard: chain of barriers", "raw Vulkan",
                                                     world.turns(8));
             row.peers.push_back(
                 arm("raw without waits", std::make_shared<RawQueueOrder>(), world.turns(8)));
             return row;
           }},
          {"V4",
           "64 parked barriers released by one signal, and awaited; each. Raw: one vkQueueSubmit2",
           {{Kind::kLimit, 1.3}},
           [](World& world) {
             return arms<HalyardBatch, RawBatch>("halyard: signal, wait", "raw Vulkan",
                                                 world.turns(40));
           }},
          {"V4.burst",
           "64 barriers submitted one by one, and the last awaited; each. Raw: 64 vkQueueSubmit2",
           {},
           [](World& world) {
             return arms<HalyardBurst, RawBurst>("halyard: 64 barriers", "raw Vulkan",
                                                 world.turns(40));
           }},
          {"V5",
           "1000 barriers of a random graph over 4 queues, and all awaited; each",
           {{Kind::kLimit, 1.3}},
           [](World& world) {
             return arms<HalyardDag, RawDag>("halyard: barriers of 4 queues", "raw Vulkan",
                                             world.turns(8));
           }},
          {"V8",
           "from a barrier's submission until a sleeping thread has seen its signal",
           {{Kind::kLimit, 1.5}},
           [](World& world) {
             return arms<HalyardSleeper, RawSleeper>("halyard: barrier, Semaphore::wait",
                                                     "raw vkWaitSemaphores", world.turns(40));
           }}};
}

std::vector<Row> vulkan_rows() {
  std::vector<Row> rows = vulkan_submit_rows();
  for (Row& row : vulkan_kernel_rows()) rows.push_back(std::move(row));
  std::ranges::sort(rows, {}, &Row::id);
  return rows;
}

}  // namespace halyard::bench
