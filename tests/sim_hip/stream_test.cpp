// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams, events and host functions. Sources: files of ROCm/clr f9f995c hipamd/src, and of
// ROCm/rocm-systems projects/clr where HIP 7 is said.
#include <atomic>

#include "sim_hip/test_util.h"

namespace halyard_test {
namespace {

class HipStream : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(hipSetDevice(0), kOk);
    ASSERT_EQ(hipStreamCreateWithFlags(&stream_, 1), kOk);
    ASSERT_EQ(hipStreamCreateWithFlags(&other_, 1), kOk);
    ASSERT_EQ(hipEventCreateWithFlags(&event_, 2), kOk);
  }
  void TearDown() override {
    EXPECT_EQ(hipEventDestroy(event_), kOk);
    if (stream_ != nullptr) {
      EXPECT_EQ(hipStreamDestroy(stream_), kOk);
    }
    EXPECT_EQ(hipStreamDestroy(other_), kOk);
  }
  hipStream_t stream_ = nullptr, other_ = nullptr;
  hipEvent_t event_ = nullptr;
};

TEST_F(HipStream, FlagsAndPrioritiesAreChecked) {
  hipStream_t stream = nullptr;
  EXPECT_EQ(hipStreamCreateWithPriority(&stream, 2, 0), kInvalidValue);
  ASSERT_EQ(hipStreamCreateWithPriority(&stream, 1, -100), kOk);
  int priority = 5;
  unsigned flags = 5;
  EXPECT_EQ(hipStreamGetPriority(stream, &priority), kOk);
  EXPECT_EQ(priority, -1);  // clamped
  EXPECT_EQ(hipStreamGetFlags(stream, &flags), kOk);
  EXPECT_EQ(flags, 1u);
  EXPECT_EQ(hipStreamGetFlags(nullptr, &flags), kInvalidValue);
  EXPECT_EQ(hipStreamDestroy(stream), kOk);
}

// hip_stream.cpp:796
TEST_F(HipStream, KnowsItsDevice) {
  ASSERT_EQ(hipSetDevice(1), kOk);
  int device = -1;
  EXPECT_EQ(hipStreamGetDevice(stream_, &device), kOk);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(hipStreamGetDevice(nullptr, &device), kOk);
  EXPECT_EQ(device, 1);  // null: the current device
  ASSERT_EQ(hipSetDevice(0), kOk);
}

// hip::isValid: up to 6.x hipErrorContextIsDestroyed, which is not a lost device. HIP 7 ends the
// process there; the simulation says what was wrong.
TEST_F(HipStream, ADestroyedStreamIsADestroyedContextUpTo6) {
  const int expected = is_since(700) ? kInvalidHandle : kContextIsDestroyed;
  hipStream_t dead = nullptr;
  ASSERT_EQ(hipStreamCreate(&dead), kOk);
  ASSERT_EQ(hipStreamDestroy(dead), kOk);
  int device = 0;
  EXPECT_EQ(hipStreamQuery(dead), expected);
  EXPECT_EQ(hipStreamSynchronize(dead), expected);
  EXPECT_EQ(hipStreamGetDevice(dead, &device), expected);
  EXPECT_EQ(hipEventRecord(event_, dead), expected);
  // hip_stream.cpp:448, hip_mempool.cpp:88
  EXPECT_EQ(hipStreamWaitEvent(dead, event_, 0), kInvalidHandle);
  void* memory = nullptr;
  EXPECT_EQ(hipMallocAsync(&memory, 16, dead), kInvalidHandle);
  EXPECT_EQ(hipStreamDestroy(nullptr), kInvalidHandle);
}

// hip_event.cpp: 709 in all versions, because the set of all events is searched
TEST_F(HipStream, ADestroyedEventIsADestroyedContext) {
  hipEvent_t dead = nullptr;
  ASSERT_EQ(hipEventCreate(&dead), kOk);
  ASSERT_EQ(hipEventDestroy(dead), kOk);
  EXPECT_EQ(hipEventDestroy(dead), kContextIsDestroyed);
  EXPECT_EQ(hipEventDestroy(nullptr), kInvalidHandle);
}

// hip_event.cpp:56,68
TEST_F(HipStream, AnEventWithoutARecordIsComplete) {
  EXPECT_EQ(hipEventQuery(event_), kOk);
  EXPECT_EQ(hipEventSynchronize(event_), kOk);
}

// hip_event.cpp, ihipEventCreateWithFlags
TEST_F(HipStream, EventFlagsAreChecked) {
  hipEvent_t event = nullptr;
  EXPECT_EQ(hipEventCreateWithFlags(&event, 8), kInvalidValue);
  EXPECT_EQ(hipEventCreateWithFlags(&event, 0xc0000000), kInvalidValue);  // two releases
  EXPECT_EQ(hipEventCreateWithFlags(&event, 4), kInvalidValue);  // interprocess with timing
  ASSERT_EQ(hipEventCreateWithFlags(&event, 0x20000002), kOk);
  EXPECT_EQ(hipEventDestroy(event), kOk);
}

// hip_event.cpp:175-270: earlier waits keep the old command.
TEST_F(HipStream, AWaitKeepsTheRecordThatItSaw) {
  ASSERT_EQ(hipEventRecord(event_, other_), kOk);
  ASSERT_EQ(hipStreamWaitEvent(stream_, event_, 0), kOk);
  Gate gate;
  gate.hold(other_);
  ASSERT_EQ(hipEventRecord(event_, other_), kOk);
  EXPECT_EQ(hipStreamSynchronize(stream_), kOk);
  EXPECT_EQ(hipEventQuery(event_), kNotReady);
  gate.open();
  EXPECT_EQ(hipEventSynchronize(event_), kOk);
}

// hip_stream.cpp:446, "meaning the event has been completed"
TEST_F(HipStream, AWaitForAnEventOfADestroyedStreamDoesNotWait) {
  Gate gate;
  gate.hold(stream_);
  ASSERT_EQ(hipEventRecord(event_, stream_), kOk);
  ASSERT_EQ(hipStreamDestroy(stream_), kOk);
  stream_ = nullptr;
  EXPECT_EQ(hipStreamWaitEvent(other_, event_, 0), kOk);
  EXPECT_EQ(hipStreamSynchronize(other_), kOk);
  EXPECT_EQ(hipEventQuery(event_), kNotReady);
  gate.open();
  EXPECT_EQ(hipEventSynchronize(event_), kOk);
}

// hip_event.cpp: the device that was current at the event's creation
TEST_F(HipStream, AnEventIsOfTheDeviceOfItsCreation) {
  ASSERT_EQ(hipSetDevice(1), kOk);
  hipEvent_t event = nullptr;
  ASSERT_EQ(hipEventCreate(&event), kOk);
  ASSERT_EQ(hipSetDevice(0), kOk);
  EXPECT_EQ(hipEventRecord(event, stream_), kInvalidHandle);
  EXPECT_EQ(hipEventDestroy(event), kOk);
}

TEST_F(HipStream, TimesAreOfTwoRecordsWithTiming) {
  hipEvent_t first = nullptr, second = nullptr;
  float milliseconds = -1;
  ASSERT_EQ(hipEventCreate(&first), kOk);
  ASSERT_EQ(hipEventCreate(&second), kOk);
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, first, second), kInvalidHandle);  // no record
  ASSERT_EQ(hipEventRecord(first, stream_), kOk);
  ASSERT_EQ(hipEventRecord(event_, stream_), kOk);
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, first, event_), kInvalidHandle);  // no timing
  Gate gate;
  gate.hold(stream_);
  ASSERT_EQ(hipEventRecord(second, stream_), kOk);
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, first, second), kNotReady);
  gate.open();
  ASSERT_EQ(hipEventSynchronize(second), kOk);
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, first, second), kOk);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(hipEventDestroy(first), kOk);
  EXPECT_EQ(hipEventDestroy(second), kOk);
}

// hip_stream.cpp: callbacks of all streams run one after the other, on a handler thread of ROCr.
TEST_F(HipStream, HostFunctionsOfAllStreamsRunOnOneThread) {
  std::thread::id ids[2];
  const auto note = [](void* id) {
    *static_cast<std::thread::id*>(id) = std::this_thread::get_id();
  };
  ASSERT_EQ(hipLaunchHostFunc(stream_, note, &ids[0]), kOk);
  ASSERT_EQ(hipLaunchHostFunc(other_, note, &ids[1]), kOk);
  ASSERT_EQ(hipDeviceSynchronize(), kOk);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_NE(ids[0], std::this_thread::get_id());
}

TEST_F(HipStream, ACallbackGetsItsStream) {
  struct Seen {
    hipStream_t stream = nullptr;
    hipError_t status = -1;
  } seen;
  const auto callback = [](hipStream_t stream, hipError_t status, void* to) {
    *static_cast<Seen*>(to) = {stream, status};
  };
  EXPECT_EQ(hipStreamAddCallback(stream_, callback, &seen, 1), kInvalidValue);
  ASSERT_EQ(hipStreamAddCallback(stream_, callback, &seen, 0), kOk);
  ASSERT_EQ(hipStreamSynchronize(stream_), kOk);
  EXPECT_EQ(seen.stream, stream_);
  EXPECT_EQ(seen.status, kOk);
}

// GPU_MAX_HW_QUEUES, ROCm/rocm-systems issue 9249: with one more stream than queues, a stream that
// waits blocks the stream that shares its queue.
TEST_F(HipStream, StreamsShareHardwareQueues) {
  std::uint64_t* word = nullptr;
  void* memory = nullptr;
  ASSERT_EQ(hipHostMalloc(&memory, sizeof *word, 2), kOk);
  word = static_cast<std::uint64_t*>(memory);
  *word = 0;
  std::vector<hipStream_t> streams(8);
  for (hipStream_t& stream : streams) ASSERT_EQ(hipStreamCreateWithFlags(&stream, 1), kOk);
  ASSERT_EQ(hipStreamWaitValue64(streams[0], word, 1, 0, ~std::uint64_t{0}), kOk);
  for (std::size_t i = 1; i < streams.size(); ++i) {
    ASSERT_EQ(hipMemsetAsync(word, 0, 0, streams[i]), kOk);
    ASSERT_EQ(hipEventRecord(event_, streams[i]), kOk);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  int held = 0;
  for (std::size_t i = 1; i < streams.size(); ++i) held += hipStreamQuery(streams[i]) == kNotReady;
  EXPECT_GE(held, 1);
  EXPECT_LT(held, 7);
  std::atomic_ref<std::uint64_t>(*word).store(1);
  for (hipStream_t stream : streams) {
    EXPECT_EQ(hipStreamSynchronize(stream), kOk);
    EXPECT_EQ(hipStreamDestroy(stream), kOk);
  }
  EXPECT_EQ(hipHostFree(memory), kOk);
}

// hip_stream_ops.cpp: unsigned comparison of the masked values
TEST_F(HipStream, WaitsForValuesHaveAMask) {
  void* memory = nullptr;
  ASSERT_EQ(hipExtMallocWithFlags(&memory, 4, 2), kInvalidValue);  // signal memory: 8 bytes
  ASSERT_EQ(hipExtMallocWithFlags(&memory, 8, 2), kOk);
  ASSERT_EQ(hipStreamWaitValue64(stream_, memory, 0x12, 1, 0xff), kOk);
  ASSERT_EQ(hipStreamWriteValue64(other_, memory, 0x3412, 0), kOk);
  EXPECT_EQ(hipStreamSynchronize(stream_), kOk);
  std::uint64_t local = 0;
  EXPECT_EQ(hipStreamWriteValue64(stream_, &local, 1, 0), kInvalidValue);  // unknown memory
  EXPECT_EQ(hipFree(memory), kOk);
}

TEST_F(HipStream, TheSptFormIsOfTheThreadsStream) {
  Gate gate;
  gate.hold(nullptr);
  EXPECT_EQ(hipStreamQuery(nullptr), kNotReady);
  EXPECT_EQ(hipStreamQuery_spt(nullptr), kOk);
  gate.open();
  EXPECT_EQ(hipDeviceSynchronize(), kOk);
}

}  // namespace
}  // namespace halyard_test
