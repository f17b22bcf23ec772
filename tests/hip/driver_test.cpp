// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/hip/driver.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "drivers/hip/error.h"
#include "drivers/hip/results.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"

namespace halyard::hip {
namespace {

using ::testing::HasSubstr;

class HipDriver : public ::testing::Test {
 protected:
  HipDriver() { check(register_hip_driver(registry)); }
  ~HipDriver() override {
    unsetenv("HALYARD_HIP_LIBRARY");
    check(registry.shutdown(kForever));
  }
  Status open(const char* uri) { return registry.open(uri).status(); }

  hal::DriverRegistry registry;
};

TEST_F(HipDriver, AMissingLibraryIsAnEmptyListAndNotFound) {
  setenv("HALYARD_HIP_LIBRARY", "/nonexistent/libamdhip64.so", 1);
  EXPECT_TRUE(registry.enumerate().value().empty());
  const Status status = open("hip://");
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nonexistent/libamdhip64.so"));
}

TEST_F(HipDriver, ALibraryThatLacksFunctionsIsUnavailableAndNamesTheFirst) {
  setenv("HALYARD_HIP_LIBRARY", "libm.so.6", 1);
  EXPECT_TRUE(registry.enumerate().value().empty());
  const Status status = open("hip://0");
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has no hipStreamGetDevice; HIP 5.6"));
}

// Debian 12's libamdhip64-5 is a real library that is too old.
TEST_F(HipDriver, ARealLibraryBefore5_6IsUnavailableAndNamesTheSymbol) {
  void* const library = dlopen("libamdhip64.so.5", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) GTEST_SKIP() << "no libamdhip64.so.5: it is in Debian's libamdhip64-5";
  if (dlsym(library, "hipStreamGetDevice") != nullptr) GTEST_SKIP() << "it is of HIP 5.6 or later";
  const Status status = open("hip://?library_path=libamdhip64.so.5");
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("libamdhip64.so.5 has no hipStreamGetDevice"));
}

TEST_F(HipDriver, OptionsAreThoseOfCudaWithoutACache) {
  const Status status = open("hip://?cache=1");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("unknown option 'cache'"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("async_allocations, check, command_buffer"));
  EXPECT_THAT(std::string(open("hip://?completion_mode=sleep").message()),
              HasSubstr("hip: option completion_mode is 'sleep'"));
  EXPECT_EQ(open("hip://?completion_mode=flag&host_visible=managed").code(),
            StatusCode::kUnimplemented);
}

TEST(HipErrors, HaveHipsNamesAndNumbers) {
  EXPECT_TRUE(to_status(hipSuccess, "hipFree").ok());
  const Status status = to_status(hipErrorOutOfMemory, "hipMalloc");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "hip: hipMalloc failed");
  EXPECT_EQ(status.native_error(), "hipErrorOutOfMemory (2)");
  EXPECT_EQ(native_name(static_cast<hipError_t>(77)), "hipError_t (77)");
  EXPECT_EQ(status_code(static_cast<hipError_t>(77)), StatusCode::kInternal);
}

}  // namespace
}  // namespace halyard::hip
