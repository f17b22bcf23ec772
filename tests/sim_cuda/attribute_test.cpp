// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of streams, nodes and ranges, cooperative launches, and queries of nodes. Source:
// cuda.h of CUDA 13.0 at the function that a case names.
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sim_cuda/driver.h"

namespace halyard::testing::driver {
namespace {

using Value = std::array<std::uint64_t, 8>;  // CUlaunchAttributeValue
struct Location {
  int type, id;
};
struct PoolProperties {
  int type, handle_types;
  Location location;
  void* security;
  std::size_t max_size;
  unsigned short usage;
  unsigned char reserved[54];
};
struct AllocNode {
  PoolProperties pool;
  const Access* access;
  std::size_t access_count, size;
  Address address;
};

extern "C" {
int cuLaunchCooperativeKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, Handle, void**);
int cuStreamGetAttribute(Handle, int, Value*);
int cuStreamSetAttribute(Handle, int, const Value*);
int cuStreamCopyAttributes(Handle, Handle);
int cuStreamGetCtx_v2(Handle, Handle*, Handle*);
int cuGraphKernelNodeGetAttribute(Handle, int, Value*);
int cuGraphKernelNodeSetAttribute(Handle, int, const Value*);
int cuGraphKernelNodeCopyAttributes(Handle, Handle);
int cuGraphKernelNodeSetParams_v2(Handle, const KernelNode*);
int cuGraphDebugDotPrint(Handle, const char*, unsigned);
int cuGraphAddMemAllocNode(Handle*, Handle, const Handle*, std::size_t, AllocNode*);
int cuGraphMemAllocNodeGetParams(Handle, AllocNode*);
int cuGraphAddEventWaitNode(Handle*, Handle, const Handle*, std::size_t, Handle);
int cuGraphEventRecordNodeGetEvent(Handle, Handle*);
int cuGraphEventWaitNodeGetEvent(Handle, Handle*);
int cuMemAdvise(Address, std::size_t, int, int);
int cuMemPrefetchAsync(Address, std::size_t, int, Handle);
int cuMemRangeGetAttribute(void*, std::size_t, int, Address, std::size_t);
int cuMemRangeGetAttributes(void**, std::size_t*, int*, std::size_t, Address, std::size_t);
int cuCtxCreate(Handle*, unsigned, int);
}

constexpr int kCooperative = 2, kSynchronizationPolicy = 3, kPriority = 8, kMemSyncDomain = 10;
constexpr int kTooLarge = 720;

// Each block adds 1 to the word and waits until all of them have.
constexpr const char* kMeetPtx = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry meet(.param .u64 a)
{
  .reg .pred %p1;
  .reg .b32 %r<4>;
  .reg .b64 %rd1;
  ld.param.u64 %rd1, [a];
  mov.u32 %r1, %nctaid.x;
  atom.global.add.u32 %r2, [%rd1], 1;
WAIT:
  ld.volatile.global.u32 %r3, [%rd1];
  setp.lt.u32 %p1, %r3, %r1;
  @%p1 bra WAIT;
  ret;
}
)";

class SimCudaAttributes : public DriverTest {
 protected:
  Handle graph() {
    Handle made = nullptr;
    EXPECT_EQ(cuGraphCreate(&made, 0), kSuccess);
    return made;
  }
  Handle fill_node(Handle to, Address a, std::uint32_t value) {
    std::uint32_t count = 1;
    void* parameters[] = {&a, &value, &count};
    const KernelNode node{fill_function(), 1,       1,       1,      32, 1, 1, 0,
                          parameters,      nullptr, nullptr, nullptr};
    Handle made = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode_v2(&made, to, nullptr, 0, &node), kSuccess);
    return made;
  }
};

// cuLaunchCooperativeKernel: all blocks are resident at once, so that they may wait for each other;
// a grid that is too large returns CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE.
TEST_F(SimCudaAttributes, CooperativeLaunch_RunsAllBlocksAtOnce) {
  Handle module = nullptr, meet = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, kMeetPtx), kSuccess);
  ASSERT_EQ(cuModuleGetFunction(&meet, module, "meet"), kSuccess);
  Address a = words(1);
  void* parameters[] = {&a};
  const auto launch = [&](unsigned blocks) {
    return cuLaunchCooperativeKernel(meet, blocks, 1, 1, 1, 1, 1, 0, nullptr, parameters);
  };
  ASSERT_EQ(launch(6), kSuccess);
  ASSERT_EQ(cuCtxSynchronize(), kSuccess);
  EXPECT_EQ(read(a), 6U);
  EXPECT_EQ(launch(100'000), kTooLarge);
  int per_multiprocessor = 0, multiprocessors = 0, cooperative = 0;
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, meet, 1, 0), kSuccess);
  ASSERT_EQ(cuDeviceGetAttribute(&multiprocessors, 16, 0), kSuccess);
  ASSERT_EQ(cuDeviceGetAttribute(&cooperative, 95, 0), kSuccess);
  EXPECT_EQ(cooperative, 1);
  EXPECT_EQ(launch(static_cast<unsigned>(per_multiprocessor * multiprocessors) + 1), kTooLarge);
}

TEST_F(SimCudaAttributes, OfStreams_AreKeptAndCopied) {
  const Handle first = stream(), second = stream();
  Value value{};
  ASSERT_EQ(cuStreamGetAttribute(first, kSynchronizationPolicy, &value), kSuccess);
  value[0] = 3;  // the default is unspecified: here CU_SYNC_POLICY_AUTO, on an H200 0xffffffff
  ASSERT_EQ(cuStreamSetAttribute(first, kSynchronizationPolicy, &value), kSuccess);
  value[0] = static_cast<std::uint32_t>(-2);
  ASSERT_EQ(cuStreamSetAttribute(first, kPriority, &value), kSuccess);
  ASSERT_EQ(cuStreamCopyAttributes(second, first), kSuccess);
  ASSERT_EQ(cuStreamGetAttribute(second, kSynchronizationPolicy, &value), kSuccess);
  EXPECT_EQ(value[0], 3U);
  int priority = 0;
  ASSERT_EQ(cuStreamGetPriority(second, &priority), kSuccess);
  EXPECT_EQ(priority, -2);
  EXPECT_EQ(cuStreamSetAttribute(first, kCooperative, &value), kInvalidValue);
  Handle context = nullptr, green = first;
  EXPECT_EQ(cuStreamGetCtx_v2(first, &context, &green), kSuccess);
  EXPECT_EQ(context, context_);
  EXPECT_EQ(green, nullptr);
}

TEST_F(SimCudaAttributes, OfKernelNodes_OutliveNewParameters_AndAreCopied) {
  const Handle of = graph(), other = graph();
  Address a = words(1);
  const Handle node = fill_node(of, a, 1), twin = fill_node(other, a, 1);
  Value value{1};
  ASSERT_EQ(cuGraphKernelNodeSetAttribute(node, kCooperative, &value), kSuccess);
  ASSERT_EQ(cuGraphKernelNodeSetAttribute(node, kMemSyncDomain, &value), kSuccess);
  value[0] = 2;  // there are two domains
  EXPECT_EQ(cuGraphKernelNodeSetAttribute(node, kMemSyncDomain, &value), kInvalidValue);
  std::uint32_t word = 2, count = 1;
  void* parameters[] = {&a, &word, &count};
  const KernelNode changed{fill_function(), 1,       1,       1,      32, 1, 1, 0,
                           parameters,      nullptr, nullptr, nullptr};
  ASSERT_EQ(cuGraphKernelNodeSetParams_v2(node, &changed), kSuccess);
  ASSERT_EQ(cuGraphKernelNodeGetAttribute(node, kMemSyncDomain, &value), kSuccess);
  EXPECT_EQ(value[0], 1U);
  ASSERT_EQ(cuGraphKernelNodeGetAttribute(twin, kCooperative, &value), kSuccess);
  EXPECT_EQ(value[0], 0U);
  ASSERT_EQ(cuGraphKernelNodeCopyAttributes(twin, node), kSuccess);
  ASSERT_EQ(cuGraphKernelNodeGetAttribute(twin, kCooperative, &value), kSuccess);
  EXPECT_EQ(value[0], 1U);
  EXPECT_EQ(cuGraphKernelNodeSetAttribute(node, kSynchronizationPolicy, &value), kInvalidValue);
  Handle empty = nullptr;
  ASSERT_EQ(cuGraphAddEmptyNode(&empty, of, nullptr, 0), kSuccess);
  EXPECT_EQ(cuGraphKernelNodeSetAttribute(empty, kCooperative, &value), kInvalidValue);
}

TEST_F(SimCudaAttributes, DotPrint_HasNodesAndEdges) {
  const Handle of = graph();
  const Address a = words(1);
  const Handle first = fill_node(of, a, 1);
  Handle second = nullptr, child = graph(), inside = nullptr;
  ASSERT_EQ(cuGraphAddEmptyNode(&inside, child, nullptr, 0), kSuccess);
  ASSERT_EQ(cuGraphAddChildGraphNode(&second, of, &first, 1, child), kSuccess);
  const std::string path = ::testing::TempDir() + "sim_cuda_graph.dot";
  ASSERT_EQ(cuGraphDebugDotPrint(of, path.c_str(), 1), kSuccess);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  // The text around these parts differs between drivers.
  for (const char* part : {"digraph dot {", "KERNEL", "fill", "\" -> \"", "EMPTY", "cluster_1"}) {
    EXPECT_NE(text.str().find(part), std::string::npos) << part << " in\n" << text.str();
  }
  EXPECT_EQ(cuGraphDebugDotPrint(of, "/nonexistent/graph.dot", 0), 304);
}

TEST_F(SimCudaAttributes, Nodes_SayWhatTheyWereMadeFrom) {
  const Handle of = graph(), recorded = event(), awaited = event();
  Handle node = nullptr, found = nullptr;
  ASSERT_EQ(cuGraphAddEventRecordNode(&node, of, nullptr, 0, recorded), kSuccess);
  EXPECT_EQ(cuGraphEventRecordNodeGetEvent(node, &found), kSuccess);
  EXPECT_EQ(found, recorded);
  EXPECT_EQ(cuGraphEventWaitNodeGetEvent(node, &found), kInvalidValue);
  ASSERT_EQ(cuGraphAddEventWaitNode(&node, of, nullptr, 0, awaited), kSuccess);
  EXPECT_EQ(cuGraphEventWaitNodeGetEvent(node, &found), kSuccess);
  EXPECT_EQ(found, awaited);
  const Access access{1, 1, 3};
  AllocNode made{}, back{};
  made.pool.type = 1;
  made.pool.location = {1, 0};
  made.access = &access;
  made.access_count = 1;
  made.size = 4096;
  ASSERT_EQ(cuGraphAddMemAllocNode(&node, of, nullptr, 0, &made), kSuccess);
  ASSERT_EQ(cuGraphMemAllocNodeGetParams(node, &back), kSuccess);
  EXPECT_EQ(back.address, made.address);
  EXPECT_EQ(back.size, 4096U);
  EXPECT_EQ(back.pool.location.type, 1);
  ASSERT_EQ(back.access_count, 1U);
  EXPECT_EQ(back.access[0].device, 1);
}

// cuMemRangeGetAttribute: a result applies to the whole range, or is CU_DEVICE_INVALID.
TEST_F(SimCudaAttributes, OfRanges_HoldIfTheyHoldForAllOfThem) {
  constexpr int kInvalid = -2, kCpu = -1;
  Address a = 0;
  ASSERT_EQ(cuMemAllocManaged(&a, 65536, 1), kSuccess);
  const auto attribute = [&](int which, std::size_t size) {
    int value = 99;
    EXPECT_EQ(cuMemRangeGetAttribute(&value, 4, which, a, size), kSuccess);
    return value;
  };
  EXPECT_EQ(attribute(1, 65536), 0);
  EXPECT_EQ(attribute(2, 65536), kInvalid);
  ASSERT_EQ(cuMemAdvise(a, 32768, 1, 0), kSuccess);     // read mostly
  ASSERT_EQ(cuMemAdvise(a, 65536, 3, kCpu), kSuccess);  // preferred location
  EXPECT_EQ(attribute(1, 32768), 1);
  EXPECT_EQ(attribute(1, 65536), 0);
  EXPECT_EQ(attribute(2, 65536), kCpu);
  EXPECT_EQ(attribute(5, 65536), 2);  // CU_MEM_LOCATION_TYPE_HOST
  ASSERT_EQ(cuMemPrefetchAsync(a, 65536, 1, nullptr), kSuccess);
  ASSERT_EQ(cuMemPrefetchAsync(a + 4096, 4096, 0, nullptr), kSuccess);
  EXPECT_EQ(attribute(4, 4096), 1);
  EXPECT_EQ(attribute(4, 65536), kInvalid);
  ASSERT_EQ(cuMemAdvise(a, 65536, 5, 1), kSuccess);  // accessed by
  int devices[3] = {9, 9, 9}, mostly = 9;
  void* data[] = {devices, &mostly};
  std::size_t sizes[] = {sizeof devices, sizeof mostly};
  int which[] = {3, 1};
  ASSERT_EQ(cuMemRangeGetAttributes(data, sizes, which, 2, a, 65536), kSuccess);
  EXPECT_EQ(devices[0], 1);
  EXPECT_EQ(devices[1], kInvalid);
  EXPECT_EQ(mostly, 0);
  EXPECT_EQ(cuMemRangeGetAttribute(&mostly, 4, 1, words(1), 4), kInvalidValue);
  EXPECT_EQ(cuMemRangeGetAttribute(&mostly, 2, 1, a, 4), kInvalidValue);
}

TEST_F(SimCudaAttributes, FirstFormOfCtxCreate_MakesAContext) {
  Handle made = nullptr, current = nullptr;
  ASSERT_EQ(cuCtxCreate(&made, 0, 1), kSuccess);
  EXPECT_EQ(cuCtxGetCurrent(&current), kSuccess);
  EXPECT_EQ(current, made);
  EXPECT_EQ(cuCtxDestroy_v2(made), kSuccess);
}

}  // namespace
}  // namespace halyard::testing::driver
