// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The image of a file that a device runs, the disk cache, and the resources that kernels occupy.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/content_hash.h"
#include "base/disk_cache.h"
#include "base/format.h"
#include "compiler/hyx_writer.h"
#include "cuda/cuda_test_util.h"
#include "cuda/native_calls.h"
#include "drivers/cuda/device.h"

namespace halyard::cuda {
namespace {

namespace fs = std::filesystem;

// *y = value, by way of the last word of the shared memory that a launch adds.
std::string ptx(unsigned value, unsigned shared_bytes) {
  return base::format(R"(.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 4 .b8 pool[];
.visible .entry put(.param .u64 y)
{{
  .reg .b64 %rd<3>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [y];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, pool;
  mov.u32 %r2, {};
  st.shared.u32 [%r1+{}], %r2;
  ld.shared.u32 %r3, [%r1+{}];
  st.global.u32 [%rd2], %r3;
  ret;
}}
)",
                      value, shared_bytes - 4, shared_bytes - 4);
}

class CudaImages : public CudaTest {
 protected:
  CudaImages() : folder_(fs::temp_directory_path() / ("hy-images-" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    setenv("HALYARD_CACHE_DIR", folder_.c_str(), 1);
  }
  ~CudaImages() override {
    unsetenv("HALYARD_CACHE_DIR");
    fs::remove_all(folder_);
  }

  static std::vector<std::byte> file(std::vector<compiler::Image> images,
                                     std::uint32_t shared_bytes = 1024) {
    for (compiler::Image& image : images) image.convention = "hy-kernarg-1";
    return compiler::write_hyx(
        {.kernels = {{.name = "put",
                      .workgroup_size = {1, 1, 1},
                      .bindings = {{"y", kernel::Access::kWrite, kernel::ElementType::kUint32}},
                      .constants = {},
                      .dynamic_shared_bytes = shared_bytes}},
         .images = std::move(images),
         .sources = {}});
  }
  // Returns the word that the kernel "put" writes.
  static std::uint32_t run(const hal::Device& device, const hal::Executable& executable) {
    const hal::Buffer y =
        device.allocate({.size = 4, .memory = hal::MemoryType::kHostVisible}).value();
    const hal::Semaphore done = device.create_semaphore().value();
    check(device.queue().dispatch(executable.function("put").value(), {.groups = {1}}, {y}, {},
                                  {.signal = {{done, 1}}}));
    check(done.wait(1, kForever));
    return y.map().value().as<std::uint32_t>()[0];
  }
  std::uint32_t run(const std::vector<std::byte>& bytes, const char* uri = "cuda://0") {
    const hal::Device device = registry.open(uri).value();
    return run(device, device.load(bytes, "test.hyx").value());
  }
  // Machine code from the library's own linker.
  static std::string cubin(const std::string& text) {
    const auto device = Device::create({.uri = "cuda://0"}, library(), 0, {}).value();
    const timeline::Visit inside(*device->entry_guard());
    const auto hyx = kernel::Hyx::parse(file({{"ptx-sm_80", "", text}}), "test.hyx").value();
    const std::vector<std::byte> bytes = device->image_builder()->build(hyx).value();
    return std::string(base::text_of(bytes));
  }
  std::size_t entries() const {
    std::size_t count = 0;
    if (!fs::exists(folder_)) return 0;
    for (const auto& entry : fs::directory_iterator(folder_)) count += entry.is_regular_file();
    return count;
  }

  fs::path folder_;
};

TEST_F(CudaImages, RunsTheBestImageThatTheDeviceTakes) {
  const std::string one = cubin(ptx(1, 1024)), two = ptx(2, 1024);
  ASSERT_NE(one, ptx(1, 1024)) << "the linker gives a container of its own";
  EXPECT_EQ(run(file({{"ptx-sm_80", "", two}, {"cubin-sm_80", "", one}})), 1u);
  EXPECT_EQ(run(file({{"ptx-sm_80", "", two}, {"fatbin", "", one}})), 1u);
  EXPECT_EQ(run(file({{"ptx-sm_75", "", one}, {"ptx-sm_80", "", two}})), 2u);
  EXPECT_EQ(run(file({{"cubin-sm_86", "", one}, {"ptx-sm_80", "", two}})), 2u)
      << "of a higher minor version";
  EXPECT_EQ(run(file({{"cubin-sm_75", "", one}, {"ptx-sm_80", "", two}})), 2u)
      << "of another major version";
}

TEST_F(CudaImages, MachineCodeOfAnotherGpuGivesWayToPtx) {
  std::string elf(64, '\0');  // refused by the simulated library: NO_BINARY_FOR_GPU
  elf.replace(0, 5, "\x7f"
                    "ELF\x02");
  elf[18] = '\xbe';  // EM_CUDA
  EXPECT_EQ(run(file({{"cubin-sm_80", "", elf}, {"ptx-sm_80", "", ptx(3, 1024)}})), 3u);
  const hal::Device device = registry.open("cuda://0").value();
  const Status status = device.load(file({{"cubin-sm_80", "", elf}}), "test.hyx").status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.native_error(), "CUDA_ERROR_NO_BINARY_FOR_GPU (209)");
  EXPECT_EQ(device.load(file({{"cubin-sm_90", "", elf}}), "test.hyx").status().code(),
            StatusCode::kUnavailable);
}

TEST_F(CudaImages, ALaunchMayAddMoreSharedMemoryThanABlockHasByDefault) {
  const std::uint32_t limit = registry.open("cuda://0").value().info().limits.max_shared_bytes;
  ASSERT_GT(limit, 48u << 10);
  EXPECT_EQ(run(file({{"ptx-sm_80", "", ptx(4, limit)}}, limit)), 4u);
  const hal::Device device = registry.open("cuda://0").value();
  const hal::Executable beyond =
      device.load(file({{"ptx-sm_80", "", ptx(4, limit)}}, limit + 4), "test.hyx").value();
  EXPECT_EQ(beyond.function("put").status().code(), StatusCode::kUnavailable);
}

TEST_F(CudaImages, SayWhatAKernelOccupies) {
  const hal::Device device = registry.open("cuda://0").value();
  const auto of = [&](std::uint32_t shared_bytes) {
    const auto bytes = file({{"ptx-sm_80", "", ptx(5, shared_bytes)}}, shared_bytes);
    return device.load(bytes, "test.hyx").value().function("put").value().resources().value();
  };
  const hal::FunctionResources small = of(1024), large = of(64u << 10);
  EXPECT_EQ(small.shared_bytes, 1024u);
  EXPECT_EQ(large.shared_bytes, 64u << 10);
  EXPECT_GT(small.registers, 0u);
  EXPECT_GT(large.groups_per_worker, 0u);
  EXPECT_GT(small.groups_per_worker, large.groups_per_worker);
  EXPECT_EQ(hal::Function().resources().status().code(), StatusCode::kInvalidArgument);
}

TEST_F(CudaImages, ADeviceKeepsWhatWasCompiled) {
  NativeCalls calls;
  const auto bytes = file({{"ptx-sm_80", "", ptx(6, 1024)}});
  EXPECT_EQ(run(bytes), 6u);
  EXPECT_EQ(calls.take("cuLinkComplete"), 1);
  EXPECT_EQ(entries(), 1u);
  EXPECT_EQ(run(bytes), 6u);
  EXPECT_EQ(run(bytes, "cuda://1"), 6u) << "another GPU of the same kind";
  EXPECT_EQ(calls.take("cuLinkComplete"), 0);
  EXPECT_EQ(run(bytes, "cuda://0?cache=0"), 6u);
  EXPECT_EQ(run(file({{"ptx-sm_80", "", ptx(7, 1024)}})), 7u);
  EXPECT_EQ(calls.take("cuLinkComplete"), 1);
  EXPECT_EQ(entries(), 2u);
  EXPECT_EQ(registry.open("cuda://0?cache=2").status().code(), StatusCode::kInvalidArgument);
}

TEST_F(CudaImages, AnEntryThatIsDamagedOrRefusedIsCompiledAgain) {
  NativeCalls calls;
  const std::string text = ptx(8, 1024);
  const auto bytes = file({{"ptx-sm_80", "", text}});
  EXPECT_EQ(run(bytes), 8u);
  for (const auto& entry : fs::directory_iterator(folder_)) fs::resize_file(entry.path(), 100);
  EXPECT_EQ(run(bytes), 8u);
  EXPECT_EQ(calls.take("cuLinkComplete"), 2);

  const auto device = Device::create({.uri = "cuda://0"}, library(), 0, {}).value();
  const base::ContentHash key =
      base::content_hash({"cuda image", device->image_builder()->name(), text});
  const std::string nonsense = "no image";
  {
    const auto disk = base::DiskCache::open(folder_, base::DiskCache::kDefaultMaxBytes).value();
    ASSERT_TRUE(disk.find(key));
    check(disk.put(key, std::as_bytes(std::span(nonsense))));
  }
  EXPECT_EQ(run(bytes), 8u);
  EXPECT_EQ(calls.take("cuLinkComplete"), 1);
  EXPECT_EQ(run(bytes), 8u);
  EXPECT_EQ(calls.take("cuLinkComplete"), 0);
}

TEST_F(CudaImages, AnExecutableCacheKeepsThemInItsFolder) {
  const std::string text = ptx(9, 1024);
  for (const auto& bytes :
       {file({{"ptx-sm_80", "", text}}), file({{"cubin-sm_80", "", cubin(text)}})}) {
    for (const std::uint64_t built : {1, 0}) {
      const hal::Device device = registry.open("cuda://0").value();
      const hal::ExecutableCache cache =
          device.create_executable_cache({.folder = (folder_ / "mine").string()}).value();
      EXPECT_EQ(run(device, cache.load(bytes, "test.hyx").value()), 9u);
      EXPECT_EQ(cache.statistics().built, built);
      EXPECT_EQ(cache.statistics().from_disk, 1 - built);
    }
  }
}

TEST_F(CudaImages, WithoutAFolderTheDriverCompilesAsItLoads) {
  setenv("HALYARD_CACHE_DIR", "/proc/no folder", 1);
  NativeCalls calls;
  EXPECT_EQ(run(file({{"ptx-sm_80", "", ptx(10, 1024)}})), 10u);
  EXPECT_EQ(calls.take("cuLinkComplete"), 0);
}

}  // namespace
}  // namespace halyard::cuda
