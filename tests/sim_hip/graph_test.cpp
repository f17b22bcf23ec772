// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs and captures. Sources: files of ROCm/clr f9f995c hipamd/src, and, for HIP 7, of
// ROCm/rocm-systems projects/clr.
#include "sim_hip/test_util.h"

namespace halyard_test {
namespace {

class HipGraph : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(hipSetDevice(0), kOk);
    ASSERT_EQ(hipStreamCreateWithFlags(&stream_, 1), kOk);
    ASSERT_EQ(hipGraphCreate(&graph_, 0), kOk);
    words_ = device_memory<std::uint32_t>(64);
    ASSERT_EQ(hipMemsetD32(words_, 0, 64), kOk);
    ASSERT_EQ(hipDeviceSynchronize(), kOk);  // a memset may return before its end
  }
  void TearDown() override {
    if (exec_ != nullptr) {
      EXPECT_EQ(hipGraphExecDestroy(exec_), kOk);
    }
    EXPECT_EQ(hipGraphDestroy(graph_), kOk);
    EXPECT_EQ(hipFree(words_), kOk);
    EXPECT_EQ(hipStreamDestroy(stream_), kOk);
  }
  void instantiate() { ASSERT_EQ(hipGraphInstantiate(&exec_, graph_, nullptr, nullptr, 0), kOk); }
  void launch() {
    ASSERT_EQ(hipGraphLaunch(exec_, stream_), kOk);
    ASSERT_EQ(hipStreamSynchronize(stream_), kOk);
  }
  hipStream_t stream_ = nullptr;
  hipGraph_t graph_ = nullptr;
  hipGraphExec_t exec_ = nullptr;
  std::uint32_t* words_ = nullptr;
};

TEST_F(HipGraph, AnEmptyOneRuns) {
  instantiate();
  launch();
}

// hip_graph.cpp:1363
TEST_F(HipGraph, FlagsOfInstantiationAre0Or1Or8) {
  for (unsigned long long flags : {0, 1, 8}) {
    hipGraphExec_t exec = nullptr;
    ASSERT_EQ(hipGraphInstantiateWithFlags(&exec, graph_, flags), kOk);
    EXPECT_EQ(hipGraphExecDestroy(exec), kOk);
  }
  hipGraphExec_t exec = nullptr;
  EXPECT_EQ(hipGraphInstantiateWithFlags(&exec, graph_, 4), kInvalidValue);
  EXPECT_EQ(hipGraphInstantiateWithFlags(&exec, graph_, 9), kInvalidValue);
}

TEST_F(HipGraph, AKernelNodeIsUpdated) {
  hipModule_t module = nullptr;
  std::uint32_t value = 11, count = 64;
  void* parameters[] = {&words_, &value, &count};
  hipKernelNodeParams of{};
  of.func = load(module, "fill");
  of.gridDim = {2, 1, 1};
  of.blockDim = {32, 1, 1};
  of.kernelParams = parameters;
  hipGraphNode_t node = nullptr;
  ASSERT_EQ(hipGraphAddKernelNode(&node, graph_, nullptr, 0, &of), kOk);
  int type = -1;
  EXPECT_EQ(hipGraphNodeGetType(node, &type), kOk);
  EXPECT_EQ(type, 0);
  instantiate();
  launch();
  EXPECT_EQ(read(words_, 64)[63], 11u);
  value = 12;
  ASSERT_EQ(hipGraphExecKernelNodeSetParams(exec_, node, &of), kOk);
  launch();
  EXPECT_EQ(read(words_, 64)[63], 12u);
  hipKernelNodeParams back{};
  EXPECT_EQ(hipGraphKernelNodeGetParams(node, &back), kOk);
  EXPECT_EQ(back.func, of.func);
  EXPECT_EQ(*static_cast<std::uint32_t*>(back.kernelParams[1]), 11u);  // the node's, not the exec's
  EXPECT_EQ(hipModuleUnload(module), kOk);
}

// hip_graph.cpp:1192: a node keeps its kind, and the parameters only apply to nodes of this form
TEST_F(HipGraph, ACopyNodeKeepsItsKindAndItsForm) {
  std::uint32_t host[4] = {1, 2, 3, 4};
  hipGraphNode_t node = nullptr, box = nullptr;
  EXPECT_EQ(hipGraphAddMemcpyNode1D(&node, graph_, nullptr, 0, words_, host, 0, kHtoD),
            kInvalidValue);
  EXPECT_EQ(hipGraphAddMemcpyNode1D(&node, graph_, nullptr, 0, words_, words_, 4, kDtoD),
            kInvalidValue);
  ASSERT_EQ(hipGraphAddMemcpyNode1D(&node, graph_, nullptr, 0, words_, host, 16, kHtoD), kOk);
  if (is_since(600)) {
    HIP_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = 2;
    copy.srcDevice = words_;
    copy.dstDevice = words_ + 32;
    copy.WidthInBytes = 16;
    copy.Height = copy.Depth = 1;
    ASSERT_EQ(hipDrvGraphAddMemcpyNode(&box, graph_, &node, 1, &copy, nullptr), kOk);
  }
  instantiate();
  launch();
  EXPECT_EQ(read(words_, 4)[3], 4u);
  if (box != nullptr) {
    EXPECT_EQ(read(words_, 36)[35], 4u);
    EXPECT_EQ(hipGraphExecMemcpyNodeSetParams1D(exec_, box, words_ + 32, words_, 16, kDtoD),
              kInvalidValue);
  }
  EXPECT_EQ(hipGraphExecMemcpyNodeSetParams1D(exec_, node, words_ + 4, host, 16, kDefault),
            kInvalidValue);
  ASSERT_EQ(hipGraphExecMemcpyNodeSetParams1D(exec_, node, words_ + 4, host, 16, kHtoD), kOk);
  launch();
  EXPECT_EQ(read(words_, 8)[7], 4u);
}

TEST_F(HipGraph, AFillNodeHasElements) {
  hipMemsetParams fill{};
  fill.dst = words_;
  fill.elementSize = 2;
  fill.height = 1;
  fill.value = 0xabcd;
  fill.width = 4;
  hipGraphNode_t node = nullptr;
  ASSERT_EQ(hipGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill), kOk);
  hipMemsetParams wrong = fill;
  wrong.elementSize = 3;
  hipGraphNode_t other = nullptr;
  EXPECT_EQ(hipGraphAddMemsetNode(&other, graph_, nullptr, 0, &wrong), kInvalidValue);
  wrong = fill;
  wrong.height = 0;
  EXPECT_EQ(hipGraphAddMemsetNode(&other, graph_, nullptr, 0, &wrong), kInvalidValue);
  instantiate();
  launch();
  EXPECT_EQ(read(words_, 3)[1], 0xabcdabcdu);
  EXPECT_EQ(read(words_, 3)[2], 0u);
  fill.value = 0x11111111;  // as IREE does: an element four times
  fill.elementSize = 1;
  fill.width = 8;
  ASSERT_EQ(hipGraphExecMemsetNodeSetParams(exec_, node, &fill), kOk);
  launch();
  EXPECT_EQ(read(words_, 3)[1], 0x11111111u);
}

TEST_F(HipGraph, ACaptureBecomesNodes) {
  int status = -1;
  ASSERT_EQ(hipStreamBeginCapture(stream_, 0), kOk);
  EXPECT_EQ(hipStreamIsCapturing(stream_, &status), kOk);
  EXPECT_EQ(status, 1);
  ASSERT_EQ(hipMemsetD32Async(words_, 3, 8, stream_), kOk);
  ASSERT_EQ(hipMemcpyAsync(words_ + 8, words_, 32, kDtoD, stream_), kOk);
  hipGraph_t captured = nullptr;
  ASSERT_EQ(hipStreamEndCapture(stream_, &captured), kOk);
  std::size_t count = 0;
  EXPECT_EQ(hipGraphGetNodes(captured, nullptr, &count), kOk);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(read(words_, 16)[15], 0u);  // nothing ran
  ASSERT_EQ(hipGraphInstantiate(&exec_, captured, nullptr, nullptr, 0), kOk);
  launch();
  EXPECT_EQ(read(words_, 16)[15], 3u);
  EXPECT_EQ(hipGraphDestroy(captured), kOk);
}

// hip_internal.hpp, CHECK_STREAM_CAPTURE_SUPPORTED: refused, and the capture is invalidated
TEST_F(HipGraph, AnAllocationEndsACapture) {
  ASSERT_EQ(hipStreamBeginCapture(stream_, 0), kOk);
  void* memory = nullptr;
  EXPECT_EQ(hipMalloc(&memory, 16), kCaptureUnsupported);
  hipGraph_t captured = nullptr;
  EXPECT_EQ(hipStreamEndCapture(stream_, &captured), kCaptureInvalidated);
}

TEST_F(HipGraph, AnAllocationOfARelaxedThreadDoesNot) {
  ASSERT_EQ(hipStreamBeginCapture(stream_, 0), kOk);
  int mode = 2;
  ASSERT_EQ(hipThreadExchangeStreamCaptureMode(&mode), kOk);
  EXPECT_EQ(mode, 0);
  void* memory = nullptr;
  EXPECT_EQ(hipMalloc(&memory, 16), kOk);
  ASSERT_EQ(hipThreadExchangeStreamCaptureMode(&mode), kOk);
  hipGraph_t captured = nullptr;
  EXPECT_EQ(hipStreamEndCapture(stream_, &captured), kOk);
  EXPECT_EQ(hipGraphDestroy(captured), kOk);
  EXPECT_EQ(hipFree(memory), kOk);
}

// CHECK_STREAM_CAPTURING: applies to captures of any stream up to 6.x, and in HIP 7 only to those
// of streams that wait for the null stream
TEST_F(HipGraph, ACopyThatWaitsEndsEveryCaptureUpTo6) {
  ASSERT_EQ(hipStreamBeginCapture(stream_, 2), kOk);  // relaxed
  EXPECT_EQ(hipMemset(words_, 0, 4), is_since(700) ? kOk : kCaptureImplicit);
  hipGraph_t captured = nullptr;
  EXPECT_EQ(hipStreamEndCapture(stream_, &captured), is_since(700) ? kOk : kCaptureInvalidated);
  if (captured != nullptr) {
    EXPECT_EQ(hipGraphDestroy(captured), kOk);
  }
}

// The null stream would wait for a stream that is captured.
TEST_F(HipGraph, WorkOfTheNullStreamEndsTheCaptureOfABlockingStream) {
  hipStream_t blocking = nullptr;
  ASSERT_EQ(hipStreamCreate(&blocking), kOk);
  ASSERT_EQ(hipStreamBeginCapture(blocking, 2), kOk);
  EXPECT_EQ(hipMemsetD32Async(words_, 1, 1, nullptr), kCaptureImplicit);
  hipGraph_t captured = nullptr;
  EXPECT_EQ(hipStreamEndCapture(blocking, &captured), kCaptureInvalidated);
  EXPECT_EQ(hipStreamDestroy(blocking), kOk);
}

TEST_F(HipGraph, ADeviceIsNotAwaitedInACapture) {
  ASSERT_EQ(hipStreamBeginCapture(stream_, 2), kOk);
  EXPECT_EQ(hipDeviceSynchronize(), kCaptureUnsupported);
  hipGraph_t captured = nullptr;
  EXPECT_EQ(hipStreamEndCapture(stream_, &captured), kCaptureInvalidated);
}

// hip_stream.cpp, hipStreamDestroy
TEST_F(HipGraph, DestroyingAStreamEndsItsCapture) {
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), kOk);
  ASSERT_EQ(hipStreamBeginCapture(stream, 0), kOk);
  EXPECT_EQ(hipStreamDestroy(stream), kOk);
  void* memory = nullptr;
  EXPECT_EQ(hipMalloc(&memory, 16), kOk);  // unsafe in a capture
  EXPECT_EQ(hipFree(memory), kOk);
}

// hip_event.cpp: error 907, and the capture is invalidated
TEST_F(HipGraph, ACapturedEventIsNotAwaited) {
  hipEvent_t event = nullptr;
  ASSERT_EQ(hipEventCreateWithFlags(&event, 2), kOk);
  ASSERT_EQ(hipStreamBeginCapture(stream_, 0), kOk);
  ASSERT_EQ(hipEventRecord(event, stream_), kOk);
  EXPECT_EQ(hipEventQuery(event), kCapturedEvent);
  hipGraph_t captured = nullptr;
  EXPECT_EQ(hipStreamEndCapture(stream_, &captured), kCaptureInvalidated);
  EXPECT_EQ(hipEventDestroy(event), kOk);
}

// Captured since 7.0.2
TEST_F(HipGraph, AHostFunctionIsCapturedSince7) {
  ASSERT_EQ(hipStreamBeginCapture(stream_, 0), kOk);
  EXPECT_EQ(
      hipLaunchHostFunc(stream_, [](void*) {}, nullptr), is_since(701) ? kOk : kCaptureUnsupported);
  hipGraph_t captured = nullptr;
  EXPECT_EQ(hipStreamEndCapture(stream_, &captured), is_since(701) ? kOk : kCaptureInvalidated);
  if (captured != nullptr) {
    EXPECT_EQ(hipGraphDestroy(captured), kOk);
  }
}

}  // namespace
}  // namespace halyard_test
