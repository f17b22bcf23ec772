// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs and capture. Source: cuda.h of CUDA 13.0 at the function that a case names.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "sim_cuda/driver.h"

namespace halyard::testing::driver {
namespace {

class SimCudaGraph : public DriverTest {
 protected:
  Handle graph() {
    Handle made = nullptr;
    EXPECT_EQ(cuGraphCreate(&made, 0), kSuccess);
    return made;
  }
  Handle fill_node(Handle to, std::vector<Handle> after, Address a, unsigned value,
                   std::size_t width = 1, std::size_t height = 1) {
    const MemsetNode node{a, 64, value, 4, width, height};
    Handle made = nullptr;
    EXPECT_EQ(cuGraphAddMemsetNode(&made, to, after.data(), after.size(), &node, context_),
              kSuccess);
    return made;
  }
  Handle instantiate(Handle of) {
    Handle made = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&made, of, 0), kSuccess);
    return made;
  }
};

TEST_F(SimCudaGraph, RunsNodesAfterTheirDependencies) {
  const Handle of = graph(), in = stream();
  const Address a = words(1);
  Handle before = fill_node(of, {}, a, 1);
  for (unsigned i = 2; i < 20; ++i) before = fill_node(of, {before}, a, i);
  const Handle exec = instantiate(of);
  ASSERT_EQ(cuGraphLaunch(exec, in), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(read(a), 19U);
}

TEST_F(SimCudaGraph, KernelNode_TakesItsParametersWhenAdded) {
  const Handle of = graph(), in = stream(), function = fill_function();
  Address a = words(4);
  std::uint32_t value = 5, count = 4;
  void* parameters[] = {&a, &value, &count};
  KernelNode node{function, 1, 1, 1, 32, 1, 1, 0, parameters, nullptr, nullptr, nullptr};
  Handle made = nullptr;
  ASSERT_EQ(cuGraphAddKernelNode_v2(&made, of, nullptr, 0, &node), kSuccess);
  value = 6;
  const Handle exec = instantiate(of);
  ASSERT_EQ(cuGraphLaunch(exec, in), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(read(a + 12), 5U);
  ASSERT_EQ(cuGraphExecKernelNodeSetParams_v2(exec, made, &node), kSuccess);
  ASSERT_EQ(cuGraphLaunch(exec, in), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(read(a + 12), 6U);
}

// CUDA_KERNEL_NODE_PARAMS: the context "is ignored if func is set". tinygrad adds the nodes of all
// its devices to one graph that way, whichever context is current.
TEST_F(SimCudaGraph, KernelNode_RunsInTheContextOfItsFunction) {
  Handle other = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&other, 0, 1), kSuccess);
  const Handle there_function = fill_function();
  Address here = 0, there = words(4);
  std::uint32_t value = 5, count = 4;
  ASSERT_EQ(cuCtxSetCurrent(context_), kSuccess);
  here = words(4);
  void* of_there[] = {&there, &value, &count};
  void* of_here[] = {&here, &value, &count};
  KernelNode nodes[] = {
      {there_function, 1, 1, 1, 32, 1, 1, 0, of_there, nullptr, nullptr, nullptr},
      {fill_function(), 1, 1, 1, 32, 1, 1, 0, of_here, nullptr, nullptr, other}};
  const Handle of = graph(), in = stream();
  Handle made[2] = {};
  ASSERT_EQ(cuGraphAddKernelNode_v2(&made[0], of, nullptr, 0, &nodes[0]), kSuccess);
  ASSERT_EQ(cuGraphAddKernelNode_v2(&made[1], of, &made[0], 1, &nodes[1]), kSuccess);
  const Handle exec = instantiate(of);
  ASSERT_EQ(cuGraphLaunch(exec, in), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(read(here + 12), 5U);
  EXPECT_EQ(read(there + 12), 5U);
  value = 6;
  EXPECT_EQ(cuGraphExecKernelNodeSetParams_v2(exec, made[0], &nodes[0]), kSuccess);
  // The new function belongs to another context, but a node's context cannot change.
  EXPECT_EQ(cuGraphExecKernelNodeSetParams_v2(exec, made[0], &nodes[1]), kInvalidValue);
  // cuMemFree waits for the launch, which is in a stream of the other context.
  Gate gate;
  gate.hold(in);
  ASSERT_EQ(cuGraphLaunch(exec, in), kSuccess);
  std::thread opener([&] { gate.open(); });
  EXPECT_EQ(cuMemFree_v2(there), kSuccess);
  opener.join();
  EXPECT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(read(here + 12), 5U);
  EXPECT_EQ(cuCtxDestroy_v2(other), kSuccess);
}

// cuGraphLaunch: "Each launch is ordered behind both any previous work in hStream and any previous
// launches of hGraphExec."
TEST_F(SimCudaGraph, LaunchesOfOneExec_NeverOverlap) {
  const Handle of = graph(), first = stream(), second = stream();
  static std::atomic<int> runs;
  runs = 0;
  Gate gate;
  HostNode hold{&Gate::wait, &gate};
  HostNode count{[](void*) { ++runs; }, nullptr};
  Handle node = nullptr, after = nullptr;
  ASSERT_EQ(cuGraphAddHostNode(&node, of, nullptr, 0, &hold), kSuccess);
  ASSERT_EQ(cuGraphAddHostNode(&after, of, &node, 1, &count), kSuccess);
  const Handle exec = instantiate(of);
  ASSERT_EQ(cuGraphLaunch(exec, first), kSuccess);
  ASSERT_EQ(cuGraphLaunch(exec, second), kSuccess);
  // cuGraphExecDestroy: "the graph can be destroyed while executing"
  EXPECT_EQ(cuGraphExecDestroy(exec), kSuccess);
  EXPECT_EQ(cuStreamQuery(second), kNotReady);
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(second), kSuccess);
  EXPECT_EQ(cuStreamQuery(first), kSuccess);
  EXPECT_EQ(runs, 2);
}

// cuGraphExecUpdate: nodes are replaced by those of a graph of the same shape.
TEST_F(SimCudaGraph, Update_ReplacesParametersOfTheSameShape) {
  const Handle of = graph(), in = stream();
  const Address a = words(2);
  fill_node(of, {fill_node(of, {}, a, 1)}, a + 4, 2);
  const Handle exec = instantiate(of);
  const Handle same = graph();
  fill_node(same, {fill_node(same, {}, a, 3)}, a + 4, 4);
  UpdateInfo info{};
  ASSERT_EQ(cuGraphExecUpdate_v2(exec, same, &info), kSuccess);
  ASSERT_EQ(cuGraphLaunch(exec, in), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(read(a + 4), 4U);
  const Handle other = graph();
  fill_node(other, {}, a, 3);
  fill_node(other, {}, a + 4, 4);
  EXPECT_EQ(cuGraphExecUpdate_v2(exec, other, &info), kUpdateFailure);
  EXPECT_EQ(info.result, 2);            // the topology
  EXPECT_NE(info.error_node, nullptr);  // an H200 names the other node
}

// cuGraphExecMemsetNodeSetParams and cuGraphExecUpdate: a 2-D memset may only change its
// destination and value, but not its context.
TEST_F(SimCudaGraph, Memset_KeepsItsTwoDimensions) {
  const Handle of = graph();
  const Address a = words(64);
  const Handle flat = fill_node(of, {}, a, 1), deep = fill_node(of, {}, a, 1, 4, 2);
  const Handle exec = instantiate(of);
  const MemsetNode wider{a, 64, 2, 4, 8, 1}, taller{a, 64, 2, 4, 4, 3},
      moved{a + 64, 64, 2, 4, 4, 2};
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(exec, flat, &wider, context_), kSuccess);
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(exec, deep, &taller, context_), kInvalidValue);
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(exec, deep, &moved, context_), kSuccess);
  Handle other = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&other, 0, 1), kSuccess);
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(exec, flat, &wider, other), kInvalidValue);
  EXPECT_EQ(cuCtxDestroy_v2(other), kSuccess);
}

// CUDA_MEMSET_NODE_PARAMS: "Size of each element in bytes. Must be 1, 2, or 4."
TEST_F(SimCudaGraph, Memset_HasElementsOf1And2And4Bytes) {
  const Handle of = graph();
  Handle made = nullptr;
  const MemsetNode eight{words(2), 8, 0, 8, 1, 1}, unaligned{words(2) + 2, 8, 0, 4, 1, 1};
  EXPECT_EQ(cuGraphAddMemsetNode(&made, of, nullptr, 0, &eight, context_), kInvalidValue);
  EXPECT_EQ(cuGraphAddMemsetNode(&made, of, nullptr, 0, &unaligned, context_), kInvalidValue);
}

// CUDA_MEMSET_NODE_PARAMS does not define the effect of a value that exceeds its element. An H200
// puts the value at each byte of a word.
TEST_F(SimCudaGraph, Memset_OfAValueBeyondItsElement_WritesAllOfIt) {
  const Handle of = graph(), in = stream();
  const Address a = words(1);
  Handle made = nullptr;
  const MemsetNode node{a, 4, 0xa1b2c3d4, 1, 4, 1};
  ASSERT_EQ(cuGraphAddMemsetNode(&made, of, nullptr, 0, &node, context_), kSuccess);
  ASSERT_EQ(cuGraphLaunch(instantiate(of), in), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(read(a), 0xf7f7d7d4);
}

TEST_F(SimCudaGraph, Cycle_IsNotInstantiated) {
  const Handle of = graph();
  const Address a = words(1);
  const Handle first = fill_node(of, {}, a, 1), second = fill_node(of, {first}, a, 2);
  ASSERT_EQ(cuGraphAddDependencies(of, &second, &first, 1), kSuccess);
  Handle exec = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, of, 0), kInvalidValue);
}

TEST_F(SimCudaGraph, DisabledNode_DoesNothing_AndChildGraphRuns) {
  const Handle child = graph(), of = graph(), in = stream();
  const Address a = words(2);
  fill_node(child, {}, a, 7);
  Handle node = nullptr;
  ASSERT_EQ(cuGraphAddChildGraphNode(&node, of, nullptr, 0, child), kSuccess);
  const Handle off = fill_node(of, {node}, a + 4, 8);
  const Handle exec = instantiate(of);
  ASSERT_EQ(cuGraphNodeSetEnabled(exec, off, 0), kSuccess);
  ASSERT_EQ(cuGraphLaunch(exec, in), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(read(a), 7U);
  EXPECT_EQ(read(a + 4), 0U);
}

TEST_F(SimCudaGraph, Capture_FollowsEventsIntoOtherStreams) {
  const Handle origin = stream(), side = stream(), fork = event(), join = event();
  const Address a = words(3);
  ASSERT_EQ(cuStreamBeginCapture_v2(origin, 1), kSuccess);
  ASSERT_EQ(cuMemsetD32Async(a, 1, 1, origin), kSuccess);
  ASSERT_EQ(cuEventRecord(fork, origin), kSuccess);
  ASSERT_EQ(cuStreamWaitEvent(side, fork, 0), kSuccess);
  ASSERT_EQ(cuMemsetD32Async(a + 4, 2, 1, side), kSuccess);
  ASSERT_EQ(cuEventRecord(join, side), kSuccess);
  ASSERT_EQ(cuStreamWaitEvent(origin, join, 0), kSuccess);
  ASSERT_EQ(cuMemsetD32Async(a + 8, 3, 1, origin), kSuccess);
  Handle captured = nullptr;
  ASSERT_EQ(cuStreamEndCapture(origin, &captured), kSuccess);
  std::size_t nodes = 0, edges = 0;
  EXPECT_EQ(cuGraphGetNodes(captured, nullptr, &nodes), kSuccess);
  EXPECT_EQ(cuGraphGetEdges(captured, nullptr, nullptr, &edges), kSuccess);
  EXPECT_EQ(nodes, 3U);
  EXPECT_EQ(edges, 3U);  // 1 -> 2, 2 -> 3, and 1 -> 3
  EXPECT_EQ(read(a), 0U);
  ASSERT_EQ(cuGraphLaunch(instantiate(captured), origin), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(origin), kSuccess);
  EXPECT_EQ(read(a + 4), 2U);
}

// CUDA_ERROR_STREAM_CAPTURE_*: unjoined work, a wait for an event outside, use of the NULL stream.
TEST_F(SimCudaGraph, Capture_NamesItsErrors) {
  const Handle origin = stream(0), side = stream(), outside = event(), fork = event();
  const Address a = words(1);
  Handle captured = nullptr;
  ASSERT_EQ(cuStreamBeginCapture_v2(origin, 2), kSuccess);
  ASSERT_EQ(cuEventRecord(fork, origin), kSuccess);
  ASSERT_EQ(cuStreamWaitEvent(side, fork, 0), kSuccess);
  ASSERT_EQ(cuMemsetD32Async(a, 2, 1, side), kSuccess);
  EXPECT_EQ(cuStreamEndCapture(origin, &captured), kCaptureUnjoined);
  ASSERT_EQ(cuEventRecord(outside, side), kSuccess);
  ASSERT_EQ(cuStreamBeginCapture_v2(origin, 2), kSuccess);
  EXPECT_EQ(cuStreamWaitEvent(origin, outside, 0), kCaptureIsolation);
  EXPECT_EQ(cuStreamEndCapture(origin, &captured), kCaptureInvalidated);
  ASSERT_EQ(cuStreamBeginCapture_v2(origin, 2), kSuccess);
  EXPECT_EQ(cuMemsetD32Async(a, 1, 1, nullptr), kCaptureImplicit);
  EXPECT_EQ(cuStreamEndCapture(origin, &captured), kCaptureInvalidated);
  EXPECT_EQ(captured, nullptr);
  // The last two errors are as observed on an H200.
  ASSERT_EQ(cuStreamBeginCapture_v2(origin, 2), kSuccess);
  ASSERT_EQ(cuEventRecord(fork, origin), kSuccess);
  EXPECT_EQ(cuEventQuery(fork), kCapturedEvent);
  EXPECT_EQ(cuStreamWaitEvent(origin, fork, 0), kCaptureInvalidated);
  EXPECT_EQ(cuStreamEndCapture(origin, &captured), kCaptureInvalidated);
  ASSERT_EQ(cuStreamBeginCapture_v2(origin, 2), kSuccess);
  EXPECT_EQ(cuGraphLaunch(instantiate(graph()), origin), kCaptureUnsupported);
  EXPECT_EQ(cuStreamEndCapture(origin, &captured), kCaptureInvalidated);
}

// cuThreadExchangeStreamCaptureMode: while any thread captures in the global mode, other threads'
// potentially unsafe calls are prohibited unless they are in the relaxed mode. On an H200 such a
// call also ends the capture.
TEST_F(SimCudaGraph, GlobalCapture_ProhibitsUnsafeCallsOfOthers) {
  const Handle origin = stream(), other = stream(), earlier = event(), empty = graph();
  ASSERT_EQ(cuStreamBeginCapture_v2(origin, 0), kSuccess);
  std::thread([&] {
    Address a = 0;
    EXPECT_EQ(cuCtxSetCurrent(context_), kSuccess);
    EXPECT_EQ(cuMemAlloc_v2(&a, 4), kCaptureUnsupported);
    EXPECT_EQ(cuEventQuery(earlier), kCaptureUnsupported);
    EXPECT_EQ(cuEventSynchronize(earlier), kCaptureUnsupported);
    EXPECT_EQ(cuStreamQuery(other), kCaptureUnsupported);
    EXPECT_EQ(cuMemAllocAsync(&a, 4, other), kCaptureUnsupported);
    Handle exec = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, empty, 0), kCaptureUnsupported);
    int mode = 2;
    EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), kSuccess);
    EXPECT_EQ(mode, 0);
    EXPECT_EQ(cuMemAlloc_v2(&a, 4), kSuccess);
    EXPECT_EQ(cuEventQuery(earlier), kSuccess);
    EXPECT_EQ(cuEventSynchronize(earlier), kSuccess);
    EXPECT_EQ(cuStreamQuery(other), kSuccess);
    EXPECT_EQ(cuMemAllocAsync(&a, 4, other), kSuccess);
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, empty, 0), kSuccess);
  }).join();
  Handle captured = nullptr;
  EXPECT_EQ(cuStreamEndCapture(origin, &captured), kCaptureInvalidated);
}

// cuMemAllocAsync in a capture: an allocation node, whose address is known when it is made.
TEST_F(SimCudaGraph, Capture_TakesAllocations) {
  const Handle in = stream();
  const Address kept = words(1);
  ASSERT_EQ(cuStreamBeginCapture_v2(in, 2), kSuccess);
  Address a = 0;
  ASSERT_EQ(cuMemAllocAsync(&a, 64, in), kSuccess);
  ASSERT_EQ(cuMemsetD32Async(a, 6, 16, in), kSuccess);
  ASSERT_EQ(cuMemcpyDtoDAsync_v2(kept, a, 4, in), kSuccess);
  ASSERT_EQ(cuMemFreeAsync(a, in), kSuccess);
  Handle captured = nullptr;
  ASSERT_EQ(cuStreamEndCapture(in, &captured), kSuccess);
  std::vector<int> types;
  Handle nodes[4] = {};
  std::size_t count = 4;
  ASSERT_EQ(cuGraphGetNodes(captured, nodes, &count), kSuccess);
  for (std::size_t i = 0; i < count; ++i) cuGraphNodeGetType(nodes[i], &types.emplace_back());
  EXPECT_EQ(types, (std::vector<int>{10, 2, 1, 11}));
  const Handle exec = instantiate(captured);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(cuGraphLaunch(exec, in), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(read(kept), 6U);
}

// A graph that allocates 64 bytes, which it does not free, and writes 5 to each word.
struct Allocating {
  Handle graph = nullptr, exec = nullptr;
  Address memory = 0;
};
Allocating capture_allocation(Handle in, unsigned long long flags) {
  Allocating made;
  EXPECT_EQ(cuStreamBeginCapture_v2(in, 2), kSuccess);
  EXPECT_EQ(cuMemAllocAsync(&made.memory, 64, in), kSuccess);
  EXPECT_EQ(cuMemsetD32Async(made.memory, 5, 16, in), kSuccess);
  EXPECT_EQ(cuStreamEndCapture(in, &made.graph), kSuccess);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&made.exec, made.graph, flags), kSuccess);
  return made;
}

// cuGraphLaunch: "If any allocations created by hGraphExec remain unfreed (from a previous launch)
// ... the launch will fail with CUDA_ERROR_INVALID_VALUE". cuGraphAddMemAllocNode: "The allocation's
// address remains fixed across instantiations and launches."
TEST_F(SimCudaGraph, AllocationNode_IsLaunchedAgainAfterTheFree) {
  const Handle in = stream();
  const Allocating of = capture_allocation(in, 0);
  for (const bool is_ordered : {true, false, true}) {
    ASSERT_EQ(cuGraphLaunch(of.exec, in), kSuccess);
    EXPECT_EQ(cuGraphLaunch(of.exec, in), kInvalidValue);
    ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
    EXPECT_EQ(read(of.memory + 36), 5U);
    EXPECT_EQ(cuMemsetD32Async(of.memory, 6, 16, in), kSuccess);
    ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
    EXPECT_EQ(is_ordered ? cuMemFreeAsync(of.memory, in) : cuMemFree_v2(of.memory), kSuccess);
    EXPECT_EQ(cuMemFree_v2(of.memory), kInvalidValue);
    EXPECT_EQ(cuMemFreeAsync(of.memory, in), kInvalidValue);
  }
  EXPECT_EQ(cuStreamSynchronize(in), kSuccess);
}

// CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH: "each launch behave[s] as though it called
// cuMemFreeAsync for every unfreed allocation".
TEST_F(SimCudaGraph, AllocationNode_IsFreedByTheNextLaunch_IfTheFlagSaysSo) {
  const Handle in = stream();
  const Allocating of = capture_allocation(in, 1);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(cuGraphLaunch(of.exec, in), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(read(of.memory), 5U);
  EXPECT_EQ(cuMemFree_v2(of.memory), kSuccess);
  EXPECT_EQ(cuGraphLaunch(of.exec, in), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(in), kSuccess);
}

// cuGraphAddMemAllocNode: freed by "launching a graph with a free node for that allocation". It is
// not freed in the same graph, so the program owns it beyond the end of that graph.
TEST_F(SimCudaGraph, AllocationNode_IsFreedByAnotherGraph_AndOutlivesItsOwn) {
  const Handle in = stream();
  const Allocating of = capture_allocation(in, 0);
  ASSERT_EQ(cuStreamBeginCapture_v2(in, 2), kSuccess);
  ASSERT_EQ(cuMemFreeAsync(of.memory, in), kSuccess);
  EXPECT_EQ(cuMemFreeAsync(of.memory, in), kInvalidValue);
  Handle freeing = nullptr;
  ASSERT_EQ(cuStreamEndCapture(in, &freeing), kSuccess);
  const Handle frees = instantiate(freeing);
  EXPECT_EQ(cuGraphLaunch(frees, in), kInvalidValue);  // nothing is allocated yet
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(cuGraphLaunch(of.exec, in), kSuccess);
    ASSERT_EQ(cuGraphLaunch(frees, in), kSuccess);
    EXPECT_EQ(cuMemFree_v2(of.memory), kInvalidValue);
  }
  ASSERT_EQ(cuGraphLaunch(of.exec, in), kSuccess);
  for (const Handle exec : {of.exec, frees}) EXPECT_EQ(cuGraphExecDestroy(exec), kSuccess);
  for (const Handle each : {of.graph, freeing}) EXPECT_EQ(cuGraphDestroy(each), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(read(of.memory), 5U);
  EXPECT_EQ(cuMemFree_v2(of.memory), kSuccess);
  EXPECT_EQ(cuMemFree_v2(of.memory), kInvalidValue);
}

// cuMemFreeAsync: in a capture it "must ... be passed the address of a graph allocation".
TEST_F(SimCudaGraph, FreeNode_TakesMemoryOfAllocationNodesOnly) {
  const Handle in = stream(), of = graph();
  Address pooled = 0;
  ASSERT_EQ(cuMemAllocAsync(&pooled, 64, in), kSuccess);
  Handle node = nullptr, captured = nullptr;
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, of, nullptr, 0, pooled), kInvalidValue);
  ASSERT_EQ(cuStreamBeginCapture_v2(in, 2), kSuccess);
  EXPECT_EQ(cuMemFreeAsync(pooled, in), kInvalidValue);
  EXPECT_EQ(cuStreamEndCapture(in, &captured), kSuccess);
  EXPECT_EQ(cuMemFreeAsync(pooled, in), kSuccess);
}

// Counts the ends of user objects, whose destructors run on a thread of the driver.
struct Ends {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;

  static void add(void* self) {
    Ends& ends = *static_cast<Ends*>(self);
    const std::lock_guard lock(ends.mutex);
    ++ends.count;
    ends.changed.notify_all();
  }
  int now() {
    const std::lock_guard lock(mutex);
    return count;
  }
  void await(int wanted) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return count >= wanted; });
  }
};

// cuUserObjectCreate, cuGraphRetainUserObject: the object ends with its last reference, whether the
// program's, a graph's, an executable graph's or that of a launch in flight. cuda-core uses this to
// keep the resources of its graphs alive.
TEST_F(SimCudaGraph, UserObject_EndsWithItsLastReference) {
  static Ends ends;
  const Handle of = graph(), in = stream();
  Handle object = nullptr, copy = nullptr;
  EXPECT_EQ(cuUserObjectCreate(&object, &ends, &Ends::add, 0, 1), kInvalidValue);
  EXPECT_EQ(cuUserObjectCreate(&object, &ends, &Ends::add, 1, 0), kInvalidValue);
  ASSERT_EQ(cuUserObjectCreate(&object, &ends, &Ends::add, 1, 1), kSuccess);
  EXPECT_EQ(cuUserObjectRetain(object, 2), kSuccess);
  EXPECT_EQ(cuGraphRetainUserObject(of, object, 2, 0), kSuccess);
  EXPECT_EQ(cuGraphReleaseUserObject(of, object, 3), kInvalidValue);
  EXPECT_EQ(cuGraphReleaseUserObject(of, object, 1), kSuccess);
  EXPECT_EQ(cuUserObjectRelease(object, 4), kInvalidValue);
  EXPECT_EQ(cuUserObjectRelease(object, 3), kSuccess);
  Gate gate;
  HostNode hold{&Gate::wait, &gate};
  Handle node = nullptr;
  ASSERT_EQ(cuGraphAddHostNode(&node, of, nullptr, 0, &hold), kSuccess);
  const Handle exec = instantiate(of);
  ASSERT_EQ(cuGraphClone(&copy, of), kSuccess);
  EXPECT_EQ(cuGraphDestroy(of), kSuccess);
  EXPECT_EQ(cuGraphDestroy(copy), kSuccess);
  ASSERT_EQ(cuGraphLaunch(exec, in), kSuccess);
  EXPECT_EQ(cuGraphExecDestroy(exec), kSuccess);
  EXPECT_EQ(ends.now(), 0);
  gate.open();
  ends.await(1);

  // Moved from the program: the graph has the only reference.
  const Handle second = graph();
  ASSERT_EQ(cuUserObjectCreate(&object, &ends, &Ends::add, 1, 1), kSuccess);
  EXPECT_EQ(cuGraphRetainUserObject(second, object, 1, 1), kSuccess);
  EXPECT_EQ(ends.now(), 1);
  EXPECT_EQ(cuGraphDestroy(second), kSuccess);
  ends.await(2);
  EXPECT_EQ(cuStreamSynchronize(in), kSuccess);
}

}  // namespace
}  // namespace halyard::testing::driver
