// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All workgroups of a launch on one thread, and a launch that is stopped.
#include "kernel/cpu_run.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace halyard::kernel {
namespace {

struct Launch {
  std::vector<std::array<std::size_t, 3>> ran;
  std::size_t stop_after = 100;
  base::Atomic<bool> stop{false};

  bool run(const std::uint32_t (&groups)[3]) {
    void* const buffers[] = {this};
    return run_workgroups(&Launch::note, buffers, nullptr, groups, stop);
  }
  static void note(const Workgroup* at, void* const* buffers, const void*) {
    auto& self = *static_cast<Launch*>(buffers[0]);
    self.ran.push_back({at->group[0], at->group[1], at->group[2]});
    if (self.ran.size() == self.stop_after) self.stop.store(true, std::memory_order_relaxed);
  }
};

TEST(CpuRun, RunsEachWorkgroupOnceXFastest) {
  Launch launch;
  EXPECT_TRUE(launch.run({2, 1, 2}));
  const decltype(launch.ran) expected{{0, 0, 0}, {1, 0, 0}, {0, 0, 1}, {1, 0, 1}};
  EXPECT_EQ(launch.ran, expected);
}

TEST(CpuRun, ALaunchThatIsStoppedRunsNoFurtherWorkgroupAndSaysSo) {
  Launch launch;
  launch.stop_after = 3;
  EXPECT_FALSE(launch.run({2, 2, 1}));
  EXPECT_EQ(launch.ran.size(), 3u);
  EXPECT_FALSE(launch.run({2, 2, 1}));
  EXPECT_EQ(launch.ran.size(), 3u);
}

TEST(CpuRun, OneThatIsStoppedAsItEndsHasEnded) {
  Launch launch;
  launch.stop_after = 4;
  EXPECT_TRUE(launch.run({2, 2, 1}));
}

}  // namespace
}  // namespace halyard::kernel
