// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AMD's own headers: a program compiled with them can call the library, and the library's layouts
// and values equal theirs. Debian has the headers of HIP 5.2.3.
#include <gtest/gtest.h>
#include <hip/hip_ext.h>
#include <hip/hip_runtime_api.h>

#include <cstring>
#include <vector>

#include "simulation/hip/abi.h"

namespace halyard_test {
extern const unsigned char kKernels[];
namespace {

namespace ours = halyard::sim::hip;

#define HALYARD_SAME_SIZE(Ours, Theirs) EXPECT_EQ(sizeof(ours::Ours), sizeof(Theirs))
#define HALYARD_SAME_PLACE(Ours, member, Theirs, other) \
  EXPECT_EQ(offsetof(ours::Ours, member), offsetof(Theirs, other)) << #other

TEST(HipHeader, Layouts) {
#if HIP_VERSION_MAJOR < 6
  HALYARD_SAME_SIZE(PropertiesOld, hipDeviceProp_t);
  HALYARD_SAME_PLACE(PropertiesOld, gcn_arch_name, hipDeviceProp_t, gcnArchName);
  HALYARD_SAME_PLACE(PropertiesOld, arch, hipDeviceProp_t, arch);
  HALYARD_SAME_PLACE(PropertiesOld, pci_domain, hipDeviceProp_t, pciDomainID);
  HALYARD_SAME_PLACE(PropertiesOld, max_shared_per_multiprocessor, hipDeviceProp_t,
                     maxSharedMemoryPerMultiProcessor);
  HALYARD_SAME_PLACE(PropertiesOld, texture_3d, hipDeviceProp_t, maxTexture3D);
  HALYARD_SAME_PLACE(PropertiesOld, pitch, hipDeviceProp_t, memPitch);
  HALYARD_SAME_PLACE(PropertiesOld, concurrent_managed_access, hipDeviceProp_t,
                     concurrentManagedAccess);
  HALYARD_SAME_SIZE(DriverCopyOld, HIP_MEMCPY3D);
  HALYARD_SAME_PLACE(DriverCopyOld, dst_type, HIP_MEMCPY3D, dstMemoryType);
  HALYARD_SAME_PLACE(DriverCopyOld, dst_pitch, HIP_MEMCPY3D, dstPitch);
  HALYARD_SAME_PLACE(DriverCopyOld, width, HIP_MEMCPY3D, WidthInBytes);
#else
  HALYARD_SAME_SIZE(Properties, hipDeviceProp_t);
  HALYARD_SAME_PLACE(Properties, gcn_arch_name, hipDeviceProp_t, gcnArchName);
  HALYARD_SAME_PLACE(Properties, pci_bus, hipDeviceProp_t, pciBusID);
  HALYARD_SAME_PLACE(Properties, cooperative_launch, hipDeviceProp_t, cooperativeLaunch);
  HALYARD_SAME_PLACE(Properties, memory_pools, hipDeviceProp_t, memoryPoolsSupported);
  HALYARD_SAME_PLACE(Properties, asic_revision, hipDeviceProp_t, asicRevision);
  HALYARD_SAME_SIZE(DriverCopy, HIP_MEMCPY3D);
  HALYARD_SAME_PLACE(DriverCopy, width, HIP_MEMCPY3D, WidthInBytes);
#endif
  HALYARD_SAME_SIZE(PointerAttributes, hipPointerAttribute_t);
  HALYARD_SAME_PLACE(PointerAttributes, device_pointer, hipPointerAttribute_t, devicePointer);
  HALYARD_SAME_PLACE(PointerAttributes, flags, hipPointerAttribute_t, allocationFlags);
  HALYARD_SAME_SIZE(FunctionAttributes, hipFuncAttributes);
  HALYARD_SAME_PLACE(FunctionAttributes, shared_bytes, hipFuncAttributes, sharedSizeBytes);
  HALYARD_SAME_SIZE(Copy2D, hip_Memcpy2D);
  HALYARD_SAME_PLACE(Copy2D, dst_pitch, hip_Memcpy2D, dstPitch);
  HALYARD_SAME_SIZE(Copy3D, hipMemcpy3DParms);
  HALYARD_SAME_PLACE(Copy3D, dst, hipMemcpy3DParms, dstPtr);
  HALYARD_SAME_PLACE(Copy3D, kind, hipMemcpy3DParms, kind);
  HALYARD_SAME_SIZE(PoolProperties, hipMemPoolProps);
  HALYARD_SAME_PLACE(PoolProperties, location, hipMemPoolProps, location);
  HALYARD_SAME_SIZE(KernelNodeParams, hipKernelNodeParams);
  HALYARD_SAME_PLACE(KernelNodeParams, function, hipKernelNodeParams, func);
  HALYARD_SAME_PLACE(KernelNodeParams, parameters, hipKernelNodeParams, kernelParams);
  HALYARD_SAME_SIZE(FillNodeParams, hipMemsetParams);
  HALYARD_SAME_PLACE(FillNodeParams, width, hipMemsetParams, width);
  HALYARD_SAME_SIZE(Dim3, dim3);
  HALYARD_SAME_SIZE(PitchedPointer, hipPitchedPtr);
  HALYARD_SAME_SIZE(Extent, hipExtent);
}

TEST(HipHeader, Values) {
  EXPECT_EQ(static_cast<int>(hipErrorInvalidConfiguration), ours::kInvalidConfiguration);
  EXPECT_EQ(static_cast<int>(hipErrorInvalidKernelFile), ours::kInvalidKernelFile);
  EXPECT_EQ(static_cast<int>(hipErrorInvalidDeviceFunction), ours::kInvalidDeviceFunction);
  EXPECT_EQ(static_cast<int>(hipErrorContextAlreadyInUse), ours::kContextInUse);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(HIP_LAUNCH_PARAM_END), ours::kLaunchEnd);
  EXPECT_EQ(static_cast<unsigned>(hipHostMallocNonCoherent), ours::kHostNonCoherent);
  EXPECT_EQ(static_cast<unsigned>(hipHostMallocNumaUser), ours::kHostNumaUser);
  EXPECT_EQ(static_cast<unsigned>(hipEventReleaseToSystem), ours::kEventReleaseToSystem);
  EXPECT_EQ(static_cast<unsigned>(hipMallocSignalMemory), ours::kMallocSignal);
}

TEST(HipHeader, AProgramOfTheirsRuns) {
  int count = 0;
  ASSERT_EQ(hipGetDeviceCount(&count), hipSuccess);
  hipDeviceProp_t properties;
  ASSERT_EQ(hipGetDeviceProperties(&properties, 0), hipSuccess);
  EXPECT_STREQ(properties.gcnArchName, "gfx1100");
  EXPECT_EQ(properties.warpSize, 32);
  int value = 0;
  EXPECT_EQ(hipDeviceGetAttribute(&value, hipDeviceAttributeMaxThreadsPerBlock, 0), hipSuccess);
  EXPECT_EQ(value, properties.maxThreadsPerBlock);
  EXPECT_EQ(hipDeviceGetAttribute(&value, hipDeviceAttributeMemoryPoolsSupported, 0), hipSuccess);
  EXPECT_EQ(value, 1);
  hipModule_t module = nullptr;
  hipFunction_t fill = nullptr;
  ASSERT_EQ(hipModuleLoadData(&module, kKernels), hipSuccess);
  ASSERT_EQ(hipModuleGetFunction(&fill, module, "fill"), hipSuccess);
  struct {
    void* out = nullptr;
    std::uint32_t value = 21, count = 256;
  } arguments;
  ASSERT_EQ(hipMalloc(&arguments.out, 1024), hipSuccess);
  std::size_t size = sizeof arguments;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
  ASSERT_EQ(hipModuleLaunchKernel(fill, 2, 1, 1, 128, 1, 1, 0, stream, nullptr, extra), hipSuccess);
  // The form with events, in work items, is a C++ function in these headers.
  ASSERT_EQ(hipExtModuleLaunchKernel(fill, 256, 1, 1, 128, 1, 1, 0, stream, nullptr, extra),
            hipSuccess);
  std::vector<std::uint32_t> host(256);
  ASSERT_EQ(hipMemcpyAsync(host.data(), arguments.out, 1024, hipMemcpyDeviceToHost, stream),
            hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(host, std::vector<std::uint32_t>(256, 21));
  hipPointerAttribute_t attributes;
  ASSERT_EQ(hipPointerGetAttributes(&attributes, arguments.out), hipSuccess);
  EXPECT_EQ(attributes.memoryType, hipMemoryTypeDevice);
  EXPECT_EQ(hipFree(arguments.out), hipSuccess);
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  EXPECT_EQ(hipModuleUnload(module), hipSuccess);
}

}  // namespace
}  // namespace halyard_test
