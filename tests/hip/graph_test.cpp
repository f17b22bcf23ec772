// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The nodes of HIP's graphs, and the updates of their parameters.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>

#include "compiler/hyx_writer.h"
#include "drivers/stream/context.h"
#include "drivers/stream/executable.h"
#include "drivers/stream/graph_instance.h"
#include "hip_test_util.h"
#include "kernel/hyx.h"

namespace halyard::hip {
namespace {

using Instance = stream::GraphInstance<HipApi>;
using Update = Instance::Update;

// A recording with one dispatch, whose constant is a slot.
class Recording {
 public:
  explicit Recording(const HipApi& api)
      : executable_(
            stream::Executable<HipApi>::adopt(
                api, stream::ContextGuard<HipApi>::create(api, 0).value(),
                kernel::Hyx::parse(
                    compiler::write_hyx(
                        {.kernels = {{.name = "put",
                                      .workgroup_size = {64, 1, 1},
                                      .bindings = {},
                                      .constants = {{"value", kernel::ElementType::kUint64, 0}},
                                      .constants_bytes = 8}},
                         .images = {{"hsaco-gfx1100", "hy-kernarg-1", "code"}},
                         .sources = {}}),
                    "test.hyx")
                    .value(),
                {})
                .value()) {
    command_.kind = hal::CommandKind::kDispatch;
    command_.dispatch = {.executable = executable_.get(),
                         .function = 0,
                         .groups = {1, 1, 1},
                         .counts = nullptr,
                         .bindings = nullptr,
                         .binding_count = 0,
                         .constants_size = sizeof(std::uint64_t),
                         .constants = nullptr,
                         .constant_uses = &use_,
                         .constant_use_count = 1,
                         .constants_entry = 1};
    recording_.commands = {&command_, 1};
    recording_.slot_count = 1;
    EXPECT_TRUE(shape_.plan.build(recording_));
    EXPECT_TRUE(shape_.uses.build(recording_, shape_.plan));
  }

  // Builds the graph the first time. The table and the packed arguments are destroyed afterwards.
  Update replay(const HipApi& api, std::uint64_t value) {
    hal::BoundRange table[2] = {{.offset = value}, {}};
    __builtin_memcpy(static_cast<void*>(&table[1]), &value, sizeof value);
    stream::Arguments arguments;
    packed_at = &arguments.bytes[0];
    std::uint32_t updated = 0;
    if (!instance_.is_built()) {
      EXPECT_TRUE(instance_.build(api, shape_, table, arguments).ok());
      return Update::kDone;
    }
    return instance_.update(api, shape_, table, arguments, updated).value();
  }
  void destroy(const HipApi& api) { instance_.destroy(api); }

  const void* packed_at = nullptr;  // in the last replay

 private:
  Ref<hal::ExecutableImpl> executable_;
  hal::ConstantUse use_{};
  hal::Command command_;
  hal::RecordedCommands recording_;
  stream::GraphShape shape_{recording_, {}, {}};
  Instance instance_;
};

class HipGraphs : public ::testing::Test {
 protected:
  ~HipGraphs() override { recording.destroy(hip.api()); }

  FakeTable hip;
  Recording recording{hip.api()};
};

TEST_F(HipGraphs, ACopyKeepsItsKind) {
  HipApi api = hip.api();
  ASSERT_TRUE(api.prepare_graphs().ok());
  EXPECT_TRUE(api.updates_graphs);
  EXPECT_EQ(hip.device.graph_updates, GraphUpdates::kWork);
  EXPECT_EQ(FakeTable::state.copy.kind, hipMemcpyDefault);
  EXPECT_EQ(FakeTable::state.graph_launches, 2);
  ASSERT_TRUE(hip.api().prepare_graphs().ok());
  EXPECT_EQ(FakeTable::state.graph_launches, 2) << "the test runs once";
}

TEST_F(HipGraphs, ThatKeepTheirParametersAreBuiltAgain) {
  FakeTable::state.forgets_updates = true;
  HipApi api = hip.api();
  ASSERT_TRUE(api.prepare_graphs().ok());
  EXPECT_FALSE(api.updates_graphs);
  EXPECT_EQ(hip.device.graph_updates, GraphUpdates::kFail);
  recording.replay(api, 17);
  EXPECT_EQ(recording.replay(api, 18), Update::kMustBuild);
}

TEST_F(HipGraphs, WithoutMemoryForTheTestTheNextRecordingAsksAgain) {
  const auto allocate = hip.table.hipHostMalloc.pointer;
  hip.table.hipHostMalloc.pointer = [](void**, std::size_t, unsigned) {
    return hipErrorOutOfMemory;
  };
  HipApi api = hip.api();
  ASSERT_TRUE(api.prepare_graphs().ok());
  EXPECT_FALSE(api.updates_graphs);
  hip.table.hipHostMalloc.pointer = allocate;
  ASSERT_TRUE(api.prepare_graphs().ok());
  EXPECT_TRUE(api.updates_graphs);
}

TEST_F(HipGraphs, ArgumentsOfAKernelLiveAsLongAsItsNode) {
  HipApi api = hip.api();
  api.updates_graphs = true;
  recording.replay(api, 17);
  void** const extra = FakeTable::state.extra.data();
  EXPECT_NE(extra[1], recording.packed_at);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(extra[4]), 3u);
  EXPECT_EQ(*static_cast<const std::uint64_t*>(extra[1]), 17u);
  EXPECT_EQ(recording.replay(api, 18), Update::kDone);
  EXPECT_EQ(*static_cast<const std::uint64_t*>(FakeTable::state.extra[1]), 18u);
}

}  // namespace
}  // namespace halyard::hip
