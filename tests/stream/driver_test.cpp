// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stream driver in a separate runtime. tests/conformance covers the behaviour of every driver.
#include "simulation/stream/driver.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "lanes/driver_checks.h"

namespace halyard::stream {
namespace {

using namespace std::chrono_literals;
using hal::Device;
using hal::Semaphore;

class StreamDriver : public ::testing::Test {
 protected:
  StreamDriver() { check(register_stream_driver(registry_)); }
  Device open(const std::string& uri = "stream://") { return registry_.open(uri).value(); }

  hal::DriverRegistry registry_;
};

TEST_F(StreamDriver, OpensAllDevicesOrOne) {
  const auto all = registry_.open_all("stream://?devices=3").value();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].info().uri, "stream://2?devices=3");
  EXPECT_EQ(open("stream://1?devices=2").info().uri, "stream://1?devices=2");
  EXPECT_EQ(open("stream://1?devices=2&unstoppable=1").info().uri,
            "stream://1?devices=2&unstoppable=1");
  const auto listed = registry_.enumerate().value();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].uri, "stream://0");
  EXPECT_FALSE(listed[0].targets.empty());
}

TEST_F(StreamDriver, NamesWhatIsWrongWithAUri) {
  testing::expect_refused(
      registry_, "stream",
      {"stream://?devices=0", "stream://?devices=65", "stream://?devices=x",
       "stream://?unstoppable=2", "stream://?command_buffer_mode=1", "stream://?workers=1"},
      {"stream://1", "stream://x", "stream://2?devices=2"});
}

TEST_F(StreamDriver, ClosesAfterWorkInFlightWithNothingLeftBehind) {
  testing::expect_closes_with_nothing_left_behind(registry_, "stream://?devices=2");
}

// The recording has many times more commands than a lane takes at once. It runs in parts, with
// edges to and from it.
TEST_F(StreamDriver, RunsARecordingOfThousandsOfCommandsInParts) {
  constexpr std::uint32_t kCommands = 5'000, kWords = 100;
  const auto devices = registry_.open_all("stream://?devices=2&command_buffer_mode=stream").value();
  ASSERT_LT(devices[0].info().limits.max_in_flight, kCommands / 50);
  const hal::Buffer words =
      devices[0].allocate({.size = kWords * 4, .memory = hal::MemoryType::kHostVisible}).value();
  const hal::Buffer copy =
      devices[1].allocate({.size = kWords * 4, .memory = hal::MemoryType::kHostVisible}).value();
  hal::Recorder recorder(devices[0]);
  for (std::uint32_t i = 0; i < kCommands; ++i) {
    recorder.fill(hal::BufferRange{words, i % kWords * 4, 4}, i).barrier();
  }
  const hal::CommandBuffer commands = recorder.finish().value();
  const Semaphore done = devices[0].create_semaphore().value();
  check(devices[1].queue().copy(words, copy, {.wait = {{done, 2}}, .signal = {{done, 3}}}));
  check(devices[0].queue().execute(commands, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  check(devices[1].queue().fill(words, 1, 1, {.signal = {{done, 1}}}));
  check(done.wait(3, kForever));
  const hal::Mapping mapping = copy.map().value();
  const auto seen = mapping.as<std::uint32_t>();
  for (std::uint32_t i = 0; i < kWords; ++i) EXPECT_EQ(seen[i], kCommands - kWords + i);
}

}  // namespace
}  // namespace halyard::stream
