// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled kernels in recordings and single dispatches.
#include "drivers/cpu/command_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "cpu_test_util.h"
#include "halyard/hcq/cpu.h"
#include "halyard/hcq/queue.h"
#include "kernel/kernel_test_util.h"

namespace halyard::cpu {
namespace {

constexpr std::string_view kKernels = R"(
#include <halyard/kernel.h>
HY_KERNEL(add, 1, 1, 1, HY_INOUT(uint, x), HY_SCALAR(uint, by)) { HY_ITEMS { x[0] += by; } }
HY_KERNEL(saxpy, 16, 1, 1, HY_IN(float, x), HY_INOUT(float, y), HY_SCALAR(float, a),
          HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = a * x[HY_GLOBAL_X] + y[HY_GLOBAL_X]; }
}
HY_KERNEL(place, 1, 1, 1, HY_OUT(uint, y)) {
  HY_ITEMS {
    y[0] = HY_GX; y[1] = HY_GY; y[2] = HY_GZ;
    y[3] = HY_GROUPS_X; y[4] = HY_GROUPS_Y; y[5] = HY_GROUPS_Z;
  }
}
)";

class CpuCommandBuffer : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    bytes_ = new std::vector<std::byte>(testing::compile_text_shared(kKernels, "x86-64").value());
  }
  static void TearDownTestSuite() { delete bytes_; }

  void SetUp() override {
    executable_ = device_->load(kernel::Hyx::parse(*bytes_, "test.hyx").value()).value();
    for (std::uint32_t i = 0; i < executable_->file().kernels().size(); ++i) {
      const std::string_view name = executable_->file().kernels()[i].name;
      (name == "add" ? add_ : name == "saxpy" ? saxpy_ : place_) = i;
    }
  }

  hal::Command dispatch_add(const hal::CommandRange& target, const std::uint32_t& by,
                            std::uint32_t groups = 1) {
    bindings_.push_back({target, {}});
    hal::Command command;
    command.kind = hal::CommandKind::kDispatch;
    command.dispatch = {.executable = executable_.get(),
                        .function = add_,
                        .groups = {groups, 1, 1},
                        .bindings = bindings_.back().data(),
                        .binding_count = 1,
                        .constants_size = 4,
                        .constants = reinterpret_cast<const std::byte*>(&by)};
    return command;
  }
  hal::Command dispatch_saxpy(const hal::CommandRange& x, const hal::CommandRange& y,
                              const void* constants, std::uint32_t groups) {
    bindings_.push_back({x, y});
    hal::Command command;
    command.kind = hal::CommandKind::kDispatch;
    command.dispatch = {.executable = executable_.get(),
                        .function = saxpy_,
                        .groups = {groups, 1, 1},
                        .bindings = bindings_.back().data(),
                        .binding_count = 2,
                        .constants_size = 8,
                        .constants = static_cast<const std::byte*>(constants)};
    return command;
  }
  static std::uint32_t value(const Ref<hal::Memory>& memory) {
    std::uint32_t value;
    std::memcpy(&value, memory->host_pointer(), sizeof value);
    return value;
  }
  Ref<hal::Memory> zeroed(std::uint64_t size) {
    Ref<hal::Memory> memory = allocate(*device_, size);
    std::memset(memory->host_pointer(), 0, size);
    return memory;
  }
  static hal::CommandRange slot(std::uint32_t index, std::uint64_t offset = 0) {
    return {{nullptr, offset, hal::kWholeSize}, index};
  }
  // Runs `recording` once on the stepped lane.
  void execute(const hal::NativeCommands& native, const hal::BoundRange* table = nullptr) {
    hal::Operation operation;
    operation.kind = hal::OperationKind::kExecute;
    operation.native = &native;
    operation.table = table;
    ASSERT_EQ(issue(lane_, operation, ++sequence_).count, 1u);
    help_all(lane_);
    ASSERT_EQ(lane_.poll().sequence, sequence_);
  }

  static inline std::vector<std::byte>* bytes_ = nullptr;
  std::unique_ptr<Device> device_ = stepped_device();
  timeline::NativeQueue& lane_ = lane_of(*device_);
  std::uint64_t sequence_ = 0;
  Ref<hal::ExecutableImpl> executable_;
  std::uint32_t add_ = 0, saxpy_ = 0, place_ = 0;
  std::deque<std::array<hal::CommandRange, 2>> bindings_;
};

TEST_F(CpuCommandBuffer, SingleDispatchRunsAllItsGroups) {
  const Ref<hal::Memory> x = zeroed(4000), y = zeroed(4000);
  auto* values = reinterpret_cast<float*>(x->host_pointer());
  std::iota(values, values + 1000, 0.0f);
  struct {
    float a = 3.0f;
    std::uint32_t n = 1000;
  } constants;
  hal::Operation operation;
  operation.kind = hal::OperationKind::kCommand;
  operation.command = dispatch_saxpy(whole(x), whole(y), &constants, 63);
  ASSERT_EQ(issue(lane_, operation, 1).count, 1u);
  help_all(lane_);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(reinterpret_cast<float*>(y->host_pointer())[i], 3.0f * static_cast<float>(i));
  }
}

TEST_F(CpuCommandBuffer, ARecordedDispatchOfOneGroupIsTheFirstOfOne) {
  const Ref<hal::Memory> y = zeroed(64);
  hal::Command command = dispatch_add(whole(y), 0);
  command.dispatch.function = place_;
  command.dispatch.constants_size = 0;
  const auto native = device_->prepare({std::vector<hal::Command>{command}}).value();
  execute(*native);
  const auto* at = reinterpret_cast<const std::uint32_t*>(y->host_pointer());
  EXPECT_EQ(std::vector(at, at + 6), (std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1}));
}

TEST_F(CpuCommandBuffer, LongChainRunsInOrderAcrossManyVisits) {
  const Ref<hal::Memory> counter = zeroed(64);
  const std::uint32_t one = 1;
  std::vector<hal::Command> commands;
  for (int i = 0; i < 10'000; ++i) {
    commands.push_back(dispatch_add(whole(counter), one));
    if (i % 2 == 0) commands.emplace_back();  // a barrier
  }
  const auto native = device_->prepare({commands}).value();
  execute(*native);
  EXPECT_EQ(value(counter), 10'000u);
  execute(*native);
  EXPECT_EQ(value(counter), 20'000u);
}

// The second run is in order, because it is timed. It takes many visits, with a job in between.
TEST_F(CpuCommandBuffer, AGraphOfShortCommandsRunsAllOfThemHoweverItIsRun) {
  constexpr std::uint32_t kCounters = 20'000;
  const auto device = device_with(1);
  timeline::NativeQueue& lane = lane_of(*device);
  const Ref<hal::Memory> counters = zeroed(4 * kCounters), a = zeroed(1 << 18);
  const std::uint32_t one = 1;
  std::vector<hal::Command> commands;
  for (std::uint32_t i = 0; i < kCounters; ++i) {
    if (i == kCounters / 2) commands.push_back(fill(whole(a), 0x0a0b0c0d));
    commands.push_back(dispatch_add({{counters.get(), 4 * i, 4}}, one));
  }
  const auto native = device->prepare({commands}).value();
  hal::Operation operation;
  operation.kind = hal::OperationKind::kExecute;
  operation.native = native.get();
  for (std::uint32_t run = 1; run <= 4; ++run) {
    ASSERT_EQ(issue(lane, operation, run).count, 1u);
    while (lane.poll().sequence < run) {
      if (!lane.help(run)) std::this_thread::yield();
    }
    const auto* values = reinterpret_cast<const std::uint32_t*>(counters->host_pointer());
    EXPECT_EQ(std::count(values, values + kCounters, run), kCounters);
    EXPECT_EQ(value(a), 0x0a0b0c0du);
  }
}

TEST_F(CpuCommandBuffer, SlotsAreResolvedForEachSubmission) {
  const Ref<hal::Memory> a = zeroed(64), b = zeroed(64);
  const std::uint32_t five = 5;
  const std::vector<hal::Command> commands = {dispatch_add(slot(1, 4), five),
                                              fill(slot(0), 0x01010101)};
  const auto native = device_->prepare({.commands = commands, .slot_count = 2}).value();
  const hal::BoundRange first[] = {{a.get(), 32, 16}, {a.get(), 0, 32}};
  const hal::BoundRange second[] = {{b.get(), 32, 16}, {b.get(), 8, 24}};
  execute(*native, first);
  execute(*native, second);
  const auto* words_a = reinterpret_cast<const std::uint32_t*>(a->host_pointer());
  const auto* words_b = reinterpret_cast<const std::uint32_t*>(b->host_pointer());
  EXPECT_EQ(words_a[1], 5u);
  EXPECT_EQ(words_b[3], 5u);
  EXPECT_EQ(words_a[8], 0x01010101u);
  EXPECT_EQ(words_a[11], 0x01010101u);
  EXPECT_EQ(words_a[12], 0u);
  EXPECT_EQ(words_b[1], 0u);
}

TEST_F(CpuCommandBuffer, TransfersAndDispatchesKeepTheirOrder) {
  const Ref<hal::Memory> a = zeroed(64), b = zeroed(64), c = zeroed(64);
  const std::uint32_t two = 2, twenty = 20;
  const hal::CommandRange word_a({a.get(), 0, 4}), word_b({b.get(), 0, 4}), word_c({c.get(), 0, 4});
  hal::Command update;
  update.kind = hal::CommandKind::kUpdate;
  update.update = {word_a, reinterpret_cast<const std::byte*>(&twenty)};
  const std::vector<hal::Command> commands = {update,
                                              dispatch_add(word_a, two),
                                              copy(word_a, word_b),
                                              dispatch_add(word_b, two, 0),
                                              dispatch_add(word_b, two),
                                              copy(word_b, word_c)};
  const auto native = device_->prepare({commands}).value();
  execute(*native);
  EXPECT_EQ(value(a), 22u);
  EXPECT_EQ(value(c), 24u);
}

TEST_F(CpuCommandBuffer, RecordingOfLargeJobsIsCompleteWhenItSaysSo) {
  const std::uint64_t size = (std::uint64_t{4} << 20) + 12;
  const Ref<hal::Memory> a = allocate(*device_, size), b = allocate(*device_, size);
  std::memset(b->host_pointer(), 0, size);
  const std::vector<hal::Command> commands = {fill(whole(a), 0x0a0b0c0d), copy(whole(a), whole(b)),
                                              fill(whole(a), 0)};
  const auto native = device_->prepare({commands}).value();
  execute(*native);
  const auto* words = reinterpret_cast<const std::uint32_t*>(b->host_pointer());
  EXPECT_EQ(std::count(words, words + size / 4, 0x0a0b0c0du),
            static_cast<std::ptrdiff_t>(size / 4));
}

TEST_F(CpuCommandBuffer, OneRecordingMayRunOnTwoDevicesAtOnce) {
  const auto first = device_with(2), second = device_with(2);
  struct {
    float a = 1.0f;
    std::uint32_t n = 4096;
  } constants;
  std::vector<hal::Command> commands;
  for (int i = 0; i < 20; ++i)
    commands.push_back(dispatch_saxpy(slot(0), slot(1), &constants, 256));
  const auto native = device_->prepare({.commands = commands, .slot_count = 2}).value();
  const Ref<hal::Memory> x = zeroed(4096 * 4), y[2] = {zeroed(4096 * 4), zeroed(4096 * 4)};
  std::fill_n(reinterpret_cast<float*>(x->host_pointer()), 4096, 1.0f);
  timeline::NativeQueue* lanes[] = {&lane_of(*first), &lane_of(*second)};
  hal::BoundRange tables[2][2];
  hal::Operation operations[2];
  for (int d = 0; d < 2; ++d) {
    tables[d][0] = {x.get(), 0, x->size()};
    tables[d][1] = {y[d].get(), 0, y[d]->size()};
    operations[d].kind = hal::OperationKind::kExecute;
    operations[d].native = native.get();
    operations[d].table = tables[d];
    for (std::uint64_t i = 1; i <= 10; ++i) {
      ASSERT_EQ(issue(*lanes[d], operations[d], i).count, 1u);
    }
  }
  for (auto* lane : lanes) {
    while (lane->poll().sequence < 10) {
      if (!lane->help(10)) std::this_thread::yield();
    }
  }
  for (const Ref<hal::Memory>& memory : y) {
    const auto* values = reinterpret_cast<const float*>(memory->host_pointer());
    EXPECT_EQ(std::count(values, values + 4096, 200.0f), 4096);
  }
}

TEST_F(CpuCommandBuffer, RawHcqRunsAKernelOfAFile) {
  auto device = hcq::open_cpu(1).value();
  const hcq::Program program = hcq::load_cpu_program(*bytes_, "test.hyx", "saxpy").value();
  EXPECT_EQ(program.name(), "saxpy");
  EXPECT_EQ(program.local_size(), (hcq::Size3{16, 1, 1}));
  std::vector<float> x(100, 2.0f), y(100, 1.0f);
  hcq::ComputeQueue q;
  q.exec(program,
         program.fill_kernargs({hcq::Buffer(x.data(), 400), hcq::Buffer(y.data(), 400)},
                               {0.5f, std::uint32_t{100}}),
         {7, 1, 1}, {16, 1, 1})
      .signal(device->next_timeline());
  ASSERT_TRUE(q.submit(*device).ok());
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(y, std::vector<float>(100, 2.0f));
  EXPECT_EQ(hcq::load_cpu_program(*bytes_, "test.hyx", "nosuch").status().code(),
            StatusCode::kNotFound);
  EXPECT_FALSE(hcq::load_cpu_program({}, "empty.hyx", "saxpy").ok());
}

TEST_F(CpuCommandBuffer, ExecutableOutlivesItsDevice) {
  const Ref<hal::ExecutableImpl> kept = executable_;
  device_->close();
  EXPECT_EQ(kept->file().kernels().size(), 3u);
}

}  // namespace
}  // namespace halyard::cpu
