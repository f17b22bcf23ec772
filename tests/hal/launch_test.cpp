// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of kernels with tensor parameters: the constants and grids of tensors, refused uses.
#include "halyard/hal/launch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "hal/fake_driver.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t k4G = std::uint64_t{1} << 32;

// Kernels with the constants that the compiler derives from these tensors.
class Tensors : public testing::FakeWorld {
 protected:
  struct Parameter {
    std::string name;
    kernel::Access access;
    std::uint8_t rank;
    std::vector<std::uint32_t> tile = {};
  };

  static compiler::Kernel kernel_of(std::string name, const std::vector<Parameter>& parameters,
                                    const std::vector<std::string>& scalars_behind_first = {}) {
    compiler::Kernel kernel{.name = std::move(name), .workgroup_size = {64, 1, 1}};
    const auto add = [&](const std::string& constant, kernel::ElementType type) {
      kernel.constants.push_back({constant, type, kernel.constants_bytes});
      kernel.constants_bytes += 4;
    };
    for (const auto& [tensor, access, rank, tile] : parameters) {
      kernel.bindings.push_back({tensor, access, kernel::ElementType::kFloat32, rank, tile});
      const bool chosen = access != kernel::Access::kRead && tile.empty();
      for (int d = 0; d < rank; ++d) {
        add(tensor + ".size" + std::to_string(d), kernel::ElementType::kUint32);
      }
      for (int d = 0; d + 1 < rank; ++d) {
        add(tensor + ".stride" + std::to_string(d), kernel::ElementType::kUint32);
      }
      for (int d = 0; chosen && d < rank; ++d) {
        add(tensor + ".tile" + std::to_string(d), kernel::ElementType::kUint32);
      }
      if (kernel.bindings.size() != 1) continue;
      for (const std::string& scalar : scalars_behind_first) {
        add(scalar, kernel::ElementType::kFloat32);
      }
    }
    return kernel;
  }

  static std::vector<std::byte> tensor_hyx() {
    using enum kernel::Access;
    compiler::Contents contents;
    contents.kernels = {
        kernel_of("scale", {{"x", kRead, 2}, {"y", kWrite, 2, {4, 8}}}, {"a"}),
        kernel_of("chosen", {{"y", kWrite, 2}}),
        kernel_of("cube", {{"y", kWrite, 3, {2, 3, 4}}}),
        kernel_of("two", {{"y", kWrite, 2, {4, 8}}, {"z", kWrite, 1, {8}}}),
        kernel_of("input", {{"x", kRead, 3}, {"out", kWrite, 0}}),
        kernel_of("many", {{"a", kRead, 1},
                           {"b", kRead, 1},
                           {"c", kRead, 1},
                           {"d", kRead, 1},
                           {"e", kRead, 1},
                           {"y", kWrite, 1, {8}}}),
    };
    compiler::Kernel& pair =
        contents.kernels.emplace_back(kernel_of("pair", {{"x", kRead, 2}, {"y", kWrite, 2}}));
    pair.equal_sizes = {{0, 0, 1, 0}, {0, 1, 1, 1}};
    compiler::Kernel& product = contents.kernels.emplace_back(
        kernel_of("product", {{"a", kRead, 2}, {"b", kRead, 3}, {"c", kWrite, 2, {4, 8}}}, {"f"}));
    product.equal_sizes = {{0, 1, 1, 2}, {2, 0, 2, 1}};
    compiler::Kernel& copies = contents.kernels.emplace_back(kernel_of(
        "copies", {{"x", kRead, 1}, {"y", kWrite, 1}, {"z", kWrite, 1}, {"w", kWrite, 1}}));
    copies.equal_sizes = {{1, 0, 2, 0}, {2, 0, 0, 0}};
    compiler::Kernel& rows = contents.kernels.emplace_back(
        kernel_of("rows", {{"y", kWrite, 2, {4, 8}}, {"sums", kWrite, 2}}));
    rows.equal_sizes = {{1, 0, 0, 0}};
    contents.images = {{"x86-64-v1", "hy-cpu-1", "code"}};
    return compiler::write_hyx(contents);
  }

  Function function(std::string_view name) const { return executable_.function(name).value(); }
  BufferView view(View<std::uint64_t> shape) {
    std::uint64_t bytes = 4;
    for (const std::uint64_t size : shape) bytes *= size;
    return BufferView::create(buffers_.emplace_back(buffer(bytes)), ElementType::kFloat32, shape)
        .value();
  }

  // Runs a launch and returns it as the driver received it.
  testing::Launch run(const Launch& launch) {
    control->launches.clear();
    const Semaphore done = device.create_semaphore().value();
    check(queue.dispatch(launch, {.signal = {{done, 1}}}));
    check(done.wait(1, 20s));
    return control->launches.at(0);
  }
  static std::vector<std::uint32_t> words(const testing::Launch& launch) {
    std::vector<std::uint32_t> words(launch.constants.size() / 4);
    std::memcpy(words.data(), launch.constants.data(), launch.constants.size());
    return words;
  }

  void expect_refused(std::string_view kernel, View<Argument> arguments, StatusCode code,
                      const std::string& text, View<Constant> scalars = {}) {
    const Status status = Launch::create(function(kernel), arguments, scalars).status();
    EXPECT_EQ(status.code(), code) << status.to_string();
    EXPECT_THAT(std::string(status.message()), HasSubstr("kernel " + std::string(kernel)));
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }

  const Buffer big_ = buffer(4096);

 private:
  std::vector<Buffer> buffers_;
  Executable executable_ = device.load(tensor_hyx(), "tensors.hyx").value();
};

TEST_F(Tensors, ReflectionGivesRankAndStaticTile) {
  const BindingInfo x = function("scale").binding(0);
  const BindingInfo y = function("scale").binding(1);
  EXPECT_EQ(x.rank, 2u);
  EXPECT_THAT(x.tile, ElementsAre(0, 0, 0));
  EXPECT_EQ(y.rank, 2u);
  EXPECT_THAT(y.tile, ElementsAre(4, 8, 0));
  EXPECT_EQ(function("input").binding(1).rank, 0u);
}

TEST_F(Tensors, ViewsBecomeConstantsInListOrderAndAGroupForEachTile) {
  const BufferView x = view({9, 20});
  const BufferView y = view({9, 20});
  const Launch launch = Launch::create(function("scale"), {x, y}, {0.0f}).value();
  const testing::Launch seen = run(launch);
  EXPECT_THAT(words(seen), ElementsAre(9, 20, 20, 0, 9, 20, 20));
  EXPECT_THAT(seen.groups, ElementsAre(3, 3, 1));  // 20 in eights, 9 in fours
}

TEST_F(Tensors, DenseStridesMayBeGivenOrNot) {
  const std::uint64_t kSizes[] = {0, 1, 2, 3, 7, 8, 9, 20};
  for (const std::uint64_t i : kSizes) {
    for (const std::uint64_t j : kSizes) {
      for (const std::uint64_t k : kSizes) {
        const Buffer room = buffer(4 * i * j * k);
        Tensor y{.memory = room, .sizes = {i, j, k}};
        const Launch without = Launch::create(function("cube"), {y}).value();
        y.strides = {j * k, k, 1};
        const Launch with = Launch::create(function("cube"), {y}).value();
        const auto bytes = [](const Launch& launch) {
          return std::vector<std::byte>(launch.constants().begin(), launch.constants().end());
        };
        ASSERT_EQ(bytes(without), bytes(with)) << i << " x " << j << " x " << k;
        const Grid::Extent &a = without.grid().groups, &b = with.grid().groups;
        ASSERT_EQ(a.x, (k + 3) / 4);
        ASSERT_EQ(a.y, (j + 2) / 3);
        ASSERT_EQ(a.z, (i + 1) / 2);
        ASSERT_TRUE(a.x == b.x && a.y == b.y && a.z == b.z) << i << " x " << j << " x " << k;
      }
    }
  }
}

TEST_F(Tensors, ALaunchRunsOverAGivenGrid) {
  const BufferView y = view({4, 8});
  Launch launch = Launch::create(function("chosen"), {Tensor::of(y, {2, 2})}).value();
  EXPECT_THAT(run(launch.over({.groups = {7, 5}})).groups, ElementsAre(7, 5, 1));
}

TEST_F(Tensors, ALaunchWithASlotIsForRecordings) {
  const Tensor y{.memory = slot(0), .sizes = {4, 8}, .tile = {2, 2}};
  const Launch launch = Launch::create(function("chosen"), {y}).value();
  EXPECT_ERROR(queue.dispatch(launch, {}), StatusCode::kInvalidArgument,
               "dispatch of a launch with a slot");
}

TEST_F(Tensors, AMovedLaunchMayBeDispatchedAgain) {
  const BufferView y = view({4, 8});
  Launch first = Launch::create(function("chosen"), {Tensor::of(y, {2, 2})}).value();
  const Launch launch = std::move(first);
  EXPECT_EQ(queue.dispatch(first, {}).code(), StatusCode::kInvalidArgument);
  Recorder recorder(device);
  EXPECT_EQ(recorder.dispatch(first).finish().status().code(), StatusCode::kInvalidArgument);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(words(run(launch)), ElementsAre(4, 8, 8, 2, 2));
  }
}

TEST_F(Tensors, ALaunchOfManyTensorsIsMovedToo) {
  const BufferView x = view({9});
  const BufferView y = view({9});
  Launch first = Launch::create(function("many"), {x, x, x, x, x, y}).value();
  const Launch launch = std::move(first);
  EXPECT_EQ(queue.dispatch(first, {}).code(), StatusCode::kInvalidArgument);
  const testing::Launch seen = run(launch);
  EXPECT_EQ(seen.bindings.size(), 6u);
  EXPECT_THAT(words(seen), ElementsAre(9, 9, 9, 9, 9, 9));
}

TEST_F(Tensors, ALaunchWithOtherMemoryAndScalarsEqualsOneCreatedWithThem) {
  const BufferView x = view({9, 20}), y = view({9, 20});
  Launch launch = Launch::create(function("scale"), {x, y}, {1.0f}).value();
  const BufferRange from(big_, 64, 720), to(big_, 1024, 720);
  EXPECT_TRUE(launch.rebind(0, from));
  EXPECT_TRUE(launch.rebind(1, to));
  EXPECT_TRUE(launch.set_scalars({2.0f}).ok());
  const testing::Launch seen = run(launch);
  const Tensor x1{.memory = from, .sizes = {9, 20}}, y1{.memory = to, .sizes = {9, 20}};
  const testing::Launch expected = run(Launch::create(function("scale"), {x1, y1}, {2.0f}).value());
  EXPECT_EQ(seen.constants, expected.constants);
  EXPECT_TRUE(std::ranges::equal(seen.groups, expected.groups));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(seen.bindings.at(i).memory, expected.bindings.at(i).memory);
    EXPECT_EQ(seen.bindings.at(i).offset, expected.bindings.at(i).offset);
  }
}

TEST_F(Tensors, ATensorOfALaunchMovesToARangeOfTheSameLengthOnly) {
  const BufferView x = view({2, 3, 4});
  Launch launch = Launch::create(function("input"), {x, big_}).value();
  EXPECT_FALSE(launch.rebind(0, BufferRange(big_, 0, 95)));
  EXPECT_FALSE(launch.rebind(0, BufferRange(big_, 0, 97)));
  EXPECT_FALSE(launch.rebind(0, big_));
  EXPECT_EQ(launch.bindings()[0].buffer, x.range().buffer);
  EXPECT_TRUE(launch.rebind(0, BufferRange(big_, 0, 96)));
  EXPECT_TRUE(launch.rebind(1, BufferRange(big_, 96, 4)));  // a plain buffer

  const Tensor whole{.memory = big_, .sizes = {2, 3, 4}};
  launch = Launch::create(function("input"), {whole, big_}).value();
  EXPECT_FALSE(launch.rebind(0, buffer(4)));
  const Tensor slot_of{.memory = slot(0), .sizes = {2, 3, 4}};
  launch = Launch::create(function("input"), {slot_of, big_}).value();
  EXPECT_FALSE(launch.rebind(1, big_));
}

TEST_F(Tensors, ATensorThatMovesBeyondTheEndOfABufferIsRefusedAtTheDispatch) {
  const BufferView x = view({9, 20}), y = view({9, 20});
  Launch launch = Launch::create(function("scale"), {x, y}, {1.0f}).value();
  EXPECT_TRUE(launch.rebind(1, BufferRange(big_, 4096 - 719, 720)));
  EXPECT_EQ(queue.dispatch(launch, {}).code(), StatusCode::kOutOfRange);
}

TEST_F(Tensors, ADispatchWithoutTheirConstantsNamesTheLaunchThatHasThem) {
  const Status status =
      queue.dispatch(function("scale"), {.groups = {1}}, {big_, big_}, {1.0f}, {});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("; a hal::Launch has those of its tensors"));
}

TEST_F(Tensors, SetScalarsChecksLikeCreate) {
  const BufferView x = view({9, 20}), y = view({9, 20});
  Launch launch = Launch::create(function("scale"), {x, y}, {1.0f}).value();
  const auto message = [](const Status& status) { return std::string(status.message()); };
  EXPECT_THAT(message(launch.set_scalars({})),
              HasSubstr("kernel scale: 0 scalars given, it has 1 beside its tensors"));
  EXPECT_THAT(message(launch.set_scalars({1.0f, 2.0f})), HasSubstr("2 scalars given"));
  EXPECT_THAT(message(launch.set_scalars({1})), HasSubstr("(a) is float32, given int32"));
  EXPECT_EQ(Launch().set_scalars({}).code(), StatusCode::kInvalidArgument);
  const Launch moved = std::move(launch);
  EXPECT_EQ(launch.set_scalars({1.0f}).code(), StatusCode::kInvalidArgument);
}

TEST_F(Tensors, GroupXIsTheLastDimension) {
  const BufferView y = view({5, 7, 9});
  const Launch launch = Launch::create(function("cube"), {y}).value();
  EXPECT_THAT(run(launch).groups, ElementsAre(3, 3, 3));
  const BufferView flat = view({1, 7, 40});
  const Launch wide = Launch::create(function("cube"), {flat}).value();
  const testing::Launch seen = run(wide);
  EXPECT_THAT(seen.groups, ElementsAre(10, 3, 1));
  EXPECT_THAT(words(seen), ElementsAre(1, 7, 40, 280, 40));
}

TEST_F(Tensors, RowsMayLieApartAndOverlapInInputs) {
  const Tensor rows{.memory = BufferRange(big_, 64, 40), .sizes = {2, 4}, .strides = {6, 1}};
  const Tensor same{.memory = big_, .sizes = {2, 4}, .strides = {0, 1}};
  const Launch launch = Launch::create(function("scale"), {same, rows}, {1.0f}).value();
  const testing::Launch seen = run(launch);
  EXPECT_EQ(words(seen)[2], 0u);
  EXPECT_EQ(words(seen)[6], 6u);
  EXPECT_EQ(seen.bindings[1].offset, 64u);
}

TEST_F(Tensors, ATensorMayFillItsRangeToTheLastByteOnly) {
  const auto of = [&](std::uint64_t bytes) {
    return Tensor{.memory = BufferRange(big_, 0, bytes), .sizes = {3, 4}, .strides = {6, 1}};
  };
  EXPECT_TRUE(Launch::create(function("scale"), {of(64), of(64)}, {1.0f}).ok());
  expect_refused("scale", {of(64), of(63)}, StatusCode::kOutOfRange,
                 "y: 3 x 4 elements with strides 6 x 1 take 64 bytes of 63", {1.0f});
}

TEST_F(Tensors, AnEmptyTensorNeedsNoBytesAndNoGroups) {
  for (const Extents& sizes : {Extents{0, 7, 9}, Extents{5, 0, 9}, Extents{5, 7, 0}}) {
    const Launch launch =
        Launch::create(function("cube"), {Tensor{.memory = buffer(0), .sizes = sizes}}).value();
    const Grid::Extent& groups = launch.grid().groups;
    EXPECT_EQ(groups.x * groups.y * groups.z, 0u);
  }
}

TEST_F(Tensors, ASlotRequiresTheTensorsBytes) {
  const Tensor y{.memory = slot(0), .sizes = {4, 8}, .tile = {4, 4}};
  const Launch launch = Launch::create(function("chosen"), {y}).value();
  Recorder recorder(device);
  recorder.dispatch(launch);
  const CommandBuffer commands = recorder.finish().value();
  EXPECT_EQ(queue.execute(commands, {.bindings = {{big_, 0, 127}}}).code(),
            StatusCode::kOutOfRange);
  EXPECT_TRUE(queue.execute_and_wait(commands, {.bindings = {{big_, 0, 128}}}, 20s).ok());
}

// A kernel does not check its sizes. So constants that the caller packs without a Launch are
// checked against the memory as well: y of "cube" has three sizes and two strides.
constexpr Grid kOneGroup{.groups = {1}};
const std::vector<Constant> kDense2x3x4 = {2u, 3u, 4u, 12u, 4u};  // 24 elements, 96 bytes

TEST_F(Tensors, TensorConstants_OfADispatch_AreCheckedAgainstTheRange) {
  const Function cube = function("cube");
  const auto dispatch = [&](const BufferRange& y, View<Constant> constants) {
    return queue.dispatch(cube, kOneGroup, {y}, constants, {});
  };
  EXPECT_TRUE(dispatch({big_, 0, 96}, kDense2x3x4).ok());
  EXPECT_ERROR(dispatch({big_, 0, 95}, kDense2x3x4), StatusCode::kOutOfRange,
               "dispatch of cube: binding 0 (y): y: 2 x 3 x 4 elements take 96 bytes of 95");
  EXPECT_ERROR(dispatch({big_, 4001}, kDense2x3x4), StatusCode::kInvalidArgument, "offset 4001");
  EXPECT_ERROR(dispatch({big_, 4004}, kDense2x3x4), StatusCode::kOutOfRange, "bytes of 92");
  EXPECT_TRUE(dispatch({big_, 0, 0}, {2u, 0u, 4u, ~0u, ~0u}).ok()) << "no elements";
  EXPECT_ERROR(dispatch(big_, {2u, 3u, 4u, 2000u, 4u}), StatusCode::kOutOfRange,
               "take 8048 bytes of 4096");
  EXPECT_ERROR(dispatch(big_, {~0u, ~0u, ~0u, ~0u, ~0u}), StatusCode::kOutOfRange,
               "take 2^64 or more bytes of 4096");
  EXPECT_ERROR(queue.dispatch_indirect(cube, big_, {{big_, 0, 95}}, kDense2x3x4, {}),
               StatusCode::kOutOfRange,
               "dispatch_indirect of cube: binding 0 (y): y: 2 x 3 x 4 elements");
}

TEST_F(Tensors, TensorConstants_OfARecording_AreNeedsOfTheSlot) {
  const Function cube = function("cube");
  Recorder recorder(device);
  recorder.dispatch(cube, kOneGroup, {slot(0, 4)}, kDense2x3x4)
      .dispatch_indirect(cube, slot(1), {slot(2)}, kDense2x3x4);
  const CommandBuffer commands = recorder.finish().value();
  const Buffer counts = buffer(12);
  std::ranges::fill(counts.map().value().bytes(), std::byte{0});
  const auto execute = [&](std::uint64_t y, std::uint64_t groups, std::uint64_t z) {
    return queue.execute_and_wait(
        commands, {.bindings = {{big_, 0, y}, {counts, 0, groups}, {big_, 0, z}}}, 20s);
  };
  EXPECT_TRUE(execute(100, 12, 96).ok());
  EXPECT_ERROR(execute(99, 12, 96), StatusCode::kOutOfRange,
               "slot 0: 99 bytes bound, its commands reach 100");
  EXPECT_ERROR(execute(100, 11, 96), StatusCode::kOutOfRange,
               "slot 1: 11 bytes bound, its commands reach 12");
  EXPECT_ERROR(execute(100, 12, 95), StatusCode::kOutOfRange,
               "slot 2: 95 bytes bound, its commands reach 96");

  const auto recorded = [&](const BindingRef& y) {
    Recorder refused(device);
    return refused.dispatch(cube, kOneGroup, {y}, kDense2x3x4).finish().status();
  };
  EXPECT_ERROR(recorded(slot(0, 0, 95)), StatusCode::kOutOfRange,
               "cube: binding 0 (y): y: 2 x 3 x 4 elements take 96 bytes of 95");
  EXPECT_ERROR(recorded({big_, 0, 95}), StatusCode::kOutOfRange, "take 96 bytes of 95");
  EXPECT_ERROR(recorded(slot(0, ~std::uint64_t{0} - 90)), StatusCode::kInvalidArgument,
               "no multiple of its element");
  EXPECT_ERROR(recorded(slot(0, ~std::uint64_t{0} - 91)), StatusCode::kOutOfRange,
               "overflow 64 bits");
}

TEST_F(Tensors, TensorConstants_InConstantSlots_AreCheckedAtEachSubmission) {
  Recorder recorder(device);
  recorder.barrier().dispatch(function("cube"), kOneGroup, {slot(0, 4)},
                              {constant_slot(1), 3u, 4u, 12u, 4u});
  const CommandBuffer commands = recorder.finish().value();
  const auto execute = [&](std::uint64_t bytes, std::uint32_t size) {
    return queue.execute_and_wait(
        commands, {.bindings = {{big_, 0, bytes}}, .constants = {{}, size}}, 20s);
  };
  EXPECT_TRUE(execute(100, 2).ok());
  EXPECT_TRUE(execute(4, 0).ok());
  EXPECT_ERROR(execute(99, 2), StatusCode::kOutOfRange,
               "execute: command 1 (dispatch of cube): y: 2 x 3 x 4 elements take 96 bytes of 95");
  EXPECT_ERROR(execute(100, 3), StatusCode::kOutOfRange, "take 144 bytes of 96");
  EXPECT_TRUE(execute(4096, 85).ok());
}

TEST_F(Tensors, TensorConstants_ThatArePushed_AreCheckedAgainstTheSet) {
  const DescriptorSetLayout layout = device.create_descriptor_set_layout({{.number = 0}}).value();
  const PipelineLayout pipeline = device.create_pipeline_layout({layout}, 20).value();
  const std::uint32_t pushed[] = {2, 3, 4, 12, 4};
  const auto recorded = [&](const BindingRef& y) {
    Recorder recorder(device);
    recorder.push_descriptor_set(pipeline, 0, {{0, y}})
        .push_constants(pipeline, 0, std::as_bytes(std::span(pushed)))
        .dispatch(function("cube"), kOneGroup);
    return recorder.finish();
  };
  EXPECT_ERROR(recorded({big_, 0, 95}).status(), StatusCode::kOutOfRange, "96 bytes of 95");
  const CommandBuffer commands = recorded(slot(0)).value();
  EXPECT_ERROR(queue.execute(commands, {.bindings = {{big_, 0, 95}}}), StatusCode::kOutOfRange,
               "slot 0: 95 bytes bound, its commands reach 96");
  EXPECT_TRUE(queue.execute_and_wait(commands, {.bindings = {{big_, 0, 96}}}, 20s).ok());
}

TEST_F(Tensors, WithoutAnOutputTensorTheCallerGivesTheGrid) {
  const BufferView x = view({2, 3, 4});
  const Launch launch = Launch::create(function("input"), {x, big_}).value();
  EXPECT_FALSE(launch.grid().groups.given);
  EXPECT_EQ(queue.dispatch(launch, {}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue.dispatch(Launch(), {}).code(), StatusCode::kInvalidArgument);
}

TEST_F(Tensors, AnArgumentThatDoesNotFitIsRefusedByName) {
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  const BufferView y = view({4, 8});
  const BufferView flat = view({32});
  expect_refused("scale", {y}, kInvalid, "1 binding given", {1.0f});
  expect_refused("scale", {y, y}, kInvalid, "0 scalars given, it has 1");
  expect_refused("scale", {y, y}, kInvalid, "2 scalars given", {1.0f, 2.0f});
  expect_refused("scale", {y, y}, kInvalid, "(a) is float32, given int32", {1});
  expect_refused("scale", {y, flat}, kInvalid, "y: a tensor of rank 1 is given; it has rank 2",
                 {1.0f});
  expect_refused("scale", {big_, y}, kInvalid, "x: a plain buffer is given", {1.0f});
  expect_refused("input", {view({1, 1, 1}), flat}, kInvalid, "out: a tensor of rank 1 is given");
  expect_refused("cube", {BufferView::create(big_, ElementType::kInt32, {2, 2, 2}).value()},
                 kInvalid, "y: elements of int32 are given; it has float32");
  expect_refused("chosen", {Tensor{.sizes = {4, 8}, .tile = {1, 1}}}, kInvalid, "y: empty buffer");
}

TEST_F(Tensors, WrongTilesAreRefused) {
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  const BufferView y = view({4, 8});
  const auto tiled = [&](const Extents& tile) { return Tensor::of(y, tile); };
  expect_refused("chosen", {y}, kInvalid, "y: a tile of 0 extents is given for rank 2");
  expect_refused("chosen", {tiled({4})}, kInvalid, "y: a tile of 1 extent is given for rank 2");
  expect_refused("chosen", {tiled({4, 0})}, kInvalid, "y: tile1 is 0");
  expect_refused("chosen", {tiled({k4G, 1})}, StatusCode::kOutOfRange, "y: tile0 is 4294967296");
  expect_refused("scale", {y, tiled({4, 8})}, kInvalid, "y: tile 4 x 8 is given; the kernel's",
                 {1.0f});
  expect_refused("scale", {tiled({4, 8}), y}, kInvalid, "x: tile 4 x 8 is given; an input has none",
                 {1.0f});
  const BufferView z = view({9});
  expect_refused("two", {y, z}, kInvalid, "y needs 1 x 1 x 1 workgroups, z needs 2 x 1 x 1");
}

TEST_F(Tensors, SizesThatTheKernelRequiresEqualAreCompared) {
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  const auto of = [&](const Extents& sizes, const Extents& tile = {}) {
    return Tensor{.memory = big_, .sizes = sizes, .tile = tile};
  };
  EXPECT_TRUE(Launch::create(function("pair"), {of({8, 5}), of({8, 5}, {4, 4})}).ok());
  expect_refused("pair", {of({8, 8}), of({16, 16}, {4, 4})}, kInvalid,
                 "kernel pair: size 0 of x is 8, size 0 of y is 16; the kernel takes equal ones");
  expect_refused("pair", {of({16, 5}), of({8, 5}, {4, 4})}, kInvalid,
                 "size 0 of x is 16, size 0 of y is 8");
  expect_refused("pair", {of({8, 4}), of({8, 5}, {4, 4})}, kInvalid,
                 "size 1 of x is 4, size 1 of y is 5");

  const Tensor c = of({3, 3});
  EXPECT_TRUE(Launch::create(function("product"), {of({2, 7}), of({1, 2, 7}), c}, {1.0f}).ok());
  expect_refused("product", {of({7, 2}), of({1, 2, 7}), c}, kInvalid,
                 "size 1 of a is 2, size 2 of b is 7", {1.0f});
  expect_refused("product", {of({2, 7}), of({1, 2, 7}), of({3, 4})}, kInvalid,
                 "size 0 of c is 3, size 1 of c is 4", {1.0f});
}

TEST_F(Tensors, TilesOfOutputsAreComparedWhereTheirSizesAreEqual) {
  const auto of = [&](const Extents& sizes, const Extents& tile = {}) {
    return Tensor{.memory = big_, .sizes = sizes, .tile = tile};
  };
  // The kernel compares w's size with no other size, and its tile with no other tile.
  EXPECT_TRUE(
      Launch::create(function("copies"), {of({8}), of({8}, {4}), of({8}, {4}), of({8}, {7})}).ok());
  expect_refused("copies", {of({8}), of({8}, {4}), of({8}, {5}), of({8}, {4})},
                 StatusCode::kInvalidArgument,
                 "tile0 of y is 4, tile0 of z is 5; the kernel takes equal sizes there");

  const Tensor y = of({10, 10});
  EXPECT_TRUE(Launch::create(function("rows"), {y, of({10, 2}, {4, 1})}).ok());
  expect_refused("rows", {y, of({10, 2}, {5, 1})}, StatusCode::kInvalidArgument,
                 "y needs 2 x 3 x 1 workgroups, sums needs 2 x 2 x 1");
  const Tensor short_y = of({8, 10});
  expect_refused("rows", {short_y, of({8, 2}, {7, 1})}, StatusCode::kInvalidArgument,
                 "tile0 of y is 4, tile0 of sums is 7");
}

// Tensors with gaps, in slots, and empty tensors are packed by other code.
TEST_F(Tensors, SizesAreComparedForEveryPacking) {
  const auto refused = [&](const Tensor& x, const Tensor& y) {
    expect_refused("pair", {x, y}, StatusCode::kInvalidArgument, "; the kernel takes equal ones");
  };
  const Tensor y{.memory = big_, .sizes = {4, 8}, .tile = {2, 2}};
  const auto with = [](const Tensor& of, const BindingRef& memory, const Extents& strides = {}) {
    Tensor tensor = of;
    tensor.memory = memory;
    tensor.strides = strides;
    return tensor;
  };
  const Tensor x{.memory = big_, .sizes = {4, 8}}, wide{.memory = big_, .sizes = {4, 9}};
  const Tensor none{.memory = big_, .sizes = {0, 8}};
  EXPECT_TRUE(Launch::create(function("pair"), {with(x, big_, {0, 1}), y}).ok());
  EXPECT_TRUE(Launch::create(function("pair"), {with(x, slot(0)), with(y, slot(1))}).ok());
  refused(with(wide, big_, {16, 1}), y);
  refused(with(wide, slot(0)), with(y, slot(1)));
  refused(none, y);
}

TEST_F(Tensors, WrongSizesAndStridesAreRefused) {
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  const auto output = [&](const Extents& sizes, const Extents& strides) {
    return Tensor{.memory = big_, .sizes = sizes, .strides = strides};
  };
  expect_refused("cube", {output({2, 2, 2}, {4, 2})}, kInvalid, "y: 2 strides given for rank 3");
  expect_refused("cube", {output({2, 2, 2}, {8, 4, 2})}, kInvalid, "y: stride2 is 2; the last");
  expect_refused("cube", {output({2, 2, 3}, {6, 2, 1})}, kInvalid, "y: stride1 is 2: elements");
  expect_refused("cube", {output({2, 2, 3}, {5, 3, 1})}, kInvalid, "y: stride0 is 5: elements");
  expect_refused("cube", {output({3, 2, 3}, {4, 3, 1})}, kInvalid, "an output share a place");
  // Elements do not overlap with another order of strides, or if a dimension has a single element.
  EXPECT_TRUE(Launch::create(function("cube"), {output({2, 2, 3}, {3, 6, 1})}).ok());
  EXPECT_TRUE(Launch::create(function("cube"), {output({1, 2, 3}, {0, 3, 1})}).ok());

  expect_refused("cube", {output({1, 1, k4G}, {})}, StatusCode::kOutOfRange,
                 "y: size2 is 4294967296");
  expect_refused("cube", {output({1, 2, 3}, {k4G, 3, 1})}, StatusCode::kOutOfRange,
                 "y: stride0 is 4294967296");
  expect_refused("cube", {output({k4G - 1, 2, 3}, {k4G - 1, 3, 1})}, StatusCode::kOutOfRange,
                 "take 2^64 or more bytes of 4096");
  expect_refused("cube",
                 {Tensor{.memory = slot(1), .sizes = {k4G - 1, 2, 3}, .strides = {k4G - 1, 3, 1}}},
                 StatusCode::kOutOfRange, "take 2^64 or more bytes");
  expect_refused("cube", {Tensor{.memory = slot(1, 0, 8), .sizes = {1, 1, 3}}},
                 StatusCode::kOutOfRange, "take 12 bytes of 8");
  expect_refused("cube", {Tensor{.memory = BufferRange(big_, 5000), .sizes = {1, 1, 1}}},
                 StatusCode::kOutOfRange, "y: offset 5000 is beyond");
}

}  // namespace
}  // namespace halyard::hal
