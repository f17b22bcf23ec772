// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The core's behaviour where the rules of a library differ from CUDA's.
#include <cstdint>
#include <cstring>

#include "sim_gpu/core.h"
#include "simulation/gpu/allocation.h"
#include "simulation/gpu/capture.h"
#include "simulation/gpu/copy.h"
#include "simulation/gpu/graph_nodes.h"
#include "simulation/gpu/graph_structure.h"
#include "simulation/gpu/launch.h"
#include "simulation/gpu/pool.h"

namespace halyard::testing {
namespace {

gpu::DevicePointer allocate(gpu::DeviceId device, std::size_t size) {
  gpu::DevicePointer address = 0;
  call_on(device, [&](gpu::Call& call) { return gpu::allocate_device(call, &address, size); });
  return address;
}

// Runs a call on a separate thread, which must not return within a few milliseconds.
class Waiting {
 public:
  explicit Waiting(std::function<gpu::Result()> call)
      : thread_([this, run = std::move(call)] {
          result_ = run();
          has_returned_ = true;
        }) {}
  ~Waiting() { thread_.join(); }
  bool is_held_back() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return !has_returned_;
  }

 private:
  std::atomic<gpu::Result> result_ = gpu::kUnknown;
  std::atomic<bool> has_returned_ = false;
  std::thread thread_;
};

TEST(SimGpuQueues, AStreamThatWaitsHoldsBackTheOthersOfItsQueue) {
  const gpu::Stream held = make_stream(0);
  const gpu::Stream same = make_stream_beside(0, held, true);
  const gpu::Stream other = make_stream_beside(0, held, false);
  const gpu::Event of_same = make_event(0), of_other = make_event(0);
  Gate gate(held);
  ASSERT_EQ(record(of_same, same), gpu::kSuccess);
  ASSERT_EQ(record(of_other, other), gpu::kSuccess);
  EXPECT_TRUE(ends(of_other));
  EXPECT_TRUE(is_held_back(of_same));
  gate.open();
  EXPECT_TRUE(ends(of_same));
}

TEST(SimGpuQueues, StreamsOfTwoDevicesShareNone) {
  const gpu::Stream held = make_stream(0);
  Gate gate(held);
  for (const gpu::Stream stream : {make_stream(1), make_stream(1)}) {
    const gpu::Event event = make_event(1);
    ASSERT_EQ(record(event, stream), gpu::kSuccess);
    EXPECT_TRUE(ends(event));
  }
}

TEST(SimGpuHostFunctions, AllRunOnOneThread) {
  std::atomic<std::thread::id> ran_on[2];
  const gpu::Stream streams[] = {make_stream(0), make_stream(1)};
  for (int i = 0; i < 2; ++i) {
    const auto note = [](void* data) {
      static_cast<std::atomic<std::thread::id>*>(data)->store(std::this_thread::get_id());
    };
    ASSERT_EQ(
        call_on(
            i, [&](gpu::Call&) { return gpu::launch_host_function(streams[i], note, &ran_on[i]); }),
        gpu::kSuccess);
    ASSERT_EQ(synchronize(streams[i]), gpu::kSuccess);
  }
  EXPECT_EQ(ran_on[0].load(), ran_on[1].load());
  EXPECT_NE(ran_on[0].load(), std::this_thread::get_id());
}

TEST(SimGpuHostFunctions, OneThatWaitsHoldsBackThoseOfOtherDevices) {
  const gpu::Stream held = make_stream(0), other = make_stream(1);
  const gpu::Event event = make_event(1);
  Gate gate(held);
  gate.wait_until_it_holds();
  Gate behind(other);
  behind.open();
  ASSERT_EQ(record(event, other), gpu::kSuccess);
  EXPECT_TRUE(is_held_back(event));
  gate.open();
  EXPECT_TRUE(ends(event));
}

TEST(SimGpuEvents, AWaitForTheRecordOfADestroyedStreamDoesNotWait) {
  const gpu::Stream held = make_stream(0);
  const gpu::Stream other = make_stream_beside(0, held, false);
  const gpu::Event first = make_event(0), second = make_event(0);
  Gate gate(held);
  ASSERT_EQ(record(first, held), gpu::kSuccess);
  ASSERT_EQ(call_on(0, [&](gpu::Call&) { return gpu::end_stream(held); }), gpu::kSuccess);
  ASSERT_EQ(call_on(0, [&](gpu::Call&) { return gpu::wait_event(other, first, 0); }),
            gpu::kSuccess);
  ASSERT_EQ(record(second, other), gpu::kSuccess);
  EXPECT_TRUE(ends(second));
  EXPECT_EQ(query(first), gpu::kNotReady);
}

TEST(SimGpuEvents, AWaitForTheRecordOfALivingStreamWaits) {
  const gpu::Stream held = make_stream(0);
  const gpu::Stream other = make_stream_beside(0, held, false);
  const gpu::Event first = make_event(0), second = make_event(0);
  Gate gate(held);
  ASSERT_EQ(record(first, held), gpu::kSuccess);
  ASSERT_EQ(call_on(0, [&](gpu::Call&) { return gpu::wait_event(other, first, 0); }),
            gpu::kSuccess);
  ASSERT_EQ(record(second, other), gpu::kSuccess);
  EXPECT_TRUE(is_held_back(second));
  gate.open();
  EXPECT_TRUE(ends(second));
}

TEST(SimGpuStreams, ADestroyedOneAnswersAsTheLibrarySays) {
  const gpu::Stream stream = make_stream(0);
  call_on(0, [&](gpu::Call&) { return gpu::end_stream(stream); });
  EXPECT_EQ(call_on(0, [&](gpu::Call&) { return gpu::query_stream(stream); }), kDead);
}

TEST(SimGpuStreams, PrioritiesAreClampedToTheLibrarysRange) {
  const auto clamped = [](int priority) {
    gpu::Stream made = nullptr;
    call_on(0, [&](gpu::Call& call) { return gpu::create_stream(call, &made, 0, priority); });
    return made->object->priority;
  };
  EXPECT_EQ(clamped(-5), -1);
  EXPECT_EQ(clamped(0), 0);
  EXPECT_EQ(clamped(5), 1);
}

TEST(SimGpuMemory, AFreeWaitsForTheDeviceInAdversarialModeToo) {
  for (const bool is_adversarial : {false, true}) {
    gpu::options_of_process().adversarial = is_adversarial;
    const gpu::DevicePointer address = allocate(0, 64);
    Gate gate(make_stream(0));
    const Waiting free([&] {
      return call_on(0, [&](gpu::Call& call) { return gpu::free_device(call, address); });
    });
    EXPECT_TRUE(free.is_held_back()) << is_adversarial;
    gate.open();
  }
  gpu::options_of_process().adversarial = false;
}

TEST(SimGpuMemory, AFreeWaitsForStreamOrderedMemoryWhereTheLibrarySaysSo) {
  const gpu::Stream stream = make_stream(0);
  gpu::DevicePointer address = 0;
  ASSERT_EQ(call_on(0,
                    [&](gpu::Call&) {
                      return gpu::allocate_async(&address, 64, gpu::default_pool(0),
                                                 stream->object.get());
                    }),
            gpu::kSuccess);
  Gate gate(stream);
  const Waiting free(
      [&] { return call_on(0, [&](gpu::Call& call) { return gpu::free_device(call, address); }); });
  EXPECT_TRUE(free.is_held_back());
  gate.open();
}

TEST(SimGpuMemory, AFreeOfMemoryOfTheHostWaitsForAllDevices) {
  void* host = nullptr;
  ASSERT_EQ(call_on(0, [&](gpu::Call& call) { return gpu::allocate_host(call, &host, 64, 0); }),
            gpu::kSuccess);
  Gate gate(make_stream(1));
  const Waiting free(
      [&] { return call_on(0, [&](gpu::Call& call) { return gpu::free_host(call, host); }); });
  EXPECT_TRUE(free.is_held_back());
  gate.open();
}

TEST(SimGpuCopies, OneOfAnotherDevicesMemoryRunsInThatDevicesNullStream) {
  const gpu::Stream stream = make_stream(0);
  const gpu::Event event = make_event(0);
  const gpu::DevicePointer here = allocate(0, 8), there = allocate(1, 8);
  gpu::ContextState &own = context_of(0), &other = context_of(1);
  call_on(0, [&](gpu::Call&) {  // as hipDeviceEnablePeerAccess does
    own.peers.insert(&other);
    return gpu::kSuccess;
  });
  const std::uint64_t submitted = other.legacy->submitted;
  ASSERT_EQ(call_on(0,
                    [&](gpu::Call& call) {
                      return gpu::copy_memory(
                          call, gpu::Linear{gpu::kDevice, here, gpu::kDevice, there, 8}, stream,
                          gpu::Waits::kNever);
                    }),
            gpu::kSuccess);
  EXPECT_EQ(other.legacy->submitted, submitted + 1);
  ASSERT_EQ(record(event, stream), gpu::kSuccess);
  EXPECT_TRUE(ends(event));
}

TEST(SimGpuWaits, CompareWhatTheMaskLeaves) {
  const gpu::Stream stream = make_stream(0);
  const gpu::Event event = make_event(0);
  void* host = nullptr;
  ASSERT_EQ(call_on(0, [&](gpu::Call& call) { return gpu::allocate_host(call, &host, 8, 0); }),
            gpu::kSuccess);
  std::atomic_ref<std::uint64_t> word(*static_cast<std::uint64_t*>(host));
  word = 0xab00;
  gpu::MemOp wait{};
  wait.operation = 4;  // a wait for 64 bits
  wait.address = reinterpret_cast<gpu::DevicePointer>(host);
  wait.value = 0x80;  // at least that, of the low byte
  wait.more = 0xff;
  ASSERT_EQ(call_on(0, [&](gpu::Call&) { return gpu::add_mem_ops(stream, {wait}); }),
            gpu::kSuccess);
  ASSERT_EQ(record(event, stream), gpu::kSuccess);
  EXPECT_TRUE(is_held_back(event));
  word = 0xff;  // with a sign it would be less
  EXPECT_TRUE(ends(event));
}

TEST(SimGpuCaptures, AnUnsafeCallEndsThoseOfItsOwnThreadFirst) {
  const gpu::Stream mine = make_stream(0), others = make_stream(0);
  std::atomic<bool> has_begun = false, may_end = false;
  std::thread capturing([&] {  // the same thread has to end it
    call_on(0, [&](gpu::Call&) {
      return gpu::begin_capture(others, gpu::kCaptureGlobal, nullptr, nullptr, {});
    });
    has_begun = true;
    while (!may_end) std::this_thread::yield();
    gpu::Graph graph = nullptr;
    call_on(0, [&](gpu::Call&) { return gpu::end_capture(others, &graph); });
  });
  while (!has_begun) std::this_thread::yield();
  call_on(0, [&](gpu::Call&) {
    return gpu::begin_capture(mine, gpu::kCaptureThreadLocal, nullptr, nullptr, {});
  });
  const auto status = [](gpu::Stream stream) {
    gpu::CaptureStatus answer = gpu::kCaptureNone;
    call_on(0, [&](gpu::Call&) {
      return gpu::capture_info(stream, &answer, nullptr, nullptr, nullptr, nullptr);
    });
    return answer;
  };
  const auto call_unsafely = [] {
    return call_on(0, gpu::kCurrent | gpu::kUnsafeInCapture,
                   [](gpu::Call&) { return gpu::kSuccess; });
  };
  EXPECT_EQ(call_unsafely(), gpu::kCaptureUnsupported);
  EXPECT_EQ(status(mine), gpu::kCaptureBroken);
  EXPECT_EQ(status(others), gpu::kCaptureActive);
  gpu::Graph graph = nullptr;
  EXPECT_EQ(call_on(0, [&](gpu::Call&) { return gpu::end_capture(mine, &graph); }),
            gpu::kCaptureInvalidated);
  EXPECT_EQ(call_unsafely(), gpu::kCaptureUnsupported);
  EXPECT_EQ(status(others), gpu::kCaptureBroken);
  may_end = true;
  capturing.join();
}

TEST(SimGpuCaptures, TheEndOfItsStreamEndsACapture) {
  const gpu::Stream origin = make_stream(0), joined = make_stream(0);
  const gpu::Event event = make_event(0);
  call_on(0, [&](gpu::Call&) {
    return gpu::begin_capture(origin, gpu::kCaptureGlobal, nullptr, nullptr, {});
  });
  ASSERT_EQ(record(event, origin), gpu::kSuccess);
  ASSERT_EQ(call_on(0, [&](gpu::Call&) { return gpu::wait_event(joined, event, 0); }),
            gpu::kSuccess);
  gpu::StreamState* const of_joined = joined->object.get();
  ASSERT_NE(of_joined->capture, nullptr);
  ASSERT_EQ(call_on(0, [&](gpu::Call&) { return gpu::end_stream(origin); }), gpu::kSuccess);
  EXPECT_EQ(of_joined->capture, nullptr);
  EXPECT_EQ(
      call_on(0, gpu::kCurrent | gpu::kUnsafeInCapture, [](gpu::Call&) { return gpu::kSuccess; }),
      gpu::kSuccess);
}

TEST(SimGpuCaptures, AJoinedStreamThatEndsLeavesTheCapture) {
  const gpu::Stream origin = make_stream(0), joined = make_stream(0);
  const gpu::Event event = make_event(0);
  call_on(0, [&](gpu::Call&) {
    return gpu::begin_capture(origin, gpu::kCaptureGlobal, nullptr, nullptr, {});
  });
  ASSERT_EQ(record(event, origin), gpu::kSuccess);
  ASSERT_EQ(call_on(0, [&](gpu::Call&) { return gpu::wait_event(joined, event, 0); }),
            gpu::kSuccess);
  ASSERT_EQ(call_on(0, [&](gpu::Call&) { return gpu::end_stream(joined); }), gpu::kSuccess);
  gpu::Graph graph = nullptr;
  EXPECT_EQ(call_on(0, [&](gpu::Call&) { return gpu::end_capture(origin, &graph); }),
            gpu::kSuccess);
}

TEST(SimGpuGraphs, AnUpdateKeepsTheKindOfACopy) {
  const gpu::DevicePointer from = allocate(0, 8), to = allocate(0, 8);
  const auto work_of_kind = [&](int kind) {
    gpu::Work work;
    EXPECT_EQ(gpu::work_of(gpu::from_linear({gpu::kDevice, to, gpu::kDevice, from, 8}),
                           &context_of(0), work),
              gpu::kSuccess);
    std::get<gpu::CopyWork>(work).kind = kind;
    return work;
  };
  gpu::Graph graph = nullptr;
  gpu::GraphNode node = nullptr;
  gpu::GraphExec exec = nullptr;
  const gpu::Work old = work_of_kind(3), same = work_of_kind(3), other = work_of_kind(4);
  call_on(0, [&](gpu::Call&) {
    gpu::create_graph(&graph, 0);
    gpu::add_to_graph(graph, nullptr, 0, gpu::kSuccess, old, &node);
    return gpu::instantiate_graph(&exec, graph, 0);
  });
  const auto set = [&](const gpu::Work& work) {
    return call_on(0,
                   [&](gpu::Call&) { return gpu::set_in_exec(exec, node, gpu::kSuccess, work); });
  };
  EXPECT_EQ(set(same), gpu::kSuccess);
  EXPECT_EQ(set(other), gpu::kInvalidValue);
}

}  // namespace
}  // namespace halyard::testing
