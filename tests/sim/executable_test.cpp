// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels on a simulated device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "simulation/driver/driver.h"
#include "simulation/scheduler.h"

namespace halyard::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

constexpr std::uint32_t kGroups[] = {3, 4, 1}, kAll = 12;

using Words = std::array<std::uint32_t, 16>;

std::string file() {
  return std::filesystem::canonical("/proc/self/exe").parent_path() / "kernels/sim_kernels.hyx";
}

// Runs body(device) on a simulated thread.
void in_simulation(std::uint64_t seed,
                   std::function<void(const hal::Device&, NativeDevice&)> body) {
  const auto program = [&] {
    hal::DriverRegistry registry;
    std::vector<NativeDevice*> natives;
    check(registry.add(make_sim_driver({.devices = &natives})));
    {
      const hal::Device device = registry.open("sim://").value();
      body(device, *natives.at(0));
    }
    check(registry.shutdown(kForever));
  };
  std::function<void()> call = program;
  Scheduler scheduler({.seed = seed});
  scheduler.run([](void* argument) { (*static_cast<std::function<void()>*>(argument))(); }, &call);
}

// Returns the order in which the groups of `submit`'s dispatch run, for a seed. For an indirect
// dispatch, the group counts, kGroups, follow that order in the buffer.
using Submit = std::function<Status(const hal::Queue&, const hal::Function&,
                                    hal::View<hal::BufferRange>, const hal::SubmitInfo&)>;
std::vector<std::uint32_t> order_of_groups(std::uint64_t seed, const Submit& submit) {
  Words count{}, order{};
  std::ranges::copy(kGroups, order.begin() + kAll);
  in_simulation(seed, [&](const hal::Device& device, NativeDevice&) {
    const auto import = [&](Words& words) {
      return device.import_memory({reinterpret_cast<std::byte*>(words.data()), sizeof words}, [] {})
          .value();
    };
    const hal::Function note = device.load(file()).value().function("note_group").value();
    const hal::Buffer counts = import(count), orders = import(order);
    const hal::BufferRange bindings[] = {counts, orders};
    const hal::Semaphore done = device.create_semaphore().value();
    check(submit(device.queue(), note, bindings, {.signal = {{done, 1}}}));
    check(done.wait(1));
  });
  return {order.begin(), order.begin() + count[0]};
}

auto all_groups() {
  std::vector<std::uint32_t> all(kAll);
  std::iota(all.begin(), all.end(), 0u);
  return UnorderedElementsAreArray(all);
}

TEST(SimulatedKernel, RunsEachGroupOnceInAnOrderThatTheSeedDraws) {
  const Submit dispatch = [](auto& queue, auto& note, auto bindings, auto& info) {
    return queue.dispatch(note, {.groups = {3, 4}}, bindings, {}, info);
  };
  const auto one = order_of_groups(1, dispatch);
  EXPECT_THAT(one, all_groups());
  EXPECT_EQ(order_of_groups(1, dispatch), one);
  const auto other = order_of_groups(2, dispatch);
  EXPECT_THAT(other, all_groups());
  EXPECT_NE(other, one);
}

TEST(SimulatedKernel, RunsAsManyGroupsAsTheDeviceFindsInMemory) {
  const Submit dispatch = [](auto& queue, auto& note, auto bindings, auto& info) {
    hal::BufferRange groups = bindings[1];
    groups.offset = kAll * sizeof(std::uint32_t);
    groups.length = sizeof kGroups;
    return queue.dispatch_indirect(note, groups, bindings, {}, info);
  };
  EXPECT_THAT(order_of_groups(1, dispatch), all_groups());
}

TEST(SimulatedKernel, IsNotLoadedIfTheNativeCallFails) {
  in_simulation(1, [](const hal::Device& device, NativeDevice& native) {
    native.fail_next("load");
    const Status status = device.load(file()).status();
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(status.message()), HasSubstr("sim0: load: out of memory, planted"));
    EXPECT_TRUE(device.load(file()).ok()) << "once";
  });
}

}  // namespace
}  // namespace halyard::sim
