// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the library's own declarations with the toolkit's cuda.h: layouts and values at compile
// time, exported names and texts at run time. Built if a toolkit of CUDA 13 is installed.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>

#include "simulation/cuda/abi.h"

namespace halyard::testing {
namespace {

namespace own = sim::cuda;

#define HALYARD_SAME_SIZE(Own, Theirs) static_assert(sizeof(own::Own) == sizeof(Theirs))
#define HALYARD_SAME_PLACE(Own, member, Theirs, other) \
  static_assert(offsetof(own::Own, member) == offsetof(Theirs, other))

#if CUDA_VERSION >= 13000
HALYARD_SAME_SIZE(Copy2D, CUDA_MEMCPY2D);
HALYARD_SAME_PLACE(Copy2D, src_type, CUDA_MEMCPY2D, srcMemoryType);
HALYARD_SAME_PLACE(Copy2D, dst_pitch, CUDA_MEMCPY2D, dstPitch);
HALYARD_SAME_PLACE(Copy2D, height, CUDA_MEMCPY2D, Height);
HALYARD_SAME_SIZE(Copy3D, CUDA_MEMCPY3D);
HALYARD_SAME_SIZE(Copy3D, CUDA_MEMCPY3D_PEER);
HALYARD_SAME_PLACE(Copy3D, src_context, CUDA_MEMCPY3D_PEER, srcContext);
HALYARD_SAME_PLACE(Copy3D, dst_context, CUDA_MEMCPY3D_PEER, dstContext);
HALYARD_SAME_PLACE(Copy3D, dst_type, CUDA_MEMCPY3D, dstMemoryType);
HALYARD_SAME_PLACE(Copy3D, depth, CUDA_MEMCPY3D, Depth);
HALYARD_SAME_SIZE(Array2D, CUDA_ARRAY_DESCRIPTOR);
HALYARD_SAME_SIZE(Array3D, CUDA_ARRAY3D_DESCRIPTOR);
HALYARD_SAME_PLACE(Array3D, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);
HALYARD_SAME_SIZE(KernelParams, CUDA_KERNEL_NODE_PARAMS);
HALYARD_SAME_SIZE(FillParams, CUDA_MEMSET_NODE_PARAMS_v2);
HALYARD_SAME_SIZE(FillParamsV1, CUDA_MEMSET_NODE_PARAMS);
HALYARD_SAME_SIZE(HostParams, CUDA_HOST_NODE_PARAMS);
HALYARD_SAME_SIZE(CopyNodeParams, CUDA_MEMCPY_NODE_PARAMS);
HALYARD_SAME_SIZE(MemOp, CUstreamBatchMemOpParams);
HALYARD_SAME_PLACE(MemOp, value, CUstreamBatchMemOpParams, waitValue.value64);
HALYARD_SAME_PLACE(MemOp, flags, CUstreamBatchMemOpParams, writeValue.flags);
HALYARD_SAME_SIZE(MemOpNodeParams, CUDA_BATCH_MEM_OP_NODE_PARAMS);
HALYARD_SAME_SIZE(NodeParams, CUgraphNodeParams);
HALYARD_SAME_SIZE(GraphEdge, CUgraphEdgeData);
HALYARD_SAME_SIZE(UpdateInfo, CUgraphExecUpdateResultInfo);
HALYARD_SAME_SIZE(InstantiateParams, CUDA_GRAPH_INSTANTIATE_PARAMS);
HALYARD_SAME_SIZE(LaunchAttribute, CUlaunchAttribute);
HALYARD_SAME_SIZE(LaunchConfig, CUlaunchConfig);
HALYARD_SAME_PLACE(LaunchConfig, stream, CUlaunchConfig, hStream);
HALYARD_SAME_SIZE(AccessDescription, CUmemAccessDesc);
HALYARD_SAME_SIZE(AllocationProperties, CUmemAllocationProp);
HALYARD_SAME_SIZE(PoolProperties, CUmemPoolProps);
HALYARD_SAME_SIZE(DeviceProperties, CUdevprop);
HALYARD_SAME_SIZE(Uuid, CUuuid);
#endif

static_assert(own::kRecordEventNode == static_cast<int>(CU_GRAPH_NODE_TYPE_EVENT_RECORD));
static_assert(own::kMemOpNode == static_cast<int>(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP));
static_assert(own::kCaptureRelaxed == static_cast<int>(CU_STREAM_CAPTURE_MODE_RELAXED));
static_assert(own::kParametersChanged ==
              static_cast<int>(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED));
static_assert(own::kCaptureWrongThread == static_cast<int>(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD));
static_assert(own::kGraphExecUpdateFailure ==
              static_cast<int>(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE));
static_assert(own::kHostMemoryNotRegistered ==
              static_cast<int>(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED));
static_assert(own::kUnified == static_cast<unsigned>(CU_MEMORYTYPE_UNIFIED));

TEST(SimCudaHeader, NamesErrorsAsTheHeaderDoes) {
#define HALYARD_CUDA_ERROR(name, value, text)              \
  {                                                        \
    static_assert(static_cast<int>(name) == (value));      \
    const char* found = nullptr;                           \
    EXPECT_EQ(cuGetErrorName(name, &found), CUDA_SUCCESS); \
    EXPECT_STREQ(found, #name);                            \
  }
#include "simulation/cuda/errors.inc"
#undef HALYARD_CUDA_ERROR
}

TEST(SimCudaHeader, ExportsEveryName) {
  int count = 0;
#define HALYARD_CUDA_NAME(exported, name, version, per_thread)     \
  EXPECT_NE(dlsym(RTLD_DEFAULT, #exported), nullptr) << #exported; \
  ++count;
#include "simulation/cuda/names.inc"
#undef HALYARD_CUDA_NAME
  EXPECT_EQ(count, 637);
}

// The toolkit's declarations call the library's definitions.
TEST(SimCudaHeader, CallsWorkThroughTheHeader) {
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  CUcontext context = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  CUdeviceptr address = 0;
  ASSERT_EQ(cuMemAlloc(&address, 64), CUDA_SUCCESS);
  CUDA_MEMCPY3D copy{};
  const unsigned source[4] = {1, 2, 3, 4};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = source;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = address;
  copy.WidthInBytes = 8;
  copy.Height = 2;
  copy.Depth = 1;
  ASSERT_EQ(cuMemcpy3D(&copy), CUDA_SUCCESS);
  unsigned back[4] = {};
  ASSERT_EQ(cuMemcpyDtoH(back, address, 16), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(source, back, 16), 0);
  CUmemPoolProps pool_properties{};
  pool_properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  pool_properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(cuMemPoolCreate(&pool, &pool_properties), CUDA_SUCCESS);
  CUdeviceptr pooled = 0;
  ASSERT_EQ(cuMemAllocFromPoolAsync(&pooled, 128, pool, nullptr), CUDA_SUCCESS);
  cuuint64_t used = 0;
  EXPECT_EQ(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used), CUDA_SUCCESS);
  EXPECT_EQ(used, 128U);
  EXPECT_EQ(cuMemFreeAsync(pooled, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_MEMSET;
  parameters.memset.dst = address;
  parameters.memset.value = 9;
  parameters.memset.elementSize = 4;
  parameters.memset.width = 4;
  parameters.memset.height = 1;
  ASSERT_EQ(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(back, address, 16), CUDA_SUCCESS);
  EXPECT_EQ(back[3], 9U);
  EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

}  // namespace
}  // namespace halyard::testing
