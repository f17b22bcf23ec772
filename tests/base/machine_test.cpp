// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/machine.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <fstream>
#include <string>

namespace halyard::base {
namespace {

#if defined(HALYARD_POSIX)
TEST(Machine, ProcessorNameIsTheArchitectureOfWhichPosixKnowsNoMore) {
  utsname system;
  ASSERT_GE(uname(&system), 0);
  EXPECT_EQ(processor_name(), system.machine);
}
#else
TEST(Machine, ProcessorNameIsTheModelThatTheSystemReports) {
  std::ifstream processors("/proc/cpuinfo");
  for (std::string line; std::getline(processors, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(':');
    ASSERT_NE(colon, std::string::npos);
    EXPECT_EQ(processor_name(), line.substr(line.find_first_not_of(' ', colon + 1)));
    return;
  }
  EXPECT_EQ(processor_name(), "CPU");
}
#endif

}  // namespace
}  // namespace halyard::base
