// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work that does not end in time, so its device is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "drivers/cpu/driver.h"
#if HALYARD_DRIVER_SERIAL
#include "drivers/serial/driver.h"
#endif
#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "kernel/kernel_test_util.h"

namespace halyard::cpu {
namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Sets flags[1] when it begins, and ends once flags[0] is set.
constexpr std::string_view kSpin = R"(
#include <halyard/kernel.h>
HY_KERNEL(spin, 1, 1, 1, HY_INOUT(uint, flags)) {
  HY_ITEMS {
    hy_atomic_add(flags[1], 1u);
    while (hy_atomic_add(flags[0], 0u) == 0u) {
    }
  }
}
)";

class HostLoss : public ::testing::TestWithParam<const char*> {
 protected:
  HostLoss() {
    check(register_cpu_driver(registry));
#if HALYARD_DRIVER_SERIAL
    check(serial::register_serial_driver(registry));
#endif
  }
  static hal::Function spin(const hal::Device& device) {
    return device.load(testing::compile_text_shared(kSpin, "x86-64").value(), "spin.hyx")
        .value()
        .function("spin")
        .value();
  }

  hal::DriverRegistry registry;
};

TEST_P(HostLoss, HoldsUpNothingThoughItsWorkDoesNotEnd) {
  std::uint32_t* words = nullptr;  // of memory that the work keeps
  {
    const hal::Device lost = registry.open(GetParam()).value();
    const hal::Device other = registry.open("cpu://?workers=1").value();
    const hal::Buffer flags =
        lost.allocate({.size = 8, .memory = hal::MemoryType::kHostVisible}).value();
    words = flags.map().value().as<std::uint32_t>().data();
    words[0] = words[1] = 0;
    const hal::Semaphore hung = lost.create_semaphore().value();
    const hal::Semaphore behind = other.create_semaphore().value();
    check(lost.queue().dispatch(spin(lost), {.items = {1}}, {flags}, {}, {.signal = {{hung, 1}}}));
    check(other.queue().barrier({.wait = {{hung, 1}}, .signal = {{behind, 1}}}));
    // Waits until the kernel runs on the worker, because a waiting thread might run it itself.
    while (std::atomic_ref(words[1]) == 0) std::this_thread::yield();

    EXPECT_EQ(hung.wait(1, 20s).code(), StatusCode::kDeviceLost);
    EXPECT_EQ(behind.wait(1, 20s).code(), StatusCode::kDeviceLost);
    const hal::Semaphore done = other.create_semaphore().value();
    check(other.queue().barrier({.signal = {{done, 1}}}));
    check(other.queue().host_call([] {}, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
    EXPECT_TRUE(done.wait(2, 20s).ok());
    EXPECT_TRUE(lost.queue().wait_idle(20s).ok());
    // Held for a second, then kept until the process ends.
    EXPECT_THAT(lost.dump_timelines(),
                AnyOf(HasSubstr("failed, and held"), HasSubstr("kept for good")));
  }
  check(registry.shutdown(20s));
  std::atomic_ref<std::uint32_t>(words[0]).store(1);
}

TEST_P(HostLoss, LetsGoOfWhatItsWorkHasUsedOnceThatHasEnded) {
  const hal::Device lost = registry.open(GetParam()).value();
  alignas(16) std::uint32_t words[2] = {0, 0};
  std::atomic<bool> released{false};
  {
    const hal::Buffer flags =
        lost.import_memory(std::as_writable_bytes(std::span(words)), [&] { released = true; })
            .value();
    const hal::Semaphore hung = lost.create_semaphore().value();
    check(lost.queue().dispatch(spin(lost), {.items = {1}}, {flags}, {}, {.signal = {{hung, 1}}}));
    while (std::atomic_ref(words[1]) == 0) std::this_thread::yield();
    EXPECT_EQ(hung.wait(1, 20s).code(), StatusCode::kDeviceLost);
  }
  EXPECT_FALSE(released) << "its work may still touch this memory";
  std::atomic_ref<std::uint32_t>(words[0]).store(1);
  while (!released) {
    if (lost.dump_timelines().find("for good") != std::string::npos) {
      GTEST_SKIP() << "this thread stood still for a second";
    }
    std::this_thread::yield();
  }
  EXPECT_THAT(lost.dump_timelines(), Not(HasSubstr("held")));
}

INSTANTIATE_TEST_SUITE_P(Cpu, HostLoss, ::testing::Values("cpu://?hang_timeout=50ms&workers=1"));
#if HALYARD_DRIVER_SERIAL
INSTANTIATE_TEST_SUITE_P(Serial, HostLoss, ::testing::Values("serial://?hang_timeout=50ms"));
#endif

}  // namespace
}  // namespace halyard::cpu
