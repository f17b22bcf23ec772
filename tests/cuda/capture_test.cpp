// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imported streams that their owner captures: a submission fails and names the capture, which stays
// valid, as do the device and its other queues.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/native_call.h"
#include "cuda/cuda_test_util.h"
#include "cuda/native_calls.h"
#include "drivers/cuda/api.h"
#include "drivers/stream/command_buffer.h"
#include "drivers/stream/context.h"
#include "drivers/stream/lane.h"
#include "hal/recording/command.h"
#include "halyard/hal/native.h"

namespace halyard::cuda {
namespace {

using ::testing::HasSubstr;

constexpr const char* kModes[] = {"cuda://0?completion_mode=flag",
                                  "cuda://0?completion_mode=host_callback",
                                  "cuda://0?completion_mode=event"};
// CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED
constexpr int kCaptureModes[] = {0, 2};

// Begins a capture before the first call of a site.
struct CaptureBeginner final : base::CallObserver {
  int before(const base::CallSite& called) noexcept override {
    const base::CallSite* expected = &called;
    if (site.compare_exchange_strong(expected, nullptr)) begin();
    return 0;
  }
  std::function<void()> begin;
  std::atomic<const base::CallSite*> site{nullptr};
};

class CudaCapture : public CudaTest {
 protected:
  CudaCapture() {
    find(begin_capture_, "cuStreamBeginCapture_v2");
    find(end_capture_, "cuStreamEndCapture");
    find(get_nodes_, "cuGraphGetNodes");
    find(create_stream_, "cuStreamCreate");
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemAlloc(&memory_, 4), CUDA_SUCCESS);
  }
  ~CudaCapture() override {
    (void)cuda.cuStreamSynchronize(stream);
    (void)cuda.cuStreamDestroy(stream);
    (void)cuda.cuMemFree(memory_);
    (void)cuda.cuCtxSetCurrent(nullptr);
    (void)cuda.cuDevicePrimaryCtxRelease(0);
  }

  // While an object exists, begins a capture before the first call of a function, as another thread
  // may at any time. Only one object may exist at a time. Threads may call the observer after its
  // object is destroyed, so the observer is static.
  class BeginsBefore {
   public:
    BeginsBefore(CudaCapture& test, std::string_view function) {
      const std::string name = "cuda." + std::string(function);
      const auto sites = base::call_sites();
      const auto site =
          std::ranges::find_if(sites, [&](const auto* it) { return it->name == name; });
      EXPECT_NE(site, sites.end()) << name;
      observer.begin = [&test] { EXPECT_EQ(test.begin_capture_(test.stream, 2), CUDA_SUCCESS); };
      observer.site = *site;
      base::observe_calls(&observer);
    }
    ~BeginsBefore() {
      base::observe_calls(nullptr);
      observer.site = nullptr;
    }
    BeginsBefore(const BeginsBefore&) = delete;
    BeginsBefore& operator=(const BeginsBefore&) = delete;

   private:
    static inline CaptureBeginner observer;
  };

  // The owner captures a single fill.
  void begin_capture(int mode, CUstream captured) {
    ASSERT_EQ(begin_capture_(captured, mode), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuMemsetD32Async(memory_, 1u, std::size_t{1}, captured), CUDA_SUCCESS);
  }
  void begin_capture(int mode) { begin_capture(mode, stream); }
  // Verifies that the capture is valid and contains only that fill.
  void end_capture(CUstream captured, std::size_t expected = 1) {
    CUgraph graph = nullptr;
    std::size_t nodes = 0;
    ASSERT_EQ(end_capture_(captured, &graph), CUDA_SUCCESS);
    EXPECT_EQ(get_nodes_(graph, nullptr, &nodes), CUDA_SUCCESS);
    EXPECT_EQ(nodes, expected);
    EXPECT_EQ(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
  }
  void end_capture() { end_capture(stream); }

  static void expect_captured(const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
    EXPECT_THAT(std::string(status.message()), HasSubstr("the stream is being captured"));
  }

  const Functions& cuda = library().functions();
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  int (*create_stream_)(CUstream*, unsigned) = nullptr;

 private:
  template <class F>
  static void find(F*& function, const char* name) {
    void* const handle = dlopen(HALYARD_SIM_CUDA_LIBRARY, RTLD_NOW);
    function = reinterpret_cast<F*>(dlsym(handle, name));
    ASSERT_NE(function, nullptr) << name;
  }

  int (*begin_capture_)(CUstream, int) = nullptr;
  int (*end_capture_)(CUstream, CUgraph*) = nullptr;
  int (*get_nodes_)(CUgraph, void**, std::size_t*) = nullptr;
  CUdeviceptr memory_ = 0;
};

TEST_F(CudaCapture, Submission_IntoACapturedStream_FailsAlone) {
  for (const char* const uri : kModes) {
    for (const int mode : kCaptureModes) {
      SCOPED_TRACE(uri);
      const hal::Device device = registry.open(uri).value();
      const hal::Queue theirs = hal::import_stream(device, stream, "theirs").value();
      const hal::Buffer x =
          device.allocate({.size = 256, .memory = hal::MemoryType::kHostVisible}).value();
      const hal::Buffer y = device.allocate({.size = 256}).value();
      const auto semaphore = [&] { return device.create_semaphore().value(); };
      const auto expect_failure = [&](auto&& submit) {
        const hal::Semaphore s = semaphore();
        check(submit(hal::SubmitInfo{.signal = {{s, 1}}}));
        expect_captured(s.wait(1, kForever));
      };
      begin_capture(mode);
      expect_failure([&](const hal::SubmitInfo& info) { return theirs.fill(x, 1, 4, info); });
      expect_failure([&](const hal::SubmitInfo& info) { return theirs.barrier(info); });
      expect_failure([&](const hal::SubmitInfo& info) { return theirs.copy(x, y, info); });
      expect_captured(hal::make_stream_wait(theirs, {}));
      CUevent event = nullptr;
      ASSERT_EQ(cuda.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
      expect_captured(hal::record_event(theirs, event, {}));
      // The device and its other queues continue to work.
      const hal::Semaphore s = semaphore();
      EXPECT_TRUE(device.status().ok()) << device.status().to_string();
      check(device.queue().fill(x, 2, 4, {.signal = {{s, 1}}}));
      check(s.wait(1, kForever));
      end_capture();
      // The queue itself continues to work once the capture has ended.
      check(theirs.fill(x, 3, 4, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
      check(s.wait(2, kForever));
      EXPECT_EQ(x.map().value().as<std::uint32_t>()[0], 3u);
      EXPECT_EQ(cuda.cuEventDestroy(event), CUDA_SUCCESS);
    }
  }
}

TEST_F(CudaCapture, EarlierWork_OfAStreamThatIsCapturedNow_EndsAndIsWaitedFor) {
  for (const char* const uri : kModes) {
    for (const int mode : kCaptureModes) {
      SCOPED_TRACE(uri);
      const hal::Device device = registry.open(uri).value();
      const hal::Queue theirs = hal::import_stream(device, stream).value();
      const hal::Queue other = device.create_queue({}).value();
      const hal::Buffer x =
          device.allocate({.size = 256, .memory = hal::MemoryType::kHostVisible}).value();
      const hal::Semaphore s = device.create_semaphore().value();
      const hal::Semaphore t = device.create_semaphore().value();
      {
        Gate gate(cuda, stream);
        check(theirs.fill(x, 1, 4, {.signal = {{s, 1}}}));
        check(theirs.fill(x, 2, 4, {.signal = {{s, 2}}}));
        begin_capture(mode);
        // Another lane waits natively, for a marker from before the capture.
        check(other.fill(x, 3, 4, {.wait = {{s, 2}}, .signal = {{t, 1}}}));
        EXPECT_EQ(s.wait(1, kNow).code(), StatusCode::kDeadlineExceeded);
      }
      check(s.wait(1, kForever));
      check(t.wait(1, kForever));
      check(theirs.wait_idle());
      EXPECT_EQ(x.map().value().as<std::uint32_t>()[0], 3u);
      end_capture();
    }
  }
}

// The commands, or the event after them, may then be part of the owner's graph.
TEST_F(CudaCapture, Submission_DuringWhichACaptureBegins_FailsAlone) {
  for (const char* const uri : kModes) {
    for (const char* const function : {"cuMemsetD32Async", "cuEventRecord"}) {
      SCOPED_TRACE(uri);
      const hal::Device device = registry.open(uri).value();
      const hal::Queue theirs = hal::import_stream(device, stream).value();
      const hal::Buffer x =
          device.allocate({.size = 256, .memory = hal::MemoryType::kHostVisible}).value();
      const hal::Buffer y = device.allocate({.size = 4}).value();
      const hal::Semaphore s = device.create_semaphore().value();
      const hal::Semaphore t = device.create_semaphore().value();
      {
        const BeginsBefore begins(*this, function);
        check(theirs.fill(x, 1, 4, {.signal = {{s, 1}}}));
      }
      expect_captured(s.wait(1, kForever));
      // Not into x: the failed fill may be in the stream and may still run.
      check(device.queue().fill(y, 2, 4, {.signal = {{t, 1}}}));
      check(t.wait(1, kForever));
      EXPECT_TRUE(device.status().ok()) << device.status().to_string();
      end_capture(stream, std::string_view(function) == "cuMemsetD32Async" ? 1 : 0);
      check(theirs.fill(x, 3, 4, {.wait = {{t, 1}}, .signal = {{t, 2}}}));
      check(t.wait(2, kForever));
      EXPECT_EQ(x.map().value().as<std::uint32_t>()[0], 3u);
      check(theirs.wait_idle());
    }
  }
}

// A recording of more commands than a lane takes at once is issued in parts.
TEST_F(CudaCapture, RestOfARecording_WhoseStreamIsCapturedMeanwhile_Fails) {
  const hal::Device device = registry.open("cuda://0?command_buffer_mode=stream").value();
  const hal::Queue theirs = hal::import_stream(device, stream).value();
  const std::uint32_t count = device.info().limits.max_in_flight + 100;
  const hal::Buffer x = device.allocate({.size = count}).value();
  const hal::Semaphore s = device.create_semaphore().value();
  hal::Recorder recorder(device);
  for (std::uint32_t i = 0; i < count; ++i) recorder.fill({x, i, 1}, 1, 1);
  const hal::CommandBuffer commands = recorder.finish().value();
  {
    Gate gate(cuda, stream);
    check(theirs.execute(commands, {.signal = {{s, 1}}}));
    begin_capture(0);
  }
  expect_captured(s.wait(1, kForever));
  check(theirs.wait_idle());
  EXPECT_TRUE(device.status().ok()) << device.status().to_string();
  end_capture();
  check(theirs.execute(commands, {}));
  check(theirs.wait_idle());
}

TEST_F(CudaCapture, Device_ThatClosesWhileItsStreamIsCaptured_LeavesTheCapture) {
  for (const char* const uri : kModes) {
    SCOPED_TRACE(uri);
    hal::DriverRegistry own;
    check(register_cuda_driver(own));
    {
      const hal::Device device = own.open(uri).value();
      const hal::Queue theirs = hal::import_stream(device, stream).value();
      const hal::Buffer x = device.allocate({.size = 4}).value();
      check(theirs.fill(x, 1, 4, {}));
      begin_capture(0);
    }
    check(own.shutdown(kForever));
    end_capture();
  }
}

// A blocking stream is captured. The legacy stream would wait for it.
TEST_F(CudaCapture, LegacyStream_WhileAStreamThatItWaitsForIsCaptured_FailsAlone) {
  const hal::Device device = registry.open("cuda://0").value();
  const hal::Queue theirs = hal::import_stream(device, reinterpret_cast<void*>(1)).value();
  const hal::Buffer x = device.allocate({.size = 4}).value();
  const hal::Semaphore s = device.create_semaphore().value();
  CUstream blocking = nullptr;
  ASSERT_EQ(create_stream_(&blocking, 0), CUDA_SUCCESS);
  begin_capture(2, blocking);
  check(theirs.fill(x, 1, 4, {.signal = {{s, 1}}}));
  expect_captured(s.wait(1, kForever));
  EXPECT_TRUE(device.status().ok()) << device.status().to_string();
  end_capture(blocking);
  EXPECT_EQ(cuda.cuStreamDestroy(blocking), CUDA_SUCCESS);
}

TEST_F(CudaCapture, Checks_OfASubmission_AreTwoCallsAndOfImportedStreamsOnly) {
  const hal::Device device = registry.open("cuda://0").value();
  const hal::Queue own = device.create_queue({}).value();
  const hal::Queue theirs = hal::import_stream(device, stream).value();
  const hal::Buffer x = device.allocate({.size = 4}).value();
  NativeCalls calls;
  check(own.fill(x, 1, 4, {}));
  check(own.wait_idle());
  EXPECT_EQ(calls.take("cuStreamIsCapturing"), 0);
  check(theirs.fill(x, 1, 4, {}));
  EXPECT_EQ(calls.count("cuStreamIsCapturing"), 2) << "before and after";
  EXPECT_EQ(calls.take("cuEventRecord"), 1);
  check(theirs.wait_idle());
  EXPECT_EQ(calls.count("cuStreamIsCapturing"), 0);
  EXPECT_EQ(calls.count("cuEventRecord"), 0) << "the marker is there";
}

// The engine may call these functions of a lane at any time.
TEST_F(CudaCapture, Lane_OnACapturedStream_DoesNotEndTheCapture) {
  using Lane = stream::Lane<CudaApi, stream::StreamCommands<CudaApi>>;
  const CudaApi api = CudaApi::of(cuda, library().devices()[0], false);
  const Ref<stream::ContextGuard<CudaApi>> guard =
      stream::ContextGuard<CudaApi>::create(api, 0).value();
  const timeline::Visit inside(*guard);
  const Status closed(StatusCode::kCancelled, "closed");
  const hal::Operation barrier;
  const auto issue = [&](Lane& lane, std::uint64_t sequence) {
    const timeline::Issue one{.operation = &barrier, .sequence = sequence, .want_marker = false};
    return lane.issue({&one, 1}, timeline::Doorbell::kRing);
  };
  {
    auto lane = std::make_unique<Lane>(api, stream::StreamCommands<CudaApi>(), guard.get(), 4);
    check(lane->open(stream));
    Gate gate(cuda, stream);
    EXPECT_EQ(issue(*lane, 1).count, 1u);
    begin_capture(0);
    const timeline::IssueResult refused = issue(*lane, 2);
    expect_captured(refused.status);
    EXPECT_EQ(refused.left, timeline::Left::kNothing);
    EXPECT_TRUE(lane->probe().ok());
    EXPECT_TRUE(lane->mark().ok());
    EXPECT_EQ(lane->poll().sequence, 0u);
    EXPECT_EQ(lane->abandon(closed, 0), timeline::Abandoned::kStopping);
    gate.open();
    while (lane->abandon({}, 0) == timeline::Abandoned::kStopping) base::spin_yield();
    EXPECT_EQ(lane->abandon({}, 0), timeline::Abandoned::kStopped);
    end_capture();
  }
  {
    // A marker that could not be recorded before the capture is recorded after it.
    auto lane = std::make_unique<Lane>(api, stream::StreamCommands<CudaApi>(), guard.get(), 4);
    check(lane->open(stream));
    {
      NativeCalls calls;
      calls.fail("cuEventRecord", CUDA_ERROR_OUT_OF_MEMORY, 1);
      EXPECT_EQ(issue(*lane, 1).count, 1u);
    }
    begin_capture(0);
    EXPECT_EQ(lane->mark().code(), StatusCode::kResourceExhausted);
    EXPECT_TRUE(lane->probe().ok());
    end_capture();
    EXPECT_TRUE(lane->mark().ok());
    while (lane->poll().sequence != 1) base::spin_yield();
    begin_capture(0);
    EXPECT_EQ(lane->abandon(closed, 0), timeline::Abandoned::kStopped);
    end_capture();
  }
}

}  // namespace
}  // namespace halyard::cuda
