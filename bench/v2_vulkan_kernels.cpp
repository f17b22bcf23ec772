// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// V2, V6, V7: kernels of one item on a Vulkan device, compared with the same SPIR-V in raw Vulkan.
// Word i is incremented by dispatch i; each dispatch has its argument block, with the word's
// address.
#include "vulkan_arms.h"

namespace halyard::bench {
namespace {

constexpr std::uint32_t kDispatches = 100;
constexpr std::uint64_t kBlock = 16;  // bytes between argument blocks

// A Halyard buffer whose words count the dispatches.
struct HalyardWords {
  Words words;
  std::uint32_t expected = 0;

  explicit HalyardWords(const hal::Device& device) : words(device, kDispatches) {}
  hal::BufferRange range(std::uint32_t i) const { return {words.buffer(), i * 4ull, 4}; }
  void expect(std::uint32_t count) const {
    for (std::uint32_t i = 0; i < count; ++i) verify(words[i] == expected, "Halyard's increments");
  }
};

struct HalyardKernel : VulkanQueue {
  hal::Executable kernels = World::load(device, "bench");
  hal::Function increment = kernels.function("increment").value();
};

// The same for raw Vulkan, with argument blocks.
struct RawWords {
  RawVulkan::Memory words, blocks;
  std::uint32_t expected = 0;

  explicit RawWords(RawVulkan& vulkan)
      : words(vulkan.allocate(kDispatches * sizeof(std::uint32_t))),
        blocks(vulkan.allocate(kDispatches * kBlock)) {
    for (std::uint32_t i = 0; i < kDispatches; ++i) point_to(words, i);
  }
  // Block i: the address of word i of `target`.
  void point_to(const RawVulkan::Memory& target, std::uint32_t i) const {
    blocks.as<VkDeviceAddress>()[i * kBlock / sizeof(VkDeviceAddress)] = target.address + i * 4ull;
  }
  void expect(std::uint32_t count) const {
    for (std::uint32_t i = 0; i < count; ++i) {
      verify(words.as<std::uint32_t>()[i] == expected, "raw increments");
    }
  }
};

struct RawKernel : RawQueue {
  VkPipeline increment = vulkan->pipeline("increment");
  VkCommandBuffer commands = vulkan->command_buffer();

  void record(const RawWords& words, std::uint32_t count, VkCommandBufferUsageFlags flags = 0) {
    vulkan->begin(commands, flags);
    vulkan->bind(commands, increment);
    for (std::uint32_t i = 0; i < count; ++i) {
      vulkan->dispatch(commands, words.blocks.address + i * kBlock);
    }
    vulkan->end(commands);
  }
};

// ---- V2

struct HalyardDispatch : HalyardKernel {
  HalyardWords words{device};

  Sample run(int count) {
    const Sample sample = in_loops(count, [&] {
      ++words.expected;
      check(queue.dispatch(increment, {.groups = 1}, {words.range(0)}, {},
                           {.signal = {{done, ++value}}}));
      check(done.wait(value));
    });
    words.expect(1);
    return sample;
  }
};

struct RawDispatch : RawKernel {
  RawWords words{*vulkan};

  Sample run(int count) {
    const Sample sample = in_loops(count, [&] {
      ++words.expected;
      words.point_to(words.words, 0);
      record(words, 1, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
      submit(commands);
      wait();
    });
    words.expect(1);
    return sample;
  }
};

// ---- V2.recorded, V6

template <std::uint32_t kCount>
struct HalyardReplay : HalyardKernel {
  HalyardWords words{device};
  hal::CommandBuffer commands;

  HalyardReplay() {
    hal::Recorder recorder(device);
    for (std::uint32_t i = 0; i < kCount; ++i) {
      recorder.dispatch(increment, {.groups = 1}, {words.range(i)});
    }
    commands = recorder.finish().value();
  }
  Sample run(int count) {
    const auto operation = [&] {
      ++words.expected;
      check(queue.execute_and_wait(commands, {.signal = {{done, ++value}}}));
    };
    const Sample sample =
        kCount == 1 ? in_loops(count, operation) : each_by_itself(count, operation);
    words.expect(kCount);
    return sample;
  }
};

template <std::uint32_t kCount>
struct RawReplay : RawKernel {
  RawWords words{*vulkan};

  RawReplay() { record(words, kCount); }
  Sample run(int count) {
    const auto operation = [&] {
      ++words.expected;
      submit(commands);
      wait();
    };
    const Sample sample =
        kCount == 1 ? in_loops(count, operation) : each_by_itself(count, operation);
    words.expect(kCount);
    return sample;
  }
};

// ---- V7: dispatch i has slot i, and all slots change with every replay, between two buffers

struct HalyardSlots : HalyardKernel {
  HalyardWords words[2] = {HalyardWords(device), HalyardWords(device)};
  std::vector<hal::BufferRange> tables[2];
  hal::CommandBuffer commands;

  HalyardSlots() {
    hal::Recorder recorder(device);
    for (std::uint32_t i = 0; i < kDispatches; ++i) {
      recorder.dispatch(increment, {.groups = 1}, {hal::slot(i)});
      for (int k = 0; k < 2; ++k) tables[k].push_back(words[k].range(i));
    }
    commands = recorder.finish().value();
  }
  Sample run(int count) {
    const Sample sample = each_by_itself(count, [&] {
      ++value;
      ++words[value % 2].expected;
      check(queue.execute_and_wait(commands,
                                   {.bindings = tables[value % 2], .signal = {{done, value}}}));
    });
    for (const HalyardWords& each : words) each.expect(kDispatches);
    return sample;
  }
};

// Writes the blocks and records the dispatches again.
struct RawRecordAgain : RawKernel {
  RawWords words[2] = {RawWords(*vulkan), RawWords(*vulkan)};

  Sample run(int count) {
    const Sample sample = each_by_itself(count, [&] {
      RawWords& now = words[(value + 1) % 2];
      ++now.expected;
      for (std::uint32_t i = 0; i < kDispatches; ++i) now.point_to(now.words, i);
      record(now, kDispatches, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
      submit(commands);
      wait();
    });
    for (const RawWords& each : words) each.expect(kDispatches);
    return sample;
  }
};

// Writes the blocks only, as Halyard does: the least that the change costs.
struct RawRewrite : RawKernel {
  RawWords words[2] = {RawWords(*vulkan), RawWords(*vulkan)};

  RawRewrite() { record(words[0], kDispatches); }
  Sample run(int count) {
    const Sample sample = each_by_itself(count, [&] {
      RawWords& now = words[(value + 1) % 2];
      ++now.expected;
      for (std::uint32_t i = 0; i < kDispatches; ++i) words[0].point_to(now.words, i);
      submit(commands);
      wait();
    });
    for (const RawWords& each : words) each.expect(kDispatches);
    return sample;
  }
};

}  // namespace

std::vector<Row> vulkan_kernel_rows() {
  using Kind = Target::Kind;
  return {{"V2",
           "Queue::dispatch of a kernel of one item, and its wait. Raw: recorded each time",
           {{Kind::kLimit, 1.2}},
           [](World& world) {
             return arms<HalyardDispatch, RawDispatch>(
                 "halyard: dispatch, wait", "raw: record, submit, wait", world.turns(12));
           }},
          {"V2.recorded",
           "the same kernel, recorded once by both",
           {},
           [](World& world) {
             return arms<HalyardReplay<1>, RawReplay<1>>("halyard: execute_and_wait",
                                                         "raw: submit, wait", world.turns(12));
           }},
          {"V6",
           "a recording of 100 dispatches, executed and waited for; both recorded once",
           {{Kind::kLimit, 1.05}},
           [](World& world) {
             return arms<HalyardReplay<kDispatches>, RawReplay<kDispatches>>(
                 "halyard: execute_and_wait", "raw: submit, wait", world.turns(40));
           }},
          {"V7",
           "the same with 100 slots that change each time. Raw: recorded again each time",
           {{Kind::kLimit, 1.15}},
           [](World& world) {
             Arms row = arms<HalyardSlots, RawRecordAgain>(
                 "halyard: execute_and_wait", "raw: record again, submit, wait", world.turns(40));
             row.peers.push_back(
                 arm("raw rewritten blocks", std::make_shared<RawRewrite>(), world.turns(40)));
             return row;
           }}};
}

}  // namespace halyard::bench
