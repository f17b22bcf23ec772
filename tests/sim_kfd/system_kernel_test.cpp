// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "hcq/kernel_interface.h"

namespace halyard::testing {
namespace {

TEST(SystemKernelTest, Files_AreOpenedReadAndListed) {
  hcq::KernelInterface& kernel = hcq::system_kernel();
  EXPECT_EQ(kernel.open("/dev/none", O_RDWR).status().code(), StatusCode::kNotFound);
  const int descriptor = kernel.open("/dev/null", O_RDWR).value();
  int bytes = 0;
  EXPECT_EQ(kernel.ioctl(descriptor, FIONREAD, &bytes), -ENOTTY);
  kernel.close(descriptor);
  EXPECT_EQ(kernel.ioctl(descriptor, FIONREAD, &bytes), -EBADF);
  EXPECT_THAT(kernel.read_file("/proc/self/status").value(), ::testing::StartsWith("Name:"));
  EXPECT_EQ(kernel.read_file("/proc/self/none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(kernel.read_file("/proc/self").status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(kernel.list("/proc/self").value(), ::testing::Contains("status"));
  EXPECT_EQ(kernel.list("/none").status().code(), StatusCode::kNotFound);
}

TEST(SystemKernelTest, Memory_IsMapped) {
  hcq::KernelInterface& kernel = hcq::system_kernel();
  void* const at = kernel.map(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0).value();
  EXPECT_EQ(*static_cast<const char*>(at), 0);
  EXPECT_EQ(kernel.unmap(at, 4096), 0);
  EXPECT_EQ(kernel.unmap(static_cast<char*>(at) + 1, 4096), -EINVAL);
  EXPECT_EQ(kernel.map(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace halyard::testing
