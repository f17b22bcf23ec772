// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Probes of streams, events, host functions, graphs and capture. Each names its place in cuda.h.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>

#include "gpu/probe.h"

namespace halyard::testing::probe {
namespace {

constexpr unsigned kNoTiming = 2;

// cuEventQuery: an event that cuEventRecord was never called for
std::string unrecorded_event() {
  make_context();
  const Handle event = make_event(), stream = make_stream();
  const int query = call("cuEventQuery", event),
            wait = call("cuStreamWaitEvent", stream, event, 0U);
  return name_of(query) + ", " + name_of(wait) + ", stream " +
         name_of(call("cuStreamQuery", stream));
}

// cuStreamWaitEvent: a wait captures the event's state at its call.
std::string wait_then_record_again() {
  make_context();
  const Handle producer = make_stream(), consumer = make_stream(), event = make_event();
  const Address a = make_words(1);
  call("cuEventRecord", event, producer);
  call("cuStreamWaitEvent", consumer, event, 0U);
  Gate gate(producer);
  call("cuEventRecord", event, producer);
  fill(a, 1, 1, consumer);
  call("cuStreamSynchronize", consumer);
  return gate.what_the_call_did();
}

// cuEventRecord: "hEvent and hStream must be from the same context"
std::string record_across_contexts() {
  make_context();
  const Handle event = make_event();
  make_context();
  return name_of(call("cuEventRecord", event, make_stream()));
}

// cuStreamWaitEvent: the event may be of another context.
std::string wait_across_contexts() {
  make_context();
  const Handle event = make_event();
  call("cuEventRecord", event, make_stream());
  make_context();
  return name_of(call("cuStreamWaitEvent", make_stream(), event, 0U));
}

// cuEventDestroy and cuStreamDestroy in flight
std::string destroy_in_flight() {
  make_context();
  const Handle stream = make_stream(), event = make_event();
  const Address a = make_words(1);
  std::string answer;
  {
    Gate gate(stream);
    fill(a, 7, 1, stream);
    call("cuEventRecord", event, stream);
    const int first = call("cuEventDestroy_v2", event), second = call("cuStreamDestroy_v2", stream);
    answer = name_of(first) + ", " + name_of(second) + ", " + gate.what_the_call_did();
  }
  return answer + ", writes " + std::to_string(read_word(a));
}

// cuLaunchHostFunc: "must not make any CUDA API calls"
std::string call_in_host_function() {
  make_context();
  const Handle stream = make_stream();
  static std::atomic<int> result = -2;
  void (*const function)(void*) = [](void*) {
    int count = 0;
    result = call("cuDeviceGetCount", &count);
  };
  call("cuLaunchHostFunc", stream, function, static_cast<void*>(nullptr));
  call("cuStreamSynchronize", stream);
  return name_of(result);
}

// cuLaunchHostFunc: not called after an error; cuStreamAddCallback: called with it
std::string callbacks_after_a_fault() {
  make_context();
  static std::atomic<int> host = 0, status = -2;
  const Handle stream = make_stream(), store = load_kernel("store");
  void (*const function)(void*) = [](void*) { host = 1; };
  void (*const callback)(Handle, int, void*) = [](Handle, int result, void*) { status = result; };
  {
    Gate gate(stream);
    launch_store(store, 8, 1, stream);
    call("cuLaunchHostFunc", stream, function, static_cast<void*>(nullptr));
    call("cuStreamAddCallback", stream, callback, static_cast<void*>(nullptr), 0U);
  }
  call("cuStreamSynchronize", stream);
  return std::string(host != 0 ? "host function called" : "host function not called") +
         ", callback " + (status == -2 ? "not called" : name_of(status));
}

// cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE
std::string elapsed_without_record() {
  make_context();
  float milliseconds = 0;
  return name_of(call("cuEventElapsedTime", &milliseconds, make_event(), make_event()));
}
std::string elapsed_without_timing() {
  make_context();
  const Handle stream = make_stream(), from = make_event(), to = make_event(kNoTiming);
  float milliseconds = 0;
  call("cuEventRecord", from, stream);
  call("cuEventRecord", to, stream);
  call("cuStreamSynchronize", stream);
  return name_of(call("cuEventElapsedTime", &milliseconds, from, to));
}

struct MemsetNode {
  Address destination;
  std::size_t pitch;
  unsigned value, element_size;
  std::size_t width, height;
};

int add_memset(Handle graph, const MemsetNode& node, Handle context, Handle* made) {
  return call("cuGraphAddMemsetNode", made, graph, static_cast<const Handle*>(nullptr),
              std::size_t{0}, &node, context);
}

Handle make_graph() {
  Handle graph = nullptr;
  call("cuGraphCreate", &graph, 0U);
  return graph;
}

// cuGraphLaunch: "Only one instance of hGraphExec may be executing at a time"
std::string one_exec_in_two_streams() {
  const Handle context = make_context(), first = make_stream(), second = make_stream();
  const Handle graph = make_graph();
  Handle node = nullptr, exec = nullptr;
  add_memset(graph, {make_words(1), 4, 1, 4, 1, 1}, context, &node);
  call("cuGraphInstantiateWithFlags", &exec, graph, 0ULL);
  Gate gate(first);
  call("cuGraphLaunch", exec, first);
  call("cuGraphLaunch", exec, second);
  return std::string("the second ") + name_of(call("cuStreamQuery", second));
}

// cuGraphExecDestroy: "will not cause executions in-flight to be terminated"
std::string destroy_exec_in_flight() {
  const Handle context = make_context(), stream = make_stream(), graph = make_graph();
  Handle node = nullptr, exec = nullptr;
  const Address a = make_words(1);
  add_memset(graph, {a, 4, 6, 4, 1, 1}, context, &node);
  call("cuGraphInstantiateWithFlags", &exec, graph, 0ULL);
  std::string answer;
  {
    Gate gate(stream);
    call("cuGraphLaunch", exec, stream);
    const int result = call("cuGraphExecDestroy", exec);
    answer = name_of(result) + ", " + gate.what_the_call_did();
  }
  return answer + ", writes " + std::to_string(read_word(a));
}

// cuGraphExecMemsetNodeSetParams: only the address and the value of a 2-D memset may change.
std::string update_two_dimensions() {
  const Handle context = make_context(), graph = make_graph();
  Handle node = nullptr, exec = nullptr;
  const Address a = make_words(64);
  add_memset(graph, {a, 64, 1, 4, 4, 2}, context, &node);
  call("cuGraphInstantiateWithFlags", &exec, graph, 0ULL);
  const MemsetNode taller{a, 64, 1, 4, 4, 3};
  return name_of(call("cuGraphExecMemsetNodeSetParams", exec, node, &taller, context));
}

// CUDA_MEMSET_NODE_PARAMS: "Must be 1, 2, or 4."
std::string memset_of_eight_bytes() {
  const Handle context = make_context();
  Handle node = nullptr;
  return name_of(add_memset(make_graph(), {make_words(2), 8, 0, 8, 1, 1}, context, &node));
}
std::string memset_unaligned() {
  const Handle context = make_context();
  Handle node = nullptr;
  return name_of(add_memset(make_graph(), {make_words(2) + 2, 8, 0, 4, 1, 1}, context, &node));
}

Handle instantiate(Handle graph) {
  Handle exec = nullptr;
  call("cuGraphInstantiateWithFlags", &exec, graph, 0ULL);
  return exec;
}

// CUDA_MEMSET_NODE_PARAMS does not specify which bits of a value larger than its element are
// written.
std::string memset_beyond(unsigned element_size, std::size_t width) {
  const Handle context = make_context(), stream = make_stream(), graph = make_graph();
  Handle node = nullptr;
  const Address a = make_words(4);
  const int result = add_memset(graph, {a, 16, 0xa1b2c3d4, element_size, width, 1}, context, &node);
  std::string answer = name_of(result) + ",";
  call("cuGraphLaunch", instantiate(graph), stream);
  call("cuStreamSynchronize", stream);
  for (std::size_t at = 0; at < element_size * width; ++at) {
    char digits[8];
    std::snprintf(digits, sizeof digits, " %02x",
                  read_word(a + at / 4 * 4) >> (8 * (at % 4)) & 255);
    answer += digits;
  }
  return answer;
}
std::string memset_of_4_bytes() { return memset_beyond(1, 4); }
std::string memset_of_7_bytes() { return memset_beyond(1, 7); }
std::string memset_of_4_halves() { return memset_beyond(2, 4); }
std::string memset_of_7_halves() { return memset_beyond(2, 7); }

// CUDA_MEMCPY3D
struct CopyEnd {
  std::size_t x, y, z, level;
  unsigned type;
  const void* host;
  Address device;
  Handle array;
  void* reserved;
  std::size_t pitch, height;
};
struct CopyNode {
  CopyEnd source, destination;
  std::size_t width, height, depth;
};
CopyNode copy_of_a_word(Address to, Address from) {
  CopyNode copy{};
  copy.source.type = copy.destination.type = 2;  // CU_MEMORYTYPE_DEVICE
  copy.source.device = from;
  copy.destination.device = to;
  copy.width = 4;
  copy.height = copy.depth = 1;
  return copy;
}

// cuGraphExecMemcpyNodeSetParams: the source must be "allocated from the same contexts as the
// original"; it does not require that the original still exists.
std::string copy_whose_source_was_freed() {
  const Handle context = make_context(), stream = make_stream(), graph = make_graph();
  const Address a = make_words(1), first = make_words(1), second = make_words(1);
  fill(second, 5, 1, stream);
  call("cuStreamSynchronize", stream);
  const CopyNode old = copy_of_a_word(a, first), changed = copy_of_a_word(a, second);
  Handle node = nullptr;
  call("cuGraphAddMemcpyNode", &node, graph, static_cast<const Handle*>(nullptr), std::size_t{0},
       &old, context);
  const Handle exec = instantiate(graph);
  call("cuMemFree_v2", first);
  const int set = call("cuGraphExecMemcpyNodeSetParams", exec, node, &changed, context);
  const int launch = call("cuGraphLaunch", exec, stream);
  call("cuStreamSynchronize", stream);
  return name_of(set) + ", launch " + name_of(launch) + ", writes " + std::to_string(read_word(a));
}

// The documentation does not specify whether a node refers to the memory or to its address.
std::string copy_whose_source_was_replaced(bool pinned) {
  const Handle context = make_context(), stream = make_stream(), graph = make_graph();
  const Address a = make_words(1);
  const auto make = [pinned] {
    void* host = nullptr;
    Address address = 0;
    if (!pinned) return call("cuMemAlloc_v2", &address, std::size_t{100'000}), address;
    call("cuMemHostAlloc", &host, std::size_t{100'000}, 3U /* PORTABLE, DEVICEMAP */);
    return static_cast<Address>(reinterpret_cast<std::uintptr_t>(host));
  };
  const Address first = make();
  CopyNode copy = copy_of_a_word(a, first);
  copy.source.type = copy.destination.type = 4;  // CU_MEMORYTYPE_UNIFIED
  Handle node = nullptr;
  call("cuGraphAddMemcpyNode", &node, graph, static_cast<const Handle*>(nullptr), std::size_t{0},
       &copy, context);
  const Handle exec = instantiate(graph);
  call("cuGraphLaunch", exec, stream);
  call("cuStreamSynchronize", stream);
  if (pinned) {
    call("cuMemFreeHost", reinterpret_cast<void*>(static_cast<std::uintptr_t>(first)));
  } else {
    call("cuMemFree_v2", first);
  }
  const Address second = make();
  fill(second, 5, 1, stream);
  const int launch = call("cuGraphLaunch", exec, stream);
  call("cuStreamSynchronize", stream);
  return (second == first ? "the same address, launch " : "another address, launch ") +
         name_of(launch) + ", writes " + std::to_string(read_word(a));
}
std::string copy_whose_pinned_source_was_replaced() { return copy_whose_source_was_replaced(true); }
std::string copy_whose_device_source_was_replaced() { return copy_whose_source_was_replaced(false); }

// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNode {
  Handle function;
  unsigned grid[3], block[3], shared_bytes;
  void** parameters;
  void** extra;
  Handle kernel, context;
};

// cuGraphExecKernelNodeSetParams: "Already enqueued or running launches ... are not affected"
std::string change_a_graph_in_flight() {
  make_context();
  const Handle stream = make_stream(), graph = make_graph();
  Address a = make_words(1);
  std::uint32_t value = 3;
  void* parameters[] = {&a, &value};
  const KernelNode store{load_kernel("store"), {1, 1, 1}, {1, 1, 1}, 0,
                         parameters,           nullptr,   nullptr,   nullptr};
  Handle node = nullptr;
  call("cuGraphAddKernelNode_v2", &node, graph, static_cast<const Handle*>(nullptr), std::size_t{0},
       &store);
  const Handle exec = instantiate(graph);
  std::string answer;
  {
    Gate gate(stream);
    call("cuGraphLaunch", exec, stream);
    value = 4;
    const int result = call("cuGraphExecKernelNodeSetParams_v2", exec, node, &store);
    answer = name_of(result) + ", " + gate.what_the_call_did();
  }
  answer += ", writes " + std::to_string(read_word(a));
  call("cuGraphLaunch", exec, stream);
  call("cuStreamSynchronize", stream);
  return answer + ", then " + std::to_string(read_word(a));
}

// cuLaunchHostFunc: those of independent streams "may be serialized".
std::string host_functions(bool of_two_contexts) {
  const Handle context = make_context();
  static std::atomic<bool> ran = false;
  void (*const function)(void*) = [](void*) { ran = true; };
  Gate gate(make_stream());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // until it holds the stream
  if (of_two_contexts) make_context();
  const Handle other = make_stream();
  call("cuLaunchHostFunc", other, function, static_cast<void*>(nullptr));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const bool ran_beside = ran;
  gate.open();
  call("cuStreamSynchronize", other);
  call("cuCtxSetCurrent", context);  // for the gate's end
  return ran_beside ? "at the same time" : "one at a time";
}
std::string host_functions_of_two_streams() { return host_functions(false); }
std::string host_functions_of_two_contexts() { return host_functions(true); }

std::string end_of_a_capture(int result, Handle stream) {
  Handle graph = nullptr;
  return name_of(result) + ", the capture " + name_of(call("cuStreamEndCapture", stream, &graph));
}

// cuThreadExchangeStreamCaptureMode: a global capture prohibits unsafe calls of other threads.
std::string allocate_during_a_capture(int capture_mode, int thread_mode) {
  const Handle context = make_context(), stream = make_stream();
  call("cuStreamBeginCapture_v2", stream, capture_mode);
  int result = 0;
  std::thread([&] {
    Address a = 0;
    int mode = thread_mode;
    call("cuCtxSetCurrent", context);
    call("cuThreadExchangeStreamCaptureMode", &mode);
    result = call("cuMemAlloc_v2", &a, std::size_t{4});
  }).join();
  return end_of_a_capture(result, stream);
}
std::string allocate_during_anothers_capture() { return allocate_during_a_capture(0, 0); }
std::string allocate_relaxed_during_a_capture() { return allocate_during_a_capture(0, 2); }

// A capture forbids calls that are "not enqueued asynchronously to a stream". Makes such calls in a
// thread while another thread has a global capture.
template <class F>
std::string beside_a_capture(F&& make_calls) {
  const Handle context = make_context(), stream = make_stream();
  const Handle captures = make_stream(), event = make_event(), graph = make_graph();
  Handle node = nullptr;
  const Address a = make_words(2);
  add_memset(graph, {a, 4, 0, 4, 1, 1}, context, &node);
  const Handle exec = instantiate(graph), kernel = load_kernel("store");
  call("cuEventRecord", event, stream);
  call("cuStreamSynchronize", stream);
  call("cuStreamBeginCapture_v2", captures, 0);
  std::string answers;
  std::thread([&] {
    call("cuCtxSetCurrent", context);
    for (const int result : make_calls(stream, event, graph, exec, kernel, a)) {
      answers += name_of(result) + ", ";
    }
  }).join();
  Handle captured = nullptr;
  return answers + "the capture " + name_of(call("cuStreamEndCapture", captures, &captured));
}
std::string submit_beside_a_capture() {
  return beside_a_capture([](Handle stream, Handle event, Handle, Handle exec, Handle kernel,
                             Address a) {
    void (*const function)(void*) = [](void*) {};
    return std::array{launch_store(kernel, a, 3, stream),
                      call("cuEventRecord", event, stream),
                      call("cuStreamWaitEvent", stream, event, 0U),
                      call("cuMemcpyAsync", a + 4, a, std::size_t{4}, stream),
                      fill(a, 1, 1, stream),
                      call("cuLaunchHostFunc", stream, function, static_cast<void*>(nullptr)),
                      call("cuGraphLaunch", exec, stream)};
  });
}
std::string query_beside_a_capture() {
  return beside_a_capture([](Handle, Handle event, Handle, Handle, Handle, Address) {
    return std::array{call("cuEventQuery", event)};
  });
}
std::string instantiate_beside_a_capture() {
  return beside_a_capture([](Handle, Handle, Handle graph, Handle, Handle, Address) {
    Handle exec = nullptr;
    return std::array{call("cuGraphInstantiateWithFlags", &exec, graph, 0ULL)};
  });
}
std::string allocate_in_order_beside_a_capture() {
  return beside_a_capture([](Handle stream, Handle, Handle, Handle, Handle, Address) {
    Address a = 0;
    return std::array{call("cuMemAllocAsync", &a, std::size_t{4}, stream)};
  });
}

// cuStreamBeginCapture, calls that may not be captured
std::string launch_a_graph_in_a_capture() {
  make_context();
  const Handle stream = make_stream(), exec = instantiate(make_graph());
  call("cuStreamBeginCapture_v2", stream, 2);
  return end_of_a_capture(call("cuGraphLaunch", exec, stream), stream);
}
std::string query_a_captured_event() {
  make_context();
  const Handle stream = make_stream(), event = make_event();
  call("cuStreamBeginCapture_v2", stream, 2);
  call("cuEventRecord", event, stream);
  return end_of_a_capture(call("cuEventQuery", event), stream);
}

// "Stream synchronization behavior": the legacy stream and blocking streams
std::string null_stream_behind(unsigned flags) {
  make_context();
  const Address a = make_words(1);
  Gate gate(make_stream(flags));
  fill(a, 1, 1, nullptr);
  call("cuStreamSynchronize", static_cast<Handle>(nullptr));
  return gate.what_the_call_did();
}
std::string null_stream_behind_blocking() { return null_stream_behind(0); }
std::string null_stream_behind_other() { return null_stream_behind(1); }

// cuEventRecord may be called again while the event is being recorded.
std::string record_again_in_flight() {
  make_context();
  const Handle stream = make_stream(), event = make_event();
  Gate gate(stream);
  call("cuEventRecord", event, stream);
  const int again = call("cuEventRecord", event, stream);
  return name_of(again) + ", " + gate.what_the_call_did();
}

constexpr Probe kOrderProbes[] = {
    {"1", "query and wait for an event without a record", "success, success, stream success",
     &unrecorded_event},
    {"2", "record again after a wait, held: the waiting stream", "does not wait",
     &wait_then_record_again},
    {"3", "record in a stream of another context", "INVALID_HANDLE", &record_across_contexts},
    {"3b", "wait for an event of another context", "success", &wait_across_contexts},
    {"4", "destroy an event and a stream in flight", "success, success, does not wait, writes 7",
     &destroy_in_flight},
    {"5", "call the driver from a host function", "NOT_PERMITTED", &call_in_host_function},
    {"6", "host function and callback after a fault",
     "host function not called, callback not called", &callbacks_after_a_fault},
    {"7", "time between events without records", "INVALID_HANDLE", &elapsed_without_record},
    {"7b", "time to an event without timing", "INVALID_HANDLE", &elapsed_without_timing},
    {"10", "launch a graph in two streams, the first held", "the second NOT_READY",
     &one_exec_in_two_streams},
    {"10b", "destroy an executable graph in flight", "success, does not wait, writes 6",
     &destroy_exec_in_flight},
    {"11", "change the height of a 2-D memset of an executable graph", "INVALID_VALUE",
     &update_two_dimensions},
    {"12", "memset node with elements of 8 bytes", "INVALID_VALUE", &memset_of_eight_bytes},
    {"12b", "memset node at half an element", "INVALID_VALUE", &memset_unaligned},
    {"12c", "memset node of 4 bytes, value 0xa1b2c3d4", "success, d4 d7 f7 f7", &memset_of_4_bytes},
    {"12d", "memset node of 7 bytes, value 0xa1b2c3d4", "success, d4 d7 f7 f7 d4 d7 f7",
     &memset_of_7_bytes},
    {"12e", "memset node of 4 elements of 2 bytes, value 0xa1b2c3d4",
     "success, d4 c3 f6 e3 d4 c3 f6 e3", &memset_of_4_halves},
    {"12f", "memset node of 7 elements of 2 bytes, value 0xa1b2c3d4",
     "success, d4 c3 f6 e3 d4 c3 f6 e3 d4 c3 f6 e3 d4 c3", &memset_of_7_halves},
    {"21", "cuMemAlloc while another thread captures globally",
     "STREAM_CAPTURE_UNSUPPORTED, the capture STREAM_CAPTURE_INVALIDATED",
     &allocate_during_anothers_capture},
    {"21b", "the same in a relaxed thread", "success, the capture success",
     &allocate_relaxed_during_a_capture},
    {"21c", "launch a graph in a capture",
     "STREAM_CAPTURE_UNSUPPORTED, the capture STREAM_CAPTURE_INVALIDATED",
     &launch_a_graph_in_a_capture},
    {"21d", "query an event that was captured",
     "CAPTURED_EVENT, the capture STREAM_CAPTURE_INVALIDATED", &query_a_captured_event},
    {"21e", "a launch, record, wait, copy, memset, host function, graph, beside another's capture",
     "success, success, success, success, success, success, success, the capture success",
     &submit_beside_a_capture},
    {"21f", "cuEventQuery beside another's capture",
     "STREAM_CAPTURE_UNSUPPORTED, the capture STREAM_CAPTURE_INVALIDATED", &query_beside_a_capture},
    {"21g", "instantiate a graph beside another's capture",
     "STREAM_CAPTURE_UNSUPPORTED, the capture STREAM_CAPTURE_INVALIDATED",
     &instantiate_beside_a_capture},
    {"21h", "cuMemAllocAsync beside another's capture",
     "STREAM_CAPTURE_UNSUPPORTED, the capture STREAM_CAPTURE_INVALIDATED",
     &allocate_in_order_beside_a_capture},
    {"22", "NULL stream behind a blocking stream", "waits for the work",
     &null_stream_behind_blocking},
    {"22b", "NULL stream behind a non-blocking stream", "does not wait", &null_stream_behind_other},
    {"25", "record an event again in flight", "success, does not wait", &record_again_in_flight},
    {"27", "host functions of two streams", "one at a time", &host_functions_of_two_streams},
    {"27b", "host functions of two contexts", "at the same time", &host_functions_of_two_contexts},
    {"28", "copy node of an executable graph whose first source was freed: other parameters",
     "success, launch success, writes 5", &copy_whose_source_was_freed},
    {"28b", "launch a copy whose pinned source was freed and allocated again",
     "the same address, launch success, writes 5", &copy_whose_pinned_source_was_replaced},
    {"28c", "launch a copy whose source on the device was freed and allocated again",
     "the same address, launch success, writes 5", &copy_whose_device_source_was_replaced},
    {"29", "kernel node of an executable graph in flight: other parameters",
     "success, does not wait, writes 3, then 4", &change_a_graph_in_flight},
};

}  // namespace

std::span<const Probe> order_probes() { return kOrderProbes; }

}  // namespace halyard::testing::probe
