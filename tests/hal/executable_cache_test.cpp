// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ExecutableCache with a fake driver that counts its builds.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <latch>
#include <thread>
#include <vector>

#include "hal/fake_driver.h"
#include "tools/temporary_directory.h"

namespace halyard::hal::testing {
namespace {

namespace fs = std::filesystem;
using halyard::testing::TemporaryDirectory;

// A file with the sample's kernels and other content.
std::vector<std::byte> other_hyx() {
  compiler::Contents contents;
  contents.kernels = {{.name = "other", .workgroup_size = {1, 1, 1}}};
  contents.images = {{"x86-64-v1", "hy-cpu-1", "other code"}};
  return compiler::write_hyx(contents);
}

class ExecutableCacheTest : public FakeWorld {
 protected:
  ExecutableCache cache_of(const Device& on) {
    return on.create_executable_cache({.folder = folder_}).value();
  }
  // Changes the last byte of each file in the folder.
  void damage_folder() const {
    for (const auto& item : fs::directory_iterator(folder_)) {
      std::fstream file(item.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-1, std::ios::end);
      file.put('?');
    }
  }

  TemporaryDirectory directory_;
  std::string folder_ = directory_.path("cache");
  std::vector<std::byte> sample_ = sample_hyx();
};

// ---- In the process

TEST_F(ExecutableCacheTest, TheLastHandleDestroysTheExecutable) {
  const ExecutableCache cache = cache_of(device);
  Executable first = cache.load(sample_, "a").value();
  Function kept = first.function("wide").value();
  first = {};
  EXPECT_EQ(control->live_executables, 1) << "its function keeps it";
  first = cache.load(sample_, "b").value();
  EXPECT_EQ(cache.statistics().shared, 1u);
  kept = {};
  first = {};
  EXPECT_EQ(control->live_executables, 0);
  (void)cache.load(sample_, "c").value();
  EXPECT_EQ(cache.statistics().prepared, 2u);
}

TEST_F(ExecutableCacheTest, ThreadsThatLoadTheSameBytesPrepareThemOnce) {
  constexpr int kThreads = 4;
  std::latch ready(kThreads);
  std::atomic<int> entered{0};
  control->on_load = [&] { ++entered; };
  const ExecutableCache cache = cache_of(device);
  std::vector<Executable> loaded(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        ready.arrive_and_wait();
        loaded[i] = cache.load(sample_, "sample").value();
      });
    }
  }
  EXPECT_EQ(entered, 1);
  for (const Executable& each : loaded) EXPECT_EQ(each, loaded[0]);
  EXPECT_EQ(cache.statistics().shared, kThreads - 1u);
}

TEST_F(ExecutableCacheTest, ALoadWaitsOnlyForALoadOfTheSameBytes) {
  const ExecutableCache cache = cache_of(device);
  std::latch inside(1), go_on(1);
  std::atomic<int> loads{0};
  control->on_load = [&] {
    if (loads++ != 0) return;
    inside.count_down();
    go_on.wait();
  };
  Executable slow, same;
  std::jthread first([&] { slow = cache.load(sample_, "slow").value(); });
  inside.wait();
  std::jthread second([&] { same = cache.load(sample_, "same").value(); });
  EXPECT_EQ(cache.load(other_hyx(), "other").value().function_count(), 1u);
  go_on.count_down();
  first.join();
  second.join();
  EXPECT_EQ(slow, same);
  EXPECT_EQ(loads, 2);
}

// Several threads drop and load: each load finds the executable or prepares it again.
TEST_F(ExecutableCacheTest, DroppingAndLoadingRace) {
  const ExecutableCache cache = cache_of(device);
  constexpr int kThreads = 4, kRounds = 500;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < kRounds; ++round) {
          EXPECT_EQ(cache.load(sample_, "sample").value().function_count(), 2u);
        }
      });
    }
  }
  EXPECT_EQ(control->live_executables, 0);
  const ExecutableCacheStatistics counts = cache.statistics();
  EXPECT_EQ(counts.prepared + counts.shared, std::uint64_t{kThreads} * kRounds);
}

TEST_F(ExecutableCacheTest, WithoutABuilderTheUsersFolderIsNotTouched) {
  const char* const before = std::getenv("HALYARD_CACHE_DIR");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("HALYARD_CACHE_DIR", folder_.c_str(), 1);
  const ExecutableCache without = device.create_executable_cache().value();
  EXPECT_EQ(without.folder(), "");
  EXPECT_FALSE(fs::exists(folder_));
  control->builder = "fakecc 1";
  EXPECT_EQ(device.create_executable_cache().value().folder(), folder_);
  // An unusable default folder is ignored; an unusable folder given by name is an error.
  ::chmod(folder_.c_str(), 0777);
  EXPECT_EQ(device.create_executable_cache().value().folder(), "");
  EXPECT_ERROR(device.create_executable_cache({.folder = folder_}).status(),
               StatusCode::kPermissionDenied, "device fake://0: create_executable_cache");
  before == nullptr ? ::unsetenv("HALYARD_CACHE_DIR")
                    : ::setenv("HALYARD_CACHE_DIR", saved.c_str(), 1);
}

// ---- With a driver that builds

class BuiltImages : public ExecutableCacheTest {
 protected:
  BuiltImages() { control->builder = "fakecc 1"; }
};

TEST_F(BuiltImages, AreBuiltOnceAndThenTakenFromTheFolder) {
  {
    const ExecutableCache cache = cache_of(device);
    (void)cache.load(sample_, "first").value();
    (void)cache.load(sample_, "again, as no handle is left").value();
    EXPECT_EQ(cache.statistics().from_disk, 1u);
  }
  DriverRegistry other;
  check(other.add(std::make_unique<FakeDriver>(control)));
  const ExecutableCache cache = cache_of(other.open("fake://").value());
  EXPECT_EQ(cache.load(sample_, "another runtime").value().function_count(), 2u);
  EXPECT_EQ(control->builds, 1);
}

TEST_F(BuiltImages, AreBuiltOnceForTwoProcesses) {
  // Loads in a separate runtime. Returns the number of builds.
  const auto load = [&](std::string_view name) {
    const auto own = std::make_shared<Control>();
    own->builder = "fakecc 1";
    DriverRegistry runtime;
    check(runtime.add(std::make_unique<FakeDriver>(own)));
    const ExecutableCache cache = cache_of(runtime.open("fake://").value());
    (void)cache.load(sample_, name).value();
    EXPECT_EQ(cache.statistics().from_disk, own->builds == 0 ? 1u : 0u);
    return own->builds.load();
  };
  // A child of a process with threads may start none itself.
  queue = {};
  device = {};
  check(registry.shutdown(kForever));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(load("child") == 1 ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(load("parent"), 0);
}

TEST_F(BuiltImages, AreBuiltAgainWhenTheirEntryIsDamaged) {
  const ExecutableCache cache = cache_of(device);
  (void)cache.load(sample_, "first").value();
  damage_folder();
  EXPECT_TRUE(cache.load(sample_, "damaged").ok());
  EXPECT_EQ(control->builds, 2);
  EXPECT_TRUE(cache.load(sample_, "replaced").ok());
  EXPECT_EQ(control->builds, 2);
}

TEST_F(BuiltImages, AreBuiltAgainWhenTheBuilderRefusesTheStoredImage) {
  const ExecutableCache cache = cache_of(device);
  control->built = "an older form";
  (void)cache.load(sample_, "first").value();
  control->built = "built for";
  EXPECT_TRUE(cache.load(sample_, "refused").ok());
  EXPECT_EQ(control->builds, 2);
  EXPECT_TRUE(cache.load(sample_, "replaced").ok());
  EXPECT_EQ(control->builds, 2);
}

TEST_F(BuiltImages, BelongToTheBuilderThatMadeThemAndToTheFile) {
  const ExecutableCache cache = cache_of(device);
  (void)cache.load(sample_, "first").value();
  (void)cache.load(other_hyx(), "another file").value();
  EXPECT_EQ(control->builds, 2);
  control->builder = "fakecc 2";
  (void)cache.load(sample_, "another builder").value();
  EXPECT_EQ(control->builds, 3);
}

TEST_F(BuiltImages, AreUsedAlsoWhereTheyCannotBeStored) {
  const ExecutableCache cache =
      device.create_executable_cache({.folder = folder_, .max_bytes = 1}).value();
  EXPECT_EQ(cache.load(sample_, "sample").value().function_count(), 2u);
  EXPECT_EQ(cache.statistics().not_stored, 1u);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(BuiltImages, ThatCannotBeBuiltAreAnErrorThatIsNotRemembered) {
  const ExecutableCache cache = cache_of(device);
  control->fail_build = Status(StatusCode::kUnavailable, "no compiler");
  EXPECT_ERROR(cache.load(sample_, "sample").status(), StatusCode::kUnavailable,
               "device fake://0: load: no compiler");
  control->fail_build = {};
  EXPECT_TRUE(cache.load(sample_, "sample").ok());
}

// ---- Lifetimes

TEST_F(ExecutableCacheTest, ExecutablesOutliveTheirCacheAndKeepTheDeviceOpen) {
  Executable executable = cache_of(device).load(sample_, "sample").value();
  device = {};
  queue = {};
  EXPECT_EQ(executable.function_count(), 2u);
  EXPECT_EQ(control->open_devices, 1);
  executable = {};
  EXPECT_EQ(control->live_executables, 0);
}

}  // namespace
}  // namespace halyard::hal::testing
