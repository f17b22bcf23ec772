// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random graphs of submissions over several queues, submitted in any order, against a model of the
// memory on the host. HALYARD_STRESS_SEEDS=A..B (or A) replaces the default seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "drivers/vulkan/driver.h"
#include "hal/device/registry.h"
#include "hal/stress_seeds.h"
#include "halyard/halyard.h"
#include "vulkan/vulkan_test_util.h"

namespace halyard::vulkan {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeeds = 300;
constexpr auto kLongest = 10s;  // no default seed begins after this time
constexpr std::size_t kBuffers = 5, kSlots = 2, kChains = 3, kSubmissions = 60;
constexpr std::uint64_t kSize = 768;
constexpr auto kNever = 60s;

// [offset, offset + length) of a buffer, or of a slot's buffer.
struct Place {
  std::size_t buffer = 0;
  bool is_slot = false;
  std::uint64_t offset = 0, length = 0;

  bool overlaps(const Place& other) const {
    return buffer == other.buffer && offset < other.offset + other.length &&
           other.offset < offset + length;
  }
};

struct Step {
  enum Kind { kFill, kUpdate, kCopy, kMix, kMixIndirect } kind = kFill;
  Place target, source;
  std::uint32_t pattern = 0, pattern_size = 1;
  std::vector<std::byte> bytes;
  bool behind_a_barrier = true;  // otherwise it conflicts with no command after the last barrier
};

struct Recorded {
  std::vector<Step> steps;
  hal::CommandBuffer commands;
};

struct Node {
  std::vector<Step> steps;             // with slots resolved
  const Recorded* recorded = nullptr;  // null: one command
  std::size_t slots[kSlots] = {};      // buffers
  std::size_t queue = 0;
  std::vector<std::size_t> after;
  std::size_t chain = kChains;  // kChains: none
  std::uint64_t chain_value = 0;
  bool gated = false;
};

bool conflict(const Step& a, const Step& b) {
  const auto reads = [](const Step& step) { return step.kind >= Step::kCopy; };
  return a.target.overlaps(b.target) || (reads(b) && a.target.overlaps(b.source)) ||
         (reads(a) && a.source.overlaps(b.target));
}

class VulkanOrder : public VulkanTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    VulkanTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    check(register_vulkan_driver(registry_));
    devices_ = registry_.open_all(GetParam()).value();
    for (const hal::Device& device : devices_) {
      queues_.push_back(device.queue());
      queues_.push_back(device.queue(hal::QueueKind::kCopy));
      queues_.push_back(device.create_queue({.priority = hal::QueuePriority::kHigh}).value());
      executables_.push_back(device
                                 .load((std::filesystem::canonical("/proc/self/exe").parent_path() /
                                        "kernels/vulkan_kernels.hyx")
                                           .string())
                                 .value());
      functions_.push_back(executables_.back().function("mix").value());
      counts_.push_back(
          device.allocate({.size = 12, .memory = hal::MemoryType::kHostVisible}).value());
      const std::uint32_t groups[] = {3, 1, 1};
      std::memcpy(counts_.back().map().value().bytes().data(), groups, sizeof groups);
    }
  }
  static constexpr std::size_t kQueuesOfADevice = 3;

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool once_in(std::uint64_t n) { return below(n) == 0; }
  std::size_t device_of(const Node& node) const { return node.queue / kQueuesOfADevice; }

  Place place(std::uint64_t alignment, std::uint64_t length) {
    const std::uint64_t offset = below((kSize - length) / alignment + 1) * alignment;
    return {.buffer = below(kBuffers), .offset = offset, .length = length};
  }

  Step step(bool with_kernels) {
    Step it;
    it.kind = static_cast<Step::Kind>(below(with_kernels ? 5 : 3));
    it.pattern = static_cast<std::uint32_t>(random_());
    switch (it.kind) {
      case Step::kFill:
        it.pattern_size = 1u << below(3);
        it.target = place(it.pattern_size, below(100 / it.pattern_size) * it.pattern_size);
        break;
      case Step::kUpdate:
        it.bytes.resize(1 + below(80));
        for (std::byte& byte : it.bytes) byte = static_cast<std::byte>(random_());
        it.target = place(1, it.bytes.size());
        break;
      case Step::kCopy: {
        const std::uint64_t length = 1 + below(200);
        it.source = place(1, length);
        do it.target = place(1, length);
        while (it.target.overlaps(it.source));
        break;
      }
      case Step::kMix:
      case Step::kMixIndirect: {
        const std::uint64_t length = 4 * (1 + below(150));
        it.source = place(4, length);
        do it.target = place(4, length);
        while (it.target.overlaps(it.source));
        break;
      }
    }
    return it;
  }

  // A few of its places are in slots. Places of different slots overlap if their buffers are the
  // same, so each slot is one side of its own half of a buffer.
  std::unique_ptr<Recorded> record() {
    auto it = std::make_unique<Recorded>();
    const bool with_slots = once_in(2), with_kernels = !once_in(4);
    const std::size_t device = below(devices_.size());
    hal::Recorder recorder(devices_[device],
                           once_in(3) ? hal::RecordingUse::kOnce : hal::RecordingUse::kOften);
    const std::uint64_t count = 1 + below(5);
    std::size_t since = 0;  // the first step after the last barrier
    for (std::uint64_t i = 0; i < count; ++i) {
      Step next = step(with_kernels);
      const auto may_be_slot = [&](Place& place) {
        if (!with_slots || once_in(3)) return;
        place.is_slot = true;
        place.buffer = below(kSlots);
      };
      may_be_slot(next.target);
      if (next.kind >= Step::kCopy) {
        may_be_slot(next.source);
        // The two must not overlap, whichever buffers are bound.
        if (next.target.is_slot || next.source.is_slot) separate(next);
      }
      // A slot may be any buffer, so any overlap of ranges is a conflict.
      next.behind_a_barrier = once_in(4);
      for (std::size_t k = since; k < it->steps.size(); ++k) {
        const auto anywhere = [](Step other) {
          other.target.buffer = other.source.buffer = 0;
          return other;
        };
        next.behind_a_barrier |= conflict(anywhere(it->steps[k]), anywhere(next));
      }
      if (next.behind_a_barrier) {
        recorder.barrier();
        since = it->steps.size();
      }
      add(recorder, next, device);
      it->steps.push_back(std::move(next));
    }
    it->commands = recorder.finish().value();
    device_of_recording_.push_back(device);
    return it;
  }

  // Moves the source to the upper half and the target to the lower one.
  void separate(Step& step) {
    const std::uint64_t half = kSize / 2;
    const std::uint64_t unit = step.kind == Step::kCopy ? 1 : 4;
    const std::uint64_t length = std::min(step.target.length, half - 4) / unit * unit;
    step.target.length = step.source.length = length;
    step.target.offset = below((half - length) / unit + 1) * unit;
    step.source.offset = half + below((half - length) / unit + 1) * unit;
  }

  void add(hal::Recorder& recorder, const Step& step, std::size_t device) {
    const auto ref = [&](const Place& place) -> hal::BindingRef {
      if (place.is_slot) return hal::slot(place.buffer, place.offset, place.length);
      return hal::BufferRange(buffers_[place.buffer], place.offset, place.length);
    };
    const auto items = static_cast<std::uint32_t>(step.target.length / 4);
    switch (step.kind) {
      case Step::kFill:
        recorder.fill(ref(step.target), step.pattern, step.pattern_size);
        break;
      case Step::kUpdate:
        recorder.update(ref(step.target), step.bytes);
        break;
      case Step::kCopy:
        recorder.copy(ref(step.source), ref(step.target));
        break;
      case Step::kMix:
        recorder.dispatch(functions_[device], {.items = items},
                          {ref(step.source), ref(step.target)}, {step.pattern, items});
        break;
      case Step::kMixIndirect:
        recorder.dispatch_indirect(functions_[device], counts_[device],
                                   {ref(step.source), ref(step.target)}, {step.pattern, items});
        break;
    }
  }

  Status submit(const Node& node, const hal::SubmitInfo& info) {
    const hal::Queue& queue = queues_[node.queue];
    if (node.recorded != nullptr) {
      const hal::BufferRange bindings[kSlots] = {buffers_[node.slots[0]], buffers_[node.slots[1]]};
      return queue.execute(node.recorded->commands,
                           {.bindings = bindings, .wait = info.wait, .signal = info.signal});
    }
    const Step& step = node.steps[0];
    const auto range = [&](const Place& place) {
      return hal::BufferRange(buffers_[place.buffer], place.offset, place.length);
    };
    const auto items = static_cast<std::uint32_t>(step.target.length / 4);
    const std::size_t device = device_of(node);
    switch (step.kind) {
      case Step::kFill:
        return queue.fill(range(step.target), step.pattern, step.pattern_size, info);
      case Step::kUpdate:
        return queue.update(buffers_[step.target.buffer], step.target.offset, step.bytes, info);
      case Step::kCopy:
        return queue.copy(range(step.source), range(step.target), info);
      case Step::kMix:
        return queue.dispatch(functions_[device], {.items = items},
                              {range(step.source), range(step.target)}, {step.pattern, items},
                              info);
      case Step::kMixIndirect:
        break;
    }
    return queue.dispatch_indirect(functions_[device], counts_[device],
                                   {range(step.source), range(step.target)}, {step.pattern, items},
                                   info);
  }

  static void apply(const Step& step, std::vector<std::vector<std::byte>>& memory) {
    std::byte* const target = memory[step.target.buffer].data() + step.target.offset;
    const std::byte* const source = memory[step.source.buffer].data() + step.source.offset;
    switch (step.kind) {
      case Step::kFill:
        for (std::uint64_t i = 0; i < step.target.length; ++i) {
          target[i] = static_cast<std::byte>(step.pattern >> 8 * (i % step.pattern_size));
        }
        break;
      case Step::kUpdate:
        std::ranges::copy(step.bytes, target);
        break;
      case Step::kCopy:
        std::memcpy(target, source, step.target.length);
        break;
      case Step::kMix:
      case Step::kMixIndirect:
        for (std::uint64_t i = 0; i < step.target.length; i += 4) {
          std::uint32_t x, y;
          std::memcpy(&x, source + i, 4);
          std::memcpy(&y, target + i, 4);
          y = y * 3 + x + step.pattern;
          std::memcpy(target + i, &y, 4);
        }
        break;
    }
  }

  void run(std::uint64_t seed) {
    random_.seed(seed);
    device_of_recording_.clear();
    buffers_.clear();
    std::vector<std::vector<std::byte>> model(kBuffers, std::vector<std::byte>(kSize));
    for (std::vector<std::byte>& bytes : model) {
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
      buffers_.push_back(devices_[below(devices_.size())]
                             .allocate({.size = kSize,
                                        .memory = once_in(2) ? hal::MemoryType::kHostVisible
                                                             : hal::MemoryType::kHostLocal})
                             .value());
      std::ranges::copy(bytes, buffers_.back().map().value().bytes().begin());
    }
    std::vector<std::unique_ptr<Recorded>> recordings;
    for (int i = 0; i < 6; ++i) recordings.push_back(record());

    std::vector<Node> nodes(kSubmissions);
    std::uint64_t chain_values[kChains] = {};
    std::size_t chain_last[kChains] = {};
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      Node& node = nodes[n];
      node.queue = below(queues_.size());
      const bool copies = node.queue % kQueuesOfADevice == 1;
      if (once_in(2)) {
        const std::size_t which = below(recordings.size());
        const auto has_kernels = [](const Step& step) { return step.kind >= Step::kMix; };
        const std::size_t device = device_of_recording_[which];
        if (device_of(node) == device &&
            !(copies && std::ranges::any_of(recordings[which]->steps, has_kernels))) {
          node.recorded = recordings[which].get();
          for (std::size_t& slot : node.slots) slot = below(kBuffers);
          node.steps = node.recorded->steps;
          for (Step& step : node.steps) {
            for (Place* place : {&step.target, &step.source}) {
              if (place->is_slot) place->buffer = node.slots[place->buffer];
            }
          }
        }
      }
      if (node.recorded == nullptr) node.steps = {step(!copies)};
      for (std::size_t earlier = 0; earlier < n; ++earlier) {
        const bool ordered = std::ranges::any_of(nodes[earlier].steps, [&](const Step& a) {
          return std::ranges::any_of(node.steps, [&](const Step& b) { return conflict(a, b); });
        });
        if (ordered) node.after.push_back(earlier);
      }
      if (once_in(3)) {
        node.chain = below(kChains);
        if (chain_values[node.chain] != 0) node.after.push_back(chain_last[node.chain]);
        node.chain_value = ++chain_values[node.chain];
        chain_last[node.chain] = n;
      }
      node.gated = once_in(8);
      for (const Step& step : node.steps) apply(step, model);
    }

    const hal::Device& first = devices_[0];
    const hal::Semaphore gate = first.create_semaphore().value();
    std::vector<hal::Semaphore> own, chains;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      own.push_back(devices_[below(devices_.size())].create_semaphore().value());
    }
    for (std::size_t i = 0; i < kChains; ++i) chains.push_back(first.create_semaphore().value());
    std::vector<std::size_t> order(nodes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (!once_in(4)) std::shuffle(order.begin(), order.end(), random_);
    std::atomic<bool> refused{false};
    const auto submit_some = [&](std::span<const std::size_t> some) {
      for (const std::size_t n : some) {
        const Node& node = nodes[n];
        std::vector<hal::Point> waits, signals = {{own[n], 1}};
        for (const std::size_t earlier : node.after) {
          const Node& other = nodes[earlier];
          // Either of its points, if there are two.
          if (other.chain != kChains && (n + earlier) % 2 == 0) {
            waits.emplace_back(chains[other.chain], other.chain_value);
          } else {
            waits.emplace_back(own[earlier], 1);
          }
        }
        if (node.gated) waits.emplace_back(gate, 1);
        if (node.chain != kChains) signals.emplace_back(chains[node.chain], node.chain_value);
        const Status status = submit(node, {.wait = waits, .signal = signals});
        if (!status.ok()) {
          ADD_FAILURE() << "seed " << seed << ": " << status.to_string();
          refused = true;
        }
      }
    };
    const std::span<const std::size_t> all(order);
    if (once_in(2)) {
      std::thread other([&] { submit_some(all.first(all.size() / 2)); });
      submit_some(all.subspan(all.size() / 2));
      other.join();
    } else {
      submit_some(all);
    }
    check(gate.signal(1));
    if (refused) return;
    std::vector<hal::Point> ends;
    for (const hal::Semaphore& semaphore : own) ends.emplace_back(semaphore, 1);
    const Status end = hal::wait_all(ends, kNever);
    ASSERT_TRUE(end.ok()) << "seed " << seed << ": " << end.to_string();
    for (std::size_t i = 0; i < kBuffers; ++i) {
      const hal::Mapping mapping = buffers_[i].map().value();
      for (std::uint64_t at = 0; at < kSize; ++at) {
        ASSERT_EQ(mapping.bytes()[at], model[i][at])
            << "seed " << seed << ", buffer " << i << ", byte " << at;
      }
    }
  }

  void run_seeds() {
    const auto until = std::chrono::steady_clock::now() + kLongest;
    for (const std::uint64_t seed : hal::testing::stress_seeds(kSeeds)) {
      run(seed);
      if (HasFailure()) break;
      if (std::getenv("HALYARD_STRESS_SEEDS") == nullptr &&
          std::chrono::steady_clock::now() > until)
        break;
    }
  }

  std::mt19937_64 random_;
  hal::DriverRegistry registry_;
  std::vector<hal::Device> devices_;
  std::vector<hal::Queue> queues_;
  std::vector<hal::Executable> executables_;
  std::vector<hal::Function> functions_;
  std::vector<hal::Buffer> counts_, buffers_;
  std::vector<std::size_t> device_of_recording_;
};

TEST_P(VulkanOrder, RandomGraphsGiveTheMemoryOfTheModel) { run_seeds(); }

// The same over several queues of a device with a family that only copies.
class VulkanOrderDiscrete : public VulkanOrder {
 protected:
  void SetUp() override {
    fake().discrete = true;
    setenv("HALYARD_VULKAN_LIBRARY", HALYARD_FAKE_VULKAN_LIBRARY, 1);
    VulkanOrder::SetUp();
  }
};
TEST_P(VulkanOrderDiscrete, RandomGraphsGiveTheMemoryOfTheModel) { run_seeds(); }

constexpr const char* kUris[] = {"vulkan://0", "vulkan://?devices=2"};
std::string name_of(const ::testing::TestParamInfo<const char*>& info) {
  return info.index == 0 ? "OneDevice" : "TwoDevices";
}
INSTANTIATE_TEST_SUITE_P(Random, VulkanOrder, ::testing::ValuesIn(kUris), name_of);
INSTANTIATE_TEST_SUITE_P(Random, VulkanOrderDiscrete, ::testing::ValuesIn(kUris), name_of);

}  // namespace
}  // namespace halyard::vulkan
