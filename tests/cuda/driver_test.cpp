// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices that cuda:// names, and the properties that they report.
#include "drivers/cuda/driver.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "cuda/cuda_test_util.h"
#include "drivers/cuda/error.h"
#include "drivers/cuda/functions.h"
#include "drivers/cuda/physical_device.h"

namespace halyard::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class CudaDriver : public CudaTest {};

StatusCode code_of(hal::DriverRegistry& registry, const char* uri) {
  return registry.open(uri).status().code();
}

TEST_F(CudaDriver, ListsTheDevicesOfTheLibrary) {
  const auto all = registry.enumerate().value();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].uri, "cuda://0");
  EXPECT_EQ(all[1].uri, "cuda://1");
  EXPECT_THAT(all[0].targets, ElementsAre("cubin-sm_80", "fatbin", "ptx-sm_80", "ptx-sm_75"));
  EXPECT_EQ(all[0].memory_size, std::uint64_t{4} << 30);
  EXPECT_EQ(all[0].limits.max_workgroup_items, 1024u);
  EXPECT_EQ(all[0].limits.max_bindings * 8 + all[0].limits.max_constants_bytes, 4096u);
  EXPECT_FALSE(all[0].limits.indirect_dispatch);
}

// Machine code runs on its major version from its minor version on, PTX on its version and on later
// ones (CUDA C++ Programming Guide, "Compute Capability").
TEST(CudaTargets, AreThoseOfTheCapabilityBestFirst) {
  const auto targets = [](int capability, int driver = 13000) {
    std::string all;
    for (const std::string_view name : image_targets(capability, driver)) {
      all.append(all.empty() ? "" : " ").append(name);
    }
    return all;
  };
  EXPECT_EQ(targets(70), "fatbin");
  EXPECT_EQ(targets(75), "cubin-sm_75 fatbin ptx-sm_75");
  EXPECT_EQ(targets(80), "cubin-sm_80 fatbin ptx-sm_80 ptx-sm_75");
  EXPECT_EQ(targets(86), "cubin-sm_86 cubin-sm_80 fatbin ptx-sm_86 ptx-sm_80 ptx-sm_75");
  EXPECT_EQ(targets(87),
            "cubin-sm_87 cubin-sm_86 cubin-sm_80 fatbin ptx-sm_87 ptx-sm_86 ptx-sm_80 ptx-sm_75");
  const std::string older = "ptx-sm_89 ptx-sm_87 ptx-sm_86 ptx-sm_80 ptx-sm_75";
  EXPECT_EQ(targets(89), "cubin-sm_89 cubin-sm_87 cubin-sm_86 cubin-sm_80 fatbin " + older);
  EXPECT_EQ(targets(90), "cubin-sm_90 fatbin ptx-sm_90 " + older);
  EXPECT_EQ(targets(100), "cubin-sm_100 fatbin ptx-sm_100 ptx-sm_90 " + older);
  EXPECT_EQ(targets(103), "cubin-sm_103 cubin-sm_100 fatbin ptx-sm_100 ptx-sm_90 " + older);
  EXPECT_EQ(targets(120), "cubin-sm_120 fatbin ptx-sm_120 ptx-sm_100 ptx-sm_90 " + older);
  EXPECT_EQ(targets(121),
            "cubin-sm_121 cubin-sm_120 fatbin ptx-sm_120 ptx-sm_100 ptx-sm_90 " + older);
  // A driver that is older than the language of a target does not compile it.
  EXPECT_EQ(targets(120, 12080), targets(120));
  EXPECT_EQ(targets(120, 12070), "cubin-sm_120 fatbin ptx-sm_90 " + older);
  EXPECT_EQ(targets(90, 11080), targets(90));
  EXPECT_EQ(targets(90, 11070), "cubin-sm_90 fatbin ptx-sm_87 ptx-sm_86 ptx-sm_80 ptx-sm_75");
  EXPECT_EQ(targets(90, 11030), "cubin-sm_90 fatbin ptx-sm_86 ptx-sm_80 ptx-sm_75");
  EXPECT_EQ(targets(90, 11000), "cubin-sm_90 fatbin ptx-sm_80 ptx-sm_75");
  EXPECT_EQ(targets(90, 10020), "cubin-sm_90 fatbin");
}

TEST_F(CudaDriver, AMissingLibraryIsAnEmptyListAndNotFound) {
  setenv("HALYARD_CUDA_LIBRARY", "/nonexistent/libcuda.so.1", 1);
  EXPECT_THAT(registry.enumerate().value(), SizeIs(0));
  const Status status = registry.open("cuda://0").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nonexistent/libcuda.so.1"));
}

TEST_F(CudaDriver, ALibraryThatLacksFunctionsIsUnavailableAndNamesTheFirst) {
  const Status status = registry.open("cuda://0?library_path=libdl.so.2").status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("libdl.so.2 has no cuInit"));
}

TEST_F(CudaDriver, OpensDevicesByOrdinalAndByUuid) {
  const std::string uuid = library().devices()[1].uuid;
  EXPECT_THAT(uuid, ::testing::MatchesRegex("GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"));
  EXPECT_EQ(registry.open("cuda://" + uuid).value().info().uri, "cuda://1");
  EXPECT_EQ(code_of(registry, "cuda://GPU-00000000-0000-0000-0000-000000000000"),
            StatusCode::kNotFound);
  EXPECT_EQ(code_of(registry, "cuda://2"), StatusCode::kNotFound);
  EXPECT_EQ(code_of(registry, "cuda://?devices=0"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(registry, "cuda://?devices=65"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(registry, "cuda://?device=2"), StatusCode::kInvalidArgument);
}

// CUDA counts 1000 * major + 10 * minor.
TEST(CudaFunctions, AreAskedForInTheVersionOfARelease) {
#define HALYARD_EXPECT_RELEASE(function, suffix, version, error, parameters) \
  EXPECT_EQ(version % 10, 0) << #function;                                   \
  EXPECT_LE(version, 11070) << #function;
  HALYARD_CUDA_FUNCTIONS(HALYARD_EXPECT_RELEASE)
  HALYARD_CUDA_OPTIONAL(HALYARD_EXPECT_RELEASE)
  HALYARD_CUDA_ENDING(HALYARD_EXPECT_RELEASE)
#undef HALYARD_EXPECT_RELEASE
}

TEST_F(CudaDriver, BeyondTheLastDeviceOrdinalsBeginAgain) {
  const auto devices = registry.open_all("cuda://?devices=4").value();
  ASSERT_THAT(devices, SizeIs(4));
  EXPECT_EQ(devices[3].info().uri, "cuda://3?devices=4");
  EXPECT_EQ(devices[2].info().name, devices[0].info().name);
  EXPECT_TRUE(devices[0].can_access(devices[2]));
  EXPECT_TRUE(devices[0].can_access(devices[1])) << "the simulated GPUs are peers";
}

TEST_F(CudaDriver, WithoutPeersGpusDoNotUseEachOthersMemory) {
  for (int i = 0; i < 2; ++i) {
    const auto devices = registry.open_all("cuda://?devices=3&peers=0").value();
    EXPECT_FALSE(devices[0].can_access(devices[1]));
    EXPECT_TRUE(devices[0].can_access(devices[2]));
    const auto peers = registry.open_all("cuda://").value();
    EXPECT_TRUE(peers[0].can_access(peers[1]));
    EXPECT_FALSE(peers[0].can_access(devices[1]));
    EXPECT_FALSE(devices[0].can_access(peers[1]));
  }
  EXPECT_EQ(code_of(registry, "cuda://?peers=2"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(registry, "cuda://?poll_time=-1"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(registry, "cuda://?poll_time=1000001"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(registry, "cuda://?poll_time=1000000"), StatusCode::kOk);
}

TEST_F(CudaDriver, AStatusHasTheNameAndNumberOfTheResult) {
  const auto is = [](CUresult result, StatusCode code, const char* native) {
    const Status status = to_status(result, "cuCall");
    EXPECT_EQ(status.code(), code) << native;
    EXPECT_EQ(status.native_error(), native);
    EXPECT_EQ(status.message(), "cuda: cuCall failed");
  };
  EXPECT_TRUE(to_status(CUDA_SUCCESS, "cuCall").ok());
  is(CUDA_ERROR_OUT_OF_MEMORY, StatusCode::kResourceExhausted, "CUDA_ERROR_OUT_OF_MEMORY (2)");
  is(CUDA_ERROR_ILLEGAL_ADDRESS, StatusCode::kDeviceLost, "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  is(CUDA_ERROR_ECC_UNCORRECTABLE, StatusCode::kDeviceLost, "CUDA_ERROR_ECC_UNCORRECTABLE (214)");
  is(CUDA_ERROR_NO_DEVICE, StatusCode::kNotFound, "CUDA_ERROR_NO_DEVICE (100)");
  is(CUDA_ERROR_NOT_SUPPORTED, StatusCode::kUnimplemented, "CUDA_ERROR_NOT_SUPPORTED (801)");
  is(static_cast<CUresult>(12345), StatusCode::kInternal, "CUresult (12345)");
}

TEST_F(CudaDriver, EveryResultHasTheNameThatTheLibraryGivesIt) {
  void* const library = dlopen(HALYARD_SIM_CUDA_LIBRARY, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  using GetErrorName = int(int, const char**);
  auto* const get_error_name = reinterpret_cast<GetErrorName*>(dlsym(library, "cuGetErrorName"));
  for (int number = 0; number <= 1000; ++number) {
    const char* name = nullptr;
    if (get_error_name(number, &name) != CUDA_SUCCESS) name = "CUresult";
    EXPECT_EQ(native_name(static_cast<CUresult>(number)),
              std::string(name) + " (" + std::to_string(number) + ")");
  }
  dlclose(library);
}

}  // namespace
}  // namespace halyard::cuda
