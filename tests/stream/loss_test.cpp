// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loss of a stream:// device, with work that stops and with work that continues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/atomic.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "simulation/stream/driver.h"
#include "simulation/stream/fake_library.h"

namespace halyard::stream {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string kernels() {
  return std::filesystem::canonical("/proc/self/exe").parent_path() / "kernels/stream_kernels.hyx";
}

// The words that run_until_told() and the test share.
class State {
 public:
  explicit State(const hal::Buffer& buffer)
      : words_(buffer.map().value().as<std::uint32_t>().data()) {
    for (int i = 0; i < 3; ++i) store(i, 0);
  }
  void store(int i, std::uint32_t value) { std::atomic_ref(words_[i]).store(value); }
  void wait_for(int i) {
    while (std::atomic_ref(words_[i]).load() == 0) base::spin_pause();
  }

 private:
  std::uint32_t* words_;  // of memory that may be kept for longer than its buffer
};

class StreamLoss : public ::testing::Test {
 protected:
  StreamLoss() { check(register_stream_driver(registry)); }

  // Submits run_until_told(), and a fill of memory that it does not use, and waits until it runs.
  // Then the device `ordinal` has a fault.
  void lose_while_it_runs(const hal::Device& device, const hal::Buffer& buffer, State& state,
                          unsigned ordinal) {
    const hal::Semaphore done = device.create_semaphore().value();
    const hal::Executable executable = device.load(kernels()).value();
    check(device.queue().dispatch(executable.function("run_until_told").value(), {.groups = {1}},
                                  {buffer}, {}, {.signal = {{done, 1}}}));
    check(device.queue().fill(buffer.subspan(32).value(), 7, 1,
                              {.wait = {{done, 1}}, .signal = {{done, 2}}}));
    state.wait_for(0);
    fake::fault(ordinal);
    const Status lost = done.wait(2, kForever);
    EXPECT_EQ(lost.code(), StatusCode::kDeviceLost);
    EXPECT_EQ(lost.native_error(), "FAKE_ERROR_LAUNCH_FAILED");
    EXPECT_EQ(device.status().code(), StatusCode::kDeviceLost);
  }

  hal::DriverRegistry registry;
};

TEST_F(StreamLoss, WorkThatCannotBeStoppedKeepsAllThatItTouches) {
  std::optional<State> state;
  {
    const hal::Device device = registry.open("stream://41?devices=42&unstoppable=1").value();
    const hal::Buffer buffer =
        device.allocate({.size = 64, .memory = hal::MemoryType::kHostVisible}).value();
    state.emplace(buffer);
    lose_while_it_runs(device, buffer, *state, 41);
    EXPECT_THAT(device.dump_timelines(), HasSubstr("2 submissions are kept for good"));
  }
  check(registry.shutdown(kForever));
  // The kernel still runs, in memory and code that no handle keeps.
  state->store(1, 1);
  state->wait_for(2);
}

// An event refers to its device.
TEST_F(StreamLoss, AKeptRecordingWithAnEventDoesNotKeepItsDeviceOpen) {
  std::optional<State> state;
  {
    const hal::Device device = registry.open("stream://45?devices=46&unstoppable=1").value();
    const hal::Buffer buffer =
        device.allocate({.size = 64, .memory = hal::MemoryType::kHostVisible}).value();
    state.emplace(buffer);
    const hal::Semaphore done = device.create_semaphore().value();
    const hal::Executable executable = device.load(kernels()).value();
    hal::Recorder recorder{device};
    recorder.dispatch(executable.function("run_until_told").value(), {.groups = {1}}, {buffer})
        .set_event(device.create_event().value());
    check(device.queue().execute(recorder.finish().value(), {.signal = {{done, 1}}}));
    state->wait_for(0);
    fake::fault(45);
    EXPECT_EQ(done.wait(1, kForever).code(), StatusCode::kDeviceLost);
    EXPECT_THAT(device.dump_timelines(), HasSubstr("1 submission is kept for good"));
  }
  check(registry.shutdown(std::chrono::seconds(60)));
  state->store(1, 1);
  state->wait_for(2);
}

TEST_F(StreamLoss, WorkThatEndsWhenItIsStoppedKeepsNothing) {
  {
    const hal::Device device = registry.open("stream://43?devices=44").value();
    const hal::Buffer buffer =
        device.allocate({.size = 64, .memory = hal::MemoryType::kHostVisible}).value();
    State state(buffer);
    const hal::Semaphore done = device.create_semaphore().value();
    const hal::Executable executable = device.load(kernels()).value();
    check(device.queue().dispatch(executable.function("run_until_told").value(), {.groups = {1}},
                                  {buffer}, {}, {.signal = {{done, 1}}}));
    state.wait_for(0);
    fake::fault(43);
    state.store(1, 1);  // running work is awaited, not cut off
    EXPECT_EQ(done.wait(1, kForever).code(), StatusCode::kDeviceLost);
    EXPECT_THAT(device.dump_timelines(), Not(HasSubstr("kept for good")));
  }
  check(registry.shutdown(kForever));
}

}  // namespace
}  // namespace halyard::stream
