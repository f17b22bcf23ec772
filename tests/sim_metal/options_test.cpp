// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The variables HALYARD_SIM_METAL_* of the simulated framework, and its report.
#include "simulation/metal/framework/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "simulation/metal/framework/process.h"
#include "simulation/metal/framework/report.h"

namespace halyard::inline v0::sim::metal {
namespace {

class MetalOptions : public ::testing::Test {
 protected:
  ~MetalOptions() override {
    for (const std::string& name : names_) unsetenv(name.c_str());
    begin_process({});
  }
  void set(const char* name, const char* value) {
    names_.push_back(std::string("HALYARD_SIM_METAL_") + name);
    setenv(names_.back().c_str(), value, 1);
  }

 private:
  std::vector<std::string> names_;
};

TEST_F(MetalOptions, NoVariables_AreTheDefaults) {
  const Options options = read_options();
  EXPECT_TRUE(options.devices.empty());
  EXPECT_TRUE(options.strict);
  EXPECT_FALSE(options.adversities.out_of_order);
  EXPECT_EQ(options.page_size, 16384U);
}

TEST_F(MetalOptions, Variables_AreRead) {
  set("DEVICES", "discrete,removable");
  set("MODE", "lenient");
  set("ADVERSITIES", "victims,late_handlers");
  set("FAILED_SIGNALS", "seed");
  set("NIL", "MTLBuffer@3,*@7");
  set("FAIL", "2=11");
  set("DIRECT_DISPATCH", "1");
  set("MEMORY", "64M");
  set("WAIT_TIMEOUT_MS", "20");
  const Options options = read_options();
  EXPECT_EQ(options.devices, (std::vector{DeviceKind::kDiscrete, DeviceKind::kRemovable}));
  EXPECT_FALSE(options.strict);
  EXPECT_TRUE(options.adversities.victims && options.adversities.late_handlers);
  EXPECT_FALSE(options.adversities.out_of_order);
  EXPECT_EQ(options.failed_signals, FailedSignals::kBySeed);
  ASSERT_EQ(options.nil_objects.size(), 2U);
  EXPECT_EQ(options.nil_objects[0].class_name, "MTLBuffer");
  EXPECT_EQ(options.nil_objects[1].number, 7U);
  ASSERT_EQ(options.failed_buffers.size(), 1U);
  EXPECT_EQ(options.failed_buffers[0].code, 11);
  EXPECT_TRUE(options.wants_direct_dispatch);
  EXPECT_EQ(options.memory_bytes, std::uint64_t{64} << 20);
  EXPECT_EQ(options.wait_timeout, 20'000'000);
}

TEST_F(MetalOptions, MalformedVariable_IsIgnored) {
  set("SEED", "many");
  set("FAIL", "2");
  ::testing::internal::CaptureStderr();
  const Options options = read_options();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(options.seed, 1U);
  EXPECT_TRUE(options.failed_buffers.empty());
  EXPECT_NE(said.find("HALYARD_SIM_METAL_SEED: cannot read \"many\""), std::string::npos);
  EXPECT_NE(said.find("HALYARD_SIM_METAL_FAIL: cannot read \"2\""), std::string::npos);
}

TEST_F(MetalOptions, ToleratedRule_IsANoteIfLenient) {
  Options options;
  options.prints = false;
  options.strict = false;
  begin_process(options);
  report_tolerated("blit-alignment", "a fill of 3 bytes");
  report("commit-twice", "twice");
  EXPECT_FALSE(has_misuse("blit-alignment"));
  ASSERT_EQ(notes().size(), 1U);
  EXPECT_EQ(misuse_text(), "commit-twice: twice\n");
}

TEST_F(MetalOptions, Report_HasObjectsAndMisuse) {
  Options options;
  options.prints = false;
  options.report = ::testing::TempDir() + "metal_report";
  begin_process(options);
  count_created(Class::kBuffer);
  report("commit-twice", "first");
  report("commit-twice", "second");
  write_report();
  std::ifstream file(options.report);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(text.find("objects MTLBuffer 1 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("misuse commit-twice 2 first\n"), std::string::npos) << text;
  std::remove(options.report.c_str());
}

TEST_F(MetalOptions, NthObject_IsNil) {
  Options options;
  options.nil_objects = {{"MTLBuffer", 2}, {"*", 4}};
  begin_process(options);
  EXPECT_FALSE(is_nil(Class::kBuffer));
  EXPECT_TRUE(is_nil(Class::kBuffer));
  EXPECT_FALSE(is_nil(Class::kHeap));
  EXPECT_TRUE(is_nil(Class::kHeap));
  EXPECT_FALSE(is_nil(Class::kHeap));
}

}  // namespace
}  // namespace halyard::inline v0::sim::metal
