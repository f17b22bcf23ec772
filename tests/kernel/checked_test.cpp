// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels compiled with --checked on a cpu device: an access out of bounds is skipped, and the
// device is lost with a message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/hal/command_buffer.h"
#include "halyard/hal/device.h"
#include "halyard/hal/launch.h"
#include "kernel/cpu_checked.h"
#include "kernel/kernel_test_util.h"
#include "kernel/shipped_sources.h"

namespace halyard::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// The body of the kernel `load` is line 6.
constexpr std::string_view kCheckedKernels = R"(
struct pair { float values[2]; };
static const uint table[3] = {1, 2, 3};

HY_KERNEL(load, 4, 1, 1, HY_IN(short, x), HY_OUT(int, y), HY_SCALAR(int, i)) {
  HY_ITEMS { y[HY_GLOBAL_X] = HY_GLOBAL_X == 13 ? x[i] : 7; }
}
HY_KERNEL(store, 64, 1, 1, HY_OUT(double, y), HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = 1; }
}
HY_KERNEL(add, 1, 1, 1, HY_INOUT(uint, y), HY_SCALAR(uint, i)) {
  HY_ITEMS { hy_atomic_add(y[i], 5u); }
}
HY_KERNEL(tile, 8, 1, 1, HY_IN_TENSOR2(float, x), HY_OUT_TILE2(float, y, 4, 16), HY_SCALAR(uint, i),
          HY_SCALAR(uint, j)) {
  HY_TILE_ITEMS2(y, a, b) {
    HY_Y2(y, a, b) = HY_AT2(x, HY_ORIGIN(y, 0) + a + i, HY_ORIGIN(y, 1) + b + j);
  }
}
HY_KERNEL(own, 1, 1, 1, HY_OUT_TILE2(int, y, 4, 4), HY_SCALAR(int, i), HY_SCALAR(int, j)) {
  HY_ITEMS { HY_Y2(y, i, j) = 1; }
}
HY_KERNEL(line, 1, 1, 1, HY_IN_TENSOR1(int, x), HY_OUT(int, y), HY_SCALAR(uint, i)) {
  HY_ITEMS { y[0] = HY_AT1(x, i); }
}
HY_KERNEL(cube, 1, 1, 1, HY_OUT_TILE3(int, y, 2, 2, 2), HY_SCALAR(uint, i)) {
  HY_ITEMS { HY_Y3(y, 0, i, 1) = 1; }
}
HY_KERNEL(storage, 4, 1, 1, HY_OUT(float, y), HY_SCALAR(uint, what), HY_SCALAR(uint, i),
          HY_SHARED(float, s, 4 * 4), HY_SHARED2(float, t, 4, 17), HY_PRIVATE(float, p),
          HY_PRIVATE_ARRAY(float, q, 3)) {
  HY_ITEMS {
    struct pair own = {{1, 2}};
    HY_MY(p) = own.values[0];
    if (what == 0) s[i] = 1;
    if (what == 1) t[i][0] = 1;
    if (what == 2) t[0][i] = 1;
    if (what == 3) HY_MY(q, i) = HY_MY(p);
    if (what == 4) y[0] = own.values[i];
    if (what == 5) y[0] = table[i];
  }
}
)";

std::vector<std::byte> checked_bytes() {
  const TextFile source(kCheckedKernels);
  return compiler::compile(
             {.source = source.path(), .targets = {tested_target()}, .checked = true})
      .value();
}

class Checked : public ::testing::Test {
 protected:
  Checked() { reopen(); }

  // A lost device stays lost.
  void reopen() {
    static const std::vector<std::byte> bytes = checked_bytes();
    device = hal::open("cpu://?workers=2").value();
    executable = device.load(bytes, "checked.hyx").value();
  }

  hal::Buffer buffer(std::size_t size) {
    const hal::Buffer made =
        device.allocate({.size = size, .memory = hal::MemoryType::kHostVisible}).value();
    std::ranges::fill(made.map().value().as<std::byte>(), std::byte{0});
    return made;
  }
  template <class T>
  std::vector<T> contents(const hal::Buffer& of) {
    const hal::Mapping mapping = of.map().value();
    const auto all = mapping.as<T>();
    return {all.begin(), all.end()};
  }

  Status run(std::string_view kernel, const hal::Grid& grid, hal::View<hal::BufferRange> bindings,
             hal::View<hal::Constant> constants) {
    const hal::Semaphore done = device.create_semaphore().value();
    const Status submitted =
        device.queue().dispatch(executable.function(kernel).value(), grid, bindings, constants,
                                {.signal = {{done, 1}}});
    return submitted.ok() ? done.wait(1, 60s) : submitted;
  }
  // Returns the message of the fault, and replaces the device.
  std::string fault(std::string_view kernel, const hal::Grid& grid,
                    hal::View<hal::BufferRange> bindings, hal::View<hal::Constant> constants) {
    const Status status = run(kernel, grid, bindings, constants);
    EXPECT_EQ(status.code(), StatusCode::kDeviceLost) << status.to_string();
    EXPECT_EQ(status.native_error(), "OutOfRange");
    const std::string message(status.message());
    reopen();
    const std::size_t begin = message.find("kernel '");
    return begin == message.npos ? message : message.substr(begin);
  }

  hal::Device device;
  hal::Executable executable;
};

TEST_F(Checked, Inside_RunsAsWithoutChecks) {
  const hal::Buffer x = buffer(2 * 100), y = buffer(4 * 16), d = buffer(8 * 70);
  x.map().value().as<std::int16_t>()[99] = -5;
  EXPECT_TRUE(run("load", {.groups = {4}}, {x, y}, {99}).ok());
  EXPECT_EQ(contents<std::int32_t>(y)[13], -5);
  EXPECT_TRUE(run("store", {.items = {70}}, {d}, {70u}).ok());
  EXPECT_EQ(contents<double>(d)[69], 1.0);
  EXPECT_TRUE(run("add", {.groups = {1}}, {y}, {15u}).ok());
  EXPECT_EQ(contents<std::uint32_t>(y)[15], 7u + 5u);
  EXPECT_TRUE(run("own", {.groups = {1}}, {y}, {3u, 2u, 2u, 2, 1}).ok());
  EXPECT_EQ(contents<std::int32_t>(y)[5], 1);
  for (std::uint32_t what = 0; what < 6; ++what) {
    EXPECT_TRUE(run("storage", {.groups = {3}}, {y}, {what, 1u}).ok()) << what;
  }
}

TEST_F(Checked, FlatBuffer_LoadBehindTheEnd_NamesItsPlaceAndTheBuffer) {
  const hal::Buffer x = buffer(2 * 100), y = buffer(4 * 16);
  EXPECT_THAT(fault("load", {.groups = {4}}, {x, y}, {100}),
              MatchesRegex("kernel 'load', workgroup \\(3, 0, 0\\): x\\[100\\] is beyond its 100 "
                           "elements \\(halyard-test.*\\.hyk:6\\)"));
}

TEST_F(Checked, FlatBuffer_NegativeIndex_IsShownAsOne) {
  const hal::Buffer x = buffer(2 * 100), y = buffer(4 * 16);
  EXPECT_THAT(fault("load", {.groups = {4}}, {x, y}, {-1}), HasSubstr(": x[-1] is beyond its 100"));
}

TEST_F(Checked, FlatBuffer_Range_HasTheRangesLength) {
  const hal::Buffer x = buffer(2 * 100), y = buffer(4 * 16);
  EXPECT_THAT(fault("load", {.groups = {4}}, {{x, 20, 30}, y}, {15}),
              HasSubstr(": x[15] is beyond its 15 elements"));
}

TEST_F(Checked, FlatBuffer_StoreBehindTheEnd_IsNotMade) {
  const hal::Buffer y = buffer(8 * 128);
  const hal::BufferRange part(y, 0, 8 * 70);
  EXPECT_THAT(fault("store", {.items = {128}}, {part}, {128u}),
              HasSubstr("workgroup (1, 0, 0): y[70] is beyond its 70 elements"));
  const std::vector<double> all = contents<double>(y);
  EXPECT_EQ(all[69], 1.0);
  EXPECT_TRUE(std::all_of(all.begin() + 70, all.end(), [](double v) { return v == 0.0; }));
}

TEST_F(Checked, Atomic_OnTheElementBehindTheLast_IsAFault) {
  const hal::Buffer y = buffer(4 * 16);
  EXPECT_THAT(fault("add", {.groups = {1}}, {{y, 0, 4 * 15}}, {15u}),
              HasSubstr("an atomic uses the element behind the last of its array"));
  EXPECT_EQ(contents<std::uint32_t>(y)[15], 0u);
  EXPECT_THAT(fault("add", {.groups = {1}}, {{y, 0, 4 * 15}}, {16u}),
              HasSubstr(": y[16] is beyond its 15 elements"));
}

TEST_F(Checked, Tensor_IndexOutside_NamesAllIndicesAndSizes) {
  const hal::Buffer x = buffer(4 * 16 * 32), y = buffer(4 * 16 * 32);
  const auto tile = [&](std::uint32_t i, std::uint32_t j) {
    return fault("tile", {.groups = {2, 4}}, {x, y},
                 {16u, 32u, 32u, 16u, 32u, 32u, i, j});
  };
  EXPECT_THAT(tile(1, 0), AllOf(HasSubstr("kernel 'tile', workgroup ("),
                                HasSubstr(", 3, 0): x[16, "), HasSubstr("] is outside (16, 32)")));
  EXPECT_THAT(tile(0, 70'000), HasSubstr("] is outside (16, 32)"));
  const hal::Buffer z = buffer(4);
  EXPECT_THAT(fault("line", {.groups = {1}}, {x, z}, {5u, 5u}),
              HasSubstr("kernel 'line', workgroup (0, 0, 0): x[5] is outside (5)"));
}

TEST_F(Checked, Tile_IndexBeyondTheEdge_IsAFault) {
  const hal::Buffer y = buffer(4 * 64);
  const auto own = [&](int i, int j) {
    return fault("own", {.groups = {1}}, {y}, {3u, 2u, 2u, i, j});
  };
  EXPECT_THAT(own(3, 0), HasSubstr(": y[3, 0] is outside the tile of this group, (3, 2)"));
  EXPECT_THAT(own(0, 2), HasSubstr(": y[0, 2] is outside the tile of this group, (3, 2)"));
  EXPECT_THAT(own(-1, 0), HasSubstr(": y[-1, 0] is outside the tile of this group, (3, 2)"));
  EXPECT_THAT(fault("cube", {.groups = {1}}, {y}, {2u, 2u, 2u, 4u, 2u, 2u}),
              HasSubstr(": y[0, 2, 1] is outside the tile of this group, (2, 2, 2)"));
}

TEST_F(Checked, Tensor_LargerThanItsBuffer_IsRefusedBeforeItRuns) {
  const hal::Buffer x = buffer(4 * 10), y = buffer(4);
  const Status status = device.queue().dispatch(executable.function("line").value(),
                                                {.groups = {1}}, {x, y}, {20u, 10u}, {});
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange) << status.to_string();
  EXPECT_TRUE(device.status().ok());
}

TEST_F(Checked, SharedAndPrivateArrays_AreChecked) {
  const hal::Buffer y = buffer(4);
  const auto storage = [&](std::uint32_t what, std::uint32_t i) {
    return fault("storage", {.groups = {3}}, {y}, {what, i});
  };
  EXPECT_THAT(storage(0, 16), HasSubstr(": s[16] is beyond its 16 elements"));
  EXPECT_THAT(storage(1, 4), HasSubstr(": t[4] is beyond its 4 elements"));
  EXPECT_THAT(storage(2, 17), HasSubstr(": a row of t has no column 17, of 17"));
  EXPECT_THAT(storage(3, 3), HasSubstr(": HY_MY(q, 3) is beyond its 3 elements"));
  EXPECT_THAT(storage(4, 2), HasSubstr(": an array of type 'float[2]' has no element 2"));
  EXPECT_THAT(storage(5, 3), HasSubstr("[3]' has no element 3"));
}

TEST_F(Checked, Recording_StopsAtTheFault) {
  const hal::Buffer x = buffer(2 * 100), y = buffer(4 * 16), later = buffer(8 * 64);
  hal::Recorder recorder(device);
  recorder.fill(y, 0x01010101, 4);
  recorder.barrier();
  recorder.dispatch(executable.function("load").value(), {.groups = {4}}, {hal::slot(0), y}, {50});
  recorder.barrier();
  recorder.dispatch(executable.function("store").value(), {.groups = {1}}, {later}, {64u});
  const hal::CommandBuffer commands = recorder.finish().value();
  const auto execute = [&](std::uint64_t bytes) {
    const hal::Semaphore done = device.create_semaphore().value();
    check(device.queue().execute(
        commands, {.bindings = {{x, 0, bytes}}, .signal = {{done, 1}}}));
    return done.wait(1, 60s);
  };
  EXPECT_TRUE(execute(200).ok());
  EXPECT_EQ(contents<double>(later)[63], 1.0);
  std::ranges::fill(later.map().value().as<double>(), 0.0);

  const Status lost = execute(100);
  EXPECT_EQ(lost.code(), StatusCode::kDeviceLost);
  EXPECT_THAT(std::string(lost.message()), HasSubstr(": x[50] is beyond its 50 elements"));
  EXPECT_EQ(contents<double>(later)[63], 0.0);
}

TEST_F(Checked, Fault_FailsWhatWaitsForItAndLeavesOtherDevices) {
  const hal::Buffer x = buffer(2), y = buffer(4 * 16);
  const hal::Device other = hal::open("cpu://?workers=1").value();
  const auto without = compile_text_shared(kCheckedKernels, tested_target()).value();
  const hal::Executable plain = other.load(without, "plain.hyx").value();
  const hal::Buffer mine =
      other.allocate({.size = 8 * 64, .memory = hal::MemoryType::kHostVisible}).value();
  const hal::Semaphore done = device.create_semaphore().value();
  const hal::Semaphore after = device.create_semaphore().value();
  check(device.queue().dispatch(executable.function("load").value(), {.groups = {4}}, {x, y}, {1},
                                {.signal = {{done, 1}}}));
  check(device.queue(hal::QueueKind::kCopy)
            .fill(y, 0xff, 1, {.wait = {{done, 1}}, .signal = {{after, 1}}}));
  EXPECT_EQ(after.wait(1, 60s).code(), StatusCode::kDeviceLost);
  EXPECT_EQ(done.wait(1, 60s).code(), StatusCode::kDeviceLost);
  EXPECT_NE(contents<std::uint8_t>(y)[0], 0xff);

  const hal::Semaphore fine = other.create_semaphore().value();
  check(other.queue().dispatch(plain.function("store").value(), {.items = {64}}, {mine}, {64u},
                               {.signal = {{fine, 1}}}));
  EXPECT_TRUE(fine.wait(1, 60s).ok());
  reopen();
  EXPECT_TRUE(run("store", {.items = {64}}, {buffer(8 * 64)}, {64u}).ok());
}

TEST_F(Checked, Image_HasAConventionOfItsOwnWhichOtherCallersRefuse) {
  const kernel::Hyx hyx = kernel::Hyx::parse(checked_bytes(), "checked.hyx").value();
  EXPECT_EQ(hyx.images()[0].convention, kernel::kCheckedCpuConvention);
  const Status status = kernel::CpuImage::load(hyx).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("checked.hyx: a checked build (hy-cpu-checked-1), which only cpu:// runs"));
}

TEST_F(Checked, EveryOptimizationLevel_FindsTheFault) {
  for (int level = 0; level <= 3; ++level) {
    const TextFile source(
        "HY_KERNEL(k, 1, 1, 1, HY_INOUT(uint, y), HY_SCALAR(uint, i)) {\n"
        "  HY_ITEMS { hy_atomic_add(y[i], y[i - 1]); }\n}\n");
    const auto bytes = compiler::compile({.source = source.path(),
                                          .targets = {tested_target()},
                                          .optimization = level,
                                          .debug = level == 1,
                                          .checked = true})
                           .value();
    executable = device.load(bytes, "k.hyx").value();
    EXPECT_TRUE(run("k", {.groups = {1}}, {buffer(32)}, {7u}).ok());
    EXPECT_THAT(fault("k", {.groups = {1}}, {buffer(32)}, {0u}), HasSubstr("y[4294967295]"));
    executable = device.load(bytes, "k.hyx").value();
    EXPECT_THAT(fault("k", {.groups = {1}}, {buffer(32)}, {8u}), HasSubstr("an atomic"));
  }
}

TEST_F(Checked, EveryShippedKernel_Builds) {
  for (const std::string& source : shipped_sources()) {
    const auto built = compile_shared({.source = source, .targets = {"x86-64"}, .checked = true});
    EXPECT_TRUE(built.ok()) << built.status().to_string();
  }
}

TEST_F(Checked, CpuAlone_LeavesOtherTargetsAsTheyAre) {
  const TextFile source(
      "HY_KERNEL(k, 64, 1, 1, HY_IN_TENSOR1(float, x), HY_OUT_TILE1(float, y, 64)) {\n"
      "  HY_TILE_ITEMS1(y, i) { HY_Y1(y, i) = HY_AT1(x, i + 1); }\n}\n");
  const auto image = [&](std::size_t index, const compiler::CompileOptions& options) {
    const kernel::Hyx hyx =
        kernel::Hyx::parse(compiler::compile(options).value(), "k.hyx").value();
    const auto bytes = hyx.images()[index].bytes;
    return std::string(hyx.images()[index].convention) +
           std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const compiler::CompileOptions plain{.source = source.path(), .targets = {"x86-64", "ptx-sm_80"}};
  compiler::CompileOptions checked = plain;
  checked.checked_cpu = true;
  EXPECT_THAT(image(0, checked), ::testing::StartsWith("hy-cpu-checked-1"));
  EXPECT_EQ(image(1, checked), image(1, plain));
}

}  // namespace
}  // namespace halyard::testing
