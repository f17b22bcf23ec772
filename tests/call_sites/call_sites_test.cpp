// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fails every native call, and every allocation, of a program that makes them all: once, from the
// n-th on, and with all of its area. Each time all work ends, nothing is left over, dependent work
// reports the failure, and all other work succeeds.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/native_call.h"
#include "base/sanitizers.h"
#include "call_sites/faults.h"
#include "call_sites/workload.h"
#include "hal/device/registry.h"
#include "hal/files/file_backend.h"
#include "halyard/halyard.h"

namespace halyard::testing {
namespace {

using namespace std::chrono_literals;
using base::CallSite;
using Reach = Fault::Reach;

// ThreadSanitizer is an order of magnitude slower, and detects races: there each call fails only in
// the two ways with the most concurrency.
constexpr bool kEachWay = !HALYARD_TSAN;
// Failures from a middle call on have the same effect as from the first call on, only later.
// AddressSanitizer builds skip them, as each way takes minutes there.
constexpr bool kFromTheMiddle = kEachWay && !HALYARD_ASAN;
// Opening a Vulkan device is slow with AddressSanitizer.
constexpr bool kEachWayOnVulkan = kEachWay && !HALYARD_ASAN;

// The expected result of a failing call. A call has several if the result depends on which
// operation failed first.
struct Outcome {
  std::string_view site;
  bool reported;         // some such failures cause an error; otherwise Halyard has a fallback
  std::string_view why;  // part of the message, or the fallback
  StatusCode code = StatusCode::kOk;
};
constexpr auto kExhausted = StatusCode::kResourceExhausted;
constexpr auto kUnavailable = StatusCode::kUnavailable;
constexpr auto kDataLoss = StatusCode::kDataLoss;

constexpr Outcome kOutcomes[] = {
    {"array.resize", true, "memory", kExhausted},
    {"block_pool.allocate", true, "memory", kExhausted},
    {"cache.create", true, "open for writing", kExhausted},
    {"cache.make_folder", true, "mkdir", kExhausted},
    {"cache.open_folder", true, "open", kExhausted},
    {"cache.publish", true, "rename", kUnavailable},
    {"cache.random", true, "getrandom", kUnavailable},
    {"cache.remove", false, "the file stays until the next eviction"},
    {"cache.stat_entry", false, "the entry is not counted"},
    {"cache.stat_folder", true, "stat", kUnavailable},
    {"cache.touch", false, "the entry keeps its age"},
    {"cpu.affinity", true, "cores", StatusCode::kInvalidArgument},
    {"cpu.allocate", true, "no memory for", kExhausted},
    {"cpu.bind", true, "could not be bound to NUMA node", StatusCode::kUnimplemented},
    {"cpu.map", true, "no memory for", kExhausted},
    {"cuda.cuCtxEnablePeerAccess", true, "cannot be used by", StatusCode::kPermissionDenied},
    {"cuda.cuCtxGetCurrent", true, "cannot be used by", StatusCode::kPermissionDenied},
    {"cuda.cuCtxGetCurrent", true, "could not be made current", kUnavailable},
    {"cuda.cuCtxGetCurrent", true, "failed", StatusCode::kInvalidArgument},
    {"cuda.cuCtxGetCurrent", true, "failed", StatusCode::kDeviceLost},
    {"cuda.cuCtxGetStreamPriorityRange", true, "cuCtxGetStreamPriorityRange",
     StatusCode::kInvalidArgument},
    {"cuda.cuCtxSetCurrent", true, "cannot be used by", StatusCode::kPermissionDenied},
    {"cuda.cuCtxSetCurrent", true, "could not be made current", kUnavailable},
    {"cuda.cuCtxSetCurrent", true, "failed", StatusCode::kInvalidArgument},
    {"cuda.cuCtxSetCurrent", true, "failed", StatusCode::kDeviceLost},
    {"cuda.cuDeviceCanAccessPeer", true, "cannot be used by", StatusCode::kPermissionDenied},
    {"cuda.cuDeviceCanAccessPeer", true, "cuDeviceCanAccessPeer", StatusCode::kNotFound},
    {"cuda.cuDeviceGet", true, "cuDeviceGet", StatusCode::kNotFound},
    {"cuda.cuDeviceGetAttribute", true, "cuDeviceGetAttribute", StatusCode::kNotFound},
    {"cuda.cuDeviceGetCount", true, "cuDeviceGetCount", kUnavailable},
    {"cuda.cuDeviceGetName", true, "cuDeviceGetName", StatusCode::kNotFound},
    {"cuda.cuDeviceGetUuid", true, "cuDeviceGetUuid", StatusCode::kNotFound},
    {"cuda.cuDevicePrimaryCtxRetain", true, "cuDevicePrimaryCtxRetain", kExhausted},
    {"cuda.cuDeviceTotalMem", true, "cuDeviceTotalMem", StatusCode::kNotFound},
    {"cuda.cuDriverGetVersion", true, "cuDriverGetVersion", StatusCode::kInvalidArgument},
    {"cuda.cuEventCreate", true, "cuEventCreate", kExhausted},
    {"cuda.cuEventQuery", true, "cuEventQuery", StatusCode::kDeviceLost},
    {"cuda.cuEventRecord", true, "cuEventRecord", StatusCode::kDeviceLost},
    {"cuda.cuEventSynchronize", false, "the waiter is notified, and the event is asked"},
    {"cuda.cuFuncGetAttribute", true, "cuFuncGetAttribute", StatusCode::kInvalidArgument},
    {"cuda.cuFuncSetAttribute", true, "cuFuncSetAttribute", StatusCode::kInvalidArgument},
    {"cuda.cuGetProcAddress", true, "has no cu", kUnavailable},
    {"cuda.cuGraphAddEmptyNode", false, "the commands are replayed one by one"},
    {"cuda.cuGraphAddKernelNode", false, "the commands are replayed one by one"},
    {"cuda.cuGraphAddMemcpyNode", false, "the commands are replayed one by one"},
    {"cuda.cuGraphAddMemsetNode", false, "the commands are replayed one by one"},
    {"cuda.cuGraphCreate", false, "the commands are replayed one by one"},
    {"cuda.cuGraphExecKernelNodeSetParams", false, "the graph is built again"},
    {"cuda.cuGraphExecMemcpyNodeSetParams", false, "the graph is built again"},
    {"cuda.cuGraphExecMemsetNodeSetParams", false, "the graph is built again"},
    {"cuda.cuGraphInstantiateWithFlags", false, "the commands are replayed one by one"},
    {"cuda.cuGraphLaunch", false, "the commands are replayed one by one"},
    {"cuda.cuInit", true, "cuInit", StatusCode::kNotFound},
    {"cuda.cuLaunchHostFunc", false, "the waiter is notified at once"},
    {"cuda.cuLaunchKernel", true, "cuLaunchKernel", kExhausted},
    {"cuda.cuLinkAddData", true, "cannot be loaded", kExhausted},
    {"cuda.cuLinkComplete", true, "cannot be loaded", kExhausted},
    {"cuda.cuLinkCreate", true, "cannot be loaded", kExhausted},
    {"cuda.cuMemAlloc", true, "no memory for", kExhausted},
    {"cuda.cuMemAllocFromPoolAsync", true, "no memory for", kExhausted},
    {"cuda.cuMemAllocManaged", true, "no memory for", kExhausted},
    {"cuda.cuMemHostAlloc", true, "no memory for", kExhausted},
    {"cuda.cuMemHostAlloc", true, "cuMemHostAlloc", kExhausted},
    {"cuda.cuMemHostGetDevicePointer", true, "cannot be pinned", kExhausted},
    {"cuda.cuMemHostRegister", true, "cuMemHostRegister", kExhausted},
    {"cuda.cuMemPoolCreate", true, "cuMemPoolCreate", kExhausted},
    {"cuda.cuMemPoolSetAccess", true, "cuMemPoolSetAccess", StatusCode::kNotFound},
    {"cuda.cuMemPoolSetAttribute", true, "cuMemPoolSetAttribute", StatusCode::kInvalidArgument},
    {"cuda.cuMemcpyAsync", true, "cuMemcpyAsync", kExhausted},
    {"cuda.cuMemsetD16Async", true, "cuMemsetD16Async", kExhausted},
    {"cuda.cuMemsetD32Async", true, "cuMemsetD32Async", kExhausted},
    {"cuda.cuMemsetD8Async", true, "cuMemsetD8Async", kExhausted},
    {"cuda.cuModuleGetFunction", true, "has no entry", kDataLoss},
    {"cuda.cuModuleLoadDataEx", true, "cannot be loaded", kExhausted},
    {"cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor", true,
     "cuOccupancyMaxActiveBlocksPerMultiprocessor", StatusCode::kInvalidArgument},
    {"cuda.cuPointerGetAttribute", true, "is no memory of device", StatusCode::kInvalidArgument},
    {"cuda.cuStreamCreateWithPriority", true, "cuStreamCreateWithPriority", kExhausted},
    {"cuda.cuStreamGetCtx", true, "cuStreamGetCtx", StatusCode::kInvalidArgument},
    {"cuda.cuStreamIsCapturing", true, "cuStreamIsCapturing", StatusCode::kInvalidArgument},
    {"cuda.cuStreamQuery", true, "cuStreamQuery", StatusCode::kDeviceLost},
    {"cuda.cuStreamSynchronize", true, "cuStreamSynchronize", StatusCode::kDeviceLost},
    {"cuda.cuStreamWaitEvent", true, "cuStreamWaitEvent", kExhausted},
    {"cuda.cuStreamWriteValue64", true, "cuStreamWriteValue64", StatusCode::kDeviceLost},
    {"cuda.cuThreadExchangeStreamCaptureMode", false, "the thread is in its user's mode"},
    {"cuda.dlopen", true, "cannot be opened", StatusCode::kNotFound},
    {"cuda.dlsym", true, "has no cu", kUnavailable},
    {"file.close", true, "close", kExhausted},
    {"file.open", true, "open", kExhausted},
    {"file.read", true, "read", kUnavailable},
    {"file.stat", true, "stat", kUnavailable},
    {"file.write", true, "write", kExhausted},
    {"folder.list", false, "no room is made; no NUMA nodes are seen"},
    {"folder.next", false, "no room is made; no NUMA nodes are seen"},
    {"folder.open", false, "no room is made; no NUMA nodes are seen"},
    {"futex.wait", false, "the thread polls instead"},
    {"hip.dlopen", true, "cannot be opened", StatusCode::kNotFound},
    {"hip.dlsym", true, "has no hip", kUnavailable},
    {"hip.hipDeviceCanAccessPeer", true, "cannot be used by", StatusCode::kPermissionDenied},
    {"hip.hipDeviceCanAccessPeer", true, "hipDeviceCanAccessPeer", StatusCode::kNotFound},
    {"hip.hipDeviceEnablePeerAccess", true, "cannot be used by", StatusCode::kPermissionDenied},
    {"hip.hipDeviceGetAttribute", true, "hipDeviceGetAttribute", StatusCode::kNotFound},
    {"hip.hipDeviceGetName", true, "hipDeviceGetName", StatusCode::kNotFound},
    {"hip.hipDeviceGetPCIBusId", true, "hipDeviceGetPCIBusId", StatusCode::kNotFound},
    {"hip.hipDeviceGetStreamPriorityRange", true, "hipDeviceGetStreamPriorityRange",
     StatusCode::kInvalidArgument},
    {"hip.hipDeviceTotalMem", true, "hipDeviceTotalMem", StatusCode::kNotFound},
    {"hip.hipEventCreateWithFlags", true, "hipEventCreateWithFlags", kExhausted},
    {"hip.hipEventQuery", true, "hipEventQuery", StatusCode::kDeviceLost},
    {"hip.hipEventRecord", true, "hipEventRecord", kExhausted},
    {"hip.hipEventRecord", true, "hipEventRecord", StatusCode::kDeviceLost},
    {"hip.hipEventSynchronize", false, "the waiter is notified, and the event is asked"},
    {"hip.hipFuncGetAttribute", true, "hipFuncGetAttribute", StatusCode::kInvalidArgument},
    {"hip.hipGetDevice", true, "cannot be used by", StatusCode::kPermissionDenied},
    {"hip.hipGetDevice", true, "failed", StatusCode::kDeviceLost},
    {"hip.hipGetDevice", true, "could not be made current", kUnavailable},
    {"hip.hipGetDevice", true, "failed", StatusCode::kInvalidArgument},
    {"hip.hipGetDeviceCount", true, "hipGetDeviceCount", kUnavailable},
    {"hip.hipGetDeviceProperties", true, "hipGetDeviceProperties", StatusCode::kNotFound},
    {"hip.hipGetDevicePropertiesR0600", true, "hipGetDevicePropertiesR0600", StatusCode::kNotFound},
    {"hip.hipGraphAddEmptyNode", false, "the commands are replayed one by one"},
    {"hip.hipGraphAddKernelNode", false, "the commands are replayed one by one"},
    {"hip.hipGraphAddMemcpyNode1D", false, "the commands are replayed one by one"},
    {"hip.hipGraphAddMemsetNode", false, "the commands are replayed one by one"},
    {"hip.hipGraphCreate", false, "the commands are replayed one by one"},
    {"hip.hipGraphExecKernelNodeSetParams", false, "the graph is built again"},
    {"hip.hipGraphExecMemcpyNodeSetParams1D", false, "the graph is built again"},
    {"hip.hipGraphExecMemsetNodeSetParams", false, "the graph is built again"},
    {"hip.hipGraphInstantiateWithFlags", false, "the commands are replayed one by one"},
    {"hip.hipGraphLaunch", false, "the commands are replayed one by one"},
    {"hip.hipHostGetDevicePointer", true, "hipHostGetDevicePointer", StatusCode::kInvalidArgument},
    {"hip.hipHostMalloc", true, "no memory for", kExhausted},
    {"hip.hipHostMalloc", true, "hipHostMalloc", kExhausted},
    {"hip.hipHostRegister", true, "hipHostRegister", kExhausted},
    {"hip.hipInit", true, "hipInit", StatusCode::kNotFound},
    {"hip.hipLaunchHostFunc", false, "the waiter is notified at once"},
    {"hip.hipMalloc", true, "no memory for", kExhausted},
    {"hip.hipMallocFromPoolAsync", true, "no memory for", kExhausted},
    {"hip.hipMallocManaged", true, "no memory for", kExhausted},
    {"hip.hipMemPoolCreate", true, "hipMemPoolCreate", kExhausted},
    {"hip.hipMemPoolSetAccess", true, "hipMemPoolSetAccess", StatusCode::kNotFound},
    {"hip.hipMemPoolSetAttribute", true, "hipMemPoolSetAttribute", StatusCode::kInvalidArgument},
    {"hip.hipMemcpyAsync", true, "hipMemcpyAsync", kExhausted},
    {"hip.hipMemsetD16Async", true, "hipMemsetD16Async", kExhausted},
    {"hip.hipMemsetD32Async", true, "hipMemsetD32Async", kExhausted},
    {"hip.hipMemsetD8Async", true, "hipMemsetD8Async", kExhausted},
    {"hip.hipModuleGetFunction", true, "has no entry", kDataLoss},
    {"hip.hipModuleLaunchKernel", true, "hipModuleLaunchKernel", kExhausted},
    {"hip.hipModuleLoadData", true, "cannot be loaded", kExhausted},
    {"hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", true,
     "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", StatusCode::kInvalidArgument},
    {"hip.hipPointerGetAttribute", true, "is no memory of device", StatusCode::kInvalidArgument},
    {"hip.hipRuntimeGetVersion", true, "hipRuntimeGetVersion", StatusCode::kInvalidArgument},
    {"hip.hipSetDevice", true, "cannot be used by", StatusCode::kPermissionDenied},
    {"hip.hipSetDevice", true, "could not be made current", kUnavailable},
    {"hip.hipSetDevice", true, "failed", StatusCode::kInvalidArgument},
    {"hip.hipSetDevice", true, "failed", StatusCode::kNotFound},
    {"hip.hipStreamCreateWithPriority", true, "hipStreamCreateWithPriority", kExhausted},
    {"hip.hipStreamGetDevice", true, "hipStreamGetDevice", StatusCode::kInvalidArgument},
    {"hip.hipStreamIsCapturing", true, "hipStreamIsCapturing", StatusCode::kInvalidArgument},
    {"hip.hipStreamQuery", true, "hipStreamQuery", StatusCode::kDeviceLost},
    {"hip.hipStreamWaitEvent", true, "hipStreamWaitEvent", kExhausted},
    {"hip.hipStreamWriteValue64", true, "hipStreamWriteValue64", kExhausted},
    {"hip.hipStreamWriteValue64", true, "hipStreamWriteValue64", StatusCode::kDeviceLost},
    {"hip.hipThreadExchangeStreamCaptureMode", false, "the thread is in its user's mode"},
    {"image.create", true, "failed", kExhausted},
    {"image.entry", true, "has no entry", kDataLoss},
    {"image.link", true, "cannot be loaded", kDataLoss},
    {"image.remove", false, "a file stays in the folder for temporary files"},
    {"image.write", true, "write to the file of the image", kExhausted},
    {"machine.pages", false, "the size of the memory is not known"},
    {"queue_file.block", true, "open", StatusCode::kInvalidArgument},
    {"queue_file.duplicate", true, "import_descriptor", kExhausted},
    {"queue_file.flags", true, "import_descriptor", StatusCode::kInvalidArgument},
    {"queue_file.open", true, "open", kExhausted},
    {"queue_file.stat", true, "", kDataLoss},
    {"serial.map", true, "no memory for", kExhausted},
    {"status.allocate", true, "out of memory while building an error message", kExhausted},
    {"stream.add_node", false, "the commands are replayed one by one"},
    {"stream.allocate", true, "no memory for", kExhausted},
    {"stream.call_host", false, "the waiter checks again"},
    {"stream.capture_mode", false, "the thread is in its user's mode"},
    {"stream.copy", true, "stream.copy", kExhausted},
    {"stream.create_event", true, "stream.create_event", kExhausted},
    {"stream.create_graph", false, "the commands are replayed one by one"},
    {"stream.create_stream", true, "stream.create_stream", kExhausted},
    {"stream.current_context", true, "failed", StatusCode::kDeviceLost},
    {"stream.fill", true, "stream.fill", kExhausted},
    {"stream.find_function", true, "stream.find_function", kExhausted},
    {"stream.instantiate", false, "the commands are replayed one by one"},
    {"stream.launch", true, "stream.launch", kExhausted},
    {"stream.launch_graph", false, "the commands are replayed one by one"},
    {"stream.load", true, "stream.load", kExhausted},
    {"stream.query_event", true, "stream.query_event", StatusCode::kDeviceLost},
    {"stream.query_stream", true, "stream.query_stream", StatusCode::kDeviceLost},
    {"stream.record", true, "stream.record", StatusCode::kDeviceLost},
    {"stream.retain_context", true, "stream.retain_context", kExhausted},
    {"stream.set_context", true, "failed", StatusCode::kDeviceLost},
    {"stream.set_node", false, "the graph is built again"},
    {"stream.wait", true, "stream.wait", kExhausted},
    {"thread.attributes", true, "could not be started", kExhausted},
    {"thread.processors", true, "could not be started", kExhausted},
    {"thread.start", true, "start", kExhausted},
    {"thread.try_join", false, "the thread's place is not used again"},
    {"trace.lock", true, "another program is writing it", StatusCode::kFailedPrecondition},
    {"trace.open", true, "open", StatusCode::kPermissionDenied},
    {"trace.truncate", true, "truncate", kUnavailable},
    {"transfer.read", true, "read of", kDataLoss},
    {"transfer.write", true, "write of", kExhausted},
    {"uring.completion", true, "file ", kDataLoss},
    {"uring.enter", true, "file ", kExhausted},
    {"uring.event", false, "files are read and written one at a time"},
    {"uring.map", false, "files are read and written one at a time"},
    {"uring.setup", false, "files are read and written one at a time"},
    {"vulkan.dlopen", true, "cannot be opened", StatusCode::kNotFound},
    {"vulkan.dlsym", true, "has no vkGetInstanceProcAddr", kUnavailable},
    {"vulkan.duplicate", true, "vulkan: descriptor", kExhausted},
    {"vulkan.stat", true, "vulkan: descriptor", StatusCode::kInvalidArgument},
    {"vulkan.vkAllocateCommandBuffers", true, "vkAllocateCommandBuffers", kExhausted},
    {"vulkan.vkAllocateMemory", true, "vkAllocateMemory", kExhausted},
    {"vulkan.vkAllocateMemory", true, "does not take this host memory", StatusCode::kUnimplemented},
    {"vulkan.vkBeginCommandBuffer", true, "vkBeginCommandBuffer", kExhausted},
    {"vulkan.vkBindBufferMemory", true, "vkBindBufferMemory", kExhausted},
    {"vulkan.vkCreateBuffer", true, "vkCreateBuffer", kExhausted},
    {"vulkan.vkCreateCommandPool", true, "vkCreateCommandPool", kExhausted},
    {"vulkan.vkCreateComputePipelines", true, "vkCreateComputePipelines", kExhausted},
    {"vulkan.vkCreateDescriptorSetLayout", true, "vkCreateDescriptorSetLayout", kExhausted},
    {"vulkan.vkCreateDevice", true, "vkCreateDevice", kUnavailable},
    {"vulkan.vkCreateInstance", true, "vkCreateInstance", kUnavailable},
    {"vulkan.vkCreatePipelineCache", false, "pipelines are compiled without"},
    {"vulkan.vkCreatePipelineLayout", true, "vkCreatePipelineLayout", kExhausted},
    {"vulkan.vkCreateQueryPool", true, "vkCreateQueryPool", kExhausted},
    {"vulkan.vkCreateSemaphore", true, "vkCreateSemaphore", kExhausted},
    {"vulkan.vkCreateShaderModule", true, "vkCreateShaderModule", kExhausted},
    {"vulkan.vkDeviceWaitIdle", false, "a device that is lost is destroyed at once"},
    {"vulkan.vkEndCommandBuffer", true, "vkEndCommandBuffer", kExhausted},
    {"vulkan.vkEnumerateDeviceExtensionProperties", true, "vkEnumerateDeviceExtensionProperties",
     kExhausted},
    {"vulkan.vkEnumerateInstanceVersion", true, "vkEnumerateInstanceVersion", kExhausted},
    {"vulkan.vkEnumeratePhysicalDevices", true, "vkEnumeratePhysicalDevices", kUnavailable},
    {"vulkan.vkGetCalibratedTimestampsEXT", false, "the trace maps the times it has"},
    {"vulkan.vkGetMemoryFdKHR", true, "vkGetMemoryFdKHR", kExhausted},
    {"vulkan.vkGetMemoryHostPointerPropertiesEXT", true, "vkGetMemoryHostPointerPropertiesEXT",
     StatusCode::kInvalidArgument},
    {"vulkan.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT", true,
     "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT", kExhausted},
    {"vulkan.vkGetPipelineCacheData", false, "the next process compiles again"},
    {"vulkan.vkGetQueryPoolResults", true, "vulkan: ", StatusCode::kDeviceLost},
    {"vulkan.vkGetSemaphoreCounterValue", true, "vulkan: ", StatusCode::kDeviceLost},
    {"vulkan.vkGetSemaphoreFdKHR", true, "vkGetSemaphoreFdKHR", kExhausted},
    {"vulkan.vkImportSemaphoreFdKHR", true, "vkImportSemaphoreFdKHR", StatusCode::kInvalidArgument},
    {"vulkan.vkMapMemory", true, "vkMapMemory", kExhausted},
    {"vulkan.vkQueueSubmit2", true, "vulkan: ", StatusCode::kDeviceLost},
    {"vulkan.vkSignalSemaphore", false, "the waiter checks again"},
    {"vulkan.vkWaitSemaphores", true, "vulkan: ", StatusCode::kDeviceLost},
};

const Outcome* outcome_of(const CallSite& site) {
  const auto at = std::ranges::find(kOutcomes, site.name, &Outcome::site);
  return at == std::end(kOutcomes) ? nullptr : at;
}

// Ends the program with a message if a workload hangs.
class Watchdog {
 public:
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  void watch(std::string what) {
    const std::lock_guard lock(mutex_);
    what_ = std::move(what);
    ++turn_;
    changed_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      const std::uint64_t turn = turn_;
      if (changed_.wait_for(lock, 60s, [&] { return ending_ || turn_ != turn; })) continue;
      if (what_.empty()) continue;
      std::fprintf(stderr, "HANGS: %s\n", what_.c_str());
      std::_Exit(1);
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  std::uint64_t turn_ = 0;
  bool ending_ = false;
  std::thread thread_{[this] { run(); }};
};

std::size_t entries_of(const char* folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    count += !entry.path().empty();
  return count;
}

class CallSites : public ::testing::Test {
 protected:
  void SetUp() override {
    bystander_ = registry_.open("cpu://?workers=1").value();
    x_ = bystander_.allocate({.size = 4096, .memory = hal::MemoryType::kHostVisible}).value();
    done_ = bystander_.create_semaphore().value();
    for (std::uint32_t i = 0; i < 2; ++i) {
      hal::Recorder recorder(bystander_);
      recorder.fill(x_, i + 1);
      commands_[i] = recorder.finish().value();
    }
    for (int i = 0; i < 4; ++i) ASSERT_EQ(bystand(), "");
    run({}, true);  // objects that the process creates once
    descriptors_ = entries_of("/proc/self/fd");
    threads_ = entries_of("/proc/self/task");
  }

  // Uses an older device, which is independent of the failing calls.
  std::string bystand() {
    const std::uint64_t value = ++value_;
    Status status = bystander_.queue().execute(commands_[value % 2], {.signal = {{done_, value}}});
    if (status.ok()) status = done_.wait(value, 20s);
    if (!status.ok()) return status.to_string();
    for (const std::uint32_t word : x_.map().value().as<std::uint32_t>()) {
      if (word != value % 2 + 1) return "wrong bytes";
    }
    return "";
  }

  std::string leftovers() const {
    if (entries_of("/proc/self/fd") != descriptors_) return "descriptors";
    // A joined thread may be listed for another moment.
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (entries_of("/proc/self/task") > threads_) {
      if (std::chrono::steady_clock::now() > until) return "threads";
      sched_yield();
    }
    return faults_.mappings() == 0 ? "" : "mapped memory";
  }

  // Returns a problem if `status` does not match the failed calls, otherwise empty.
  static std::string judge(const Status& status, const std::vector<const CallSite*>& failed,
                           bool allocation) {
    if (status.ok()) return "";
    if (allocation && status.code() == kExhausted) return "";
    for (const CallSite* site : failed) {
      for (const Outcome& outcome : kOutcomes) {
        if (outcome.site != site->name || !outcome.reported || status.code() != outcome.code ||
            status.message().find(outcome.why) == std::string_view::npos) {
          continue;
        }
        reported_.insert(site->name);
        return "";
      }
    }
    return "of another reason: " + status.to_string();
  }

  void run(const Fault& fault, bool rehearsal = false) {
    faults_.plan(fault);
    for (std::size_t i = 0; i < sections().size(); ++i) {
      const Section& section = sections()[i];
      if (section.needs == Section::Needs::kVulkan && !workplace_.has_vulkan) continue;
      if (section.needs == Section::Needs::kCuda && fault.caller != nullptr) continue;
      if (!rehearsal && !fault.slow && !reaches(i, fault)) continue;
      const std::string what = fault.to_string() + ", in " + std::string(section.name);
      watchdog_.watch(what);
      const bool whole = rehearsal || fault.slow;
      const std::vector<std::uint64_t> before = counts();
      Status status = section.run(workplace_, whole);
      const std::vector<const CallSite*> failed = faults_.take_failed();
      const bool allocation = faults_.take_failed_allocation();
      EXPECT_EQ(judge(status, failed, allocation), "") << what;
      if (rehearsal) {
        note_reached(i, before);
        continue;
      }
      // Work in flight on a lost GPU cannot be stopped, so its streams are leaked.
      if (section.needs == Section::Needs::kCuda || section.needs == Section::Needs::kHip) {
        threads_ = std::max(threads_, entries_of("/proc/self/task"));
      }
      EXPECT_EQ(leftovers(), "") << what;
      EXPECT_EQ(bystand(), "") << what;
    }
    watchdog_.watch("");
  }

  std::vector<std::uint64_t> counts() const {
    std::vector<std::uint64_t> counts;
    for (std::size_t i = 0; i < base::call_sites().size(); ++i) counts.push_back(faults_.calls(i));
    return counts;
  }
  // Records the call sites and allocations of a section that has run.
  void note_reached(std::size_t section, const std::vector<std::uint64_t>& before) {
    const std::vector<std::uint64_t> after = counts();
    std::set<const void*>& reached = reached_in_[section];
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (after[i] != before[i]) reached.insert(base::call_sites()[i]);
    }
    for (const void* caller : faults_.take_callers()) {
      reached.insert(caller);
      callers_.insert(caller);
    }
  }
  // True if the fault can affect this section.
  bool reaches(std::size_t section, const Fault& fault) const {
    const std::set<const void*>& reached = reached_in_[section];
    if (fault.site == nullptr) return reached.contains(fault.caller);
    if (fault.reach != Reach::kSticky) return reached.contains(fault.site);
    return std::ranges::any_of(base::call_sites(), [&](const CallSite* site) {
      return site->area() == fault.site->area() && reached.contains(site);
    });
  }

  static inline std::set<std::string_view> reported_;
  std::vector<std::set<const void*>> reached_in_{sections().size()};
  std::set<const void*> callers_;  // all that have allocated

  Faults faults_;  // until no thread uses it
  Workplace workplace_;
  hal::DriverRegistry registry_;
  hal::Device bystander_ = [this] {
    check(register_all_drivers(registry_));
    return hal::Device();
  }();
  hal::Buffer x_;
  hal::Semaphore done_;
  hal::CommandBuffer commands_[2];
  std::uint64_t value_ = 0;
  Watchdog watchdog_;
  std::size_t descriptors_ = 0, threads_ = 0;
};

TEST_F(CallSites, EachMayFail) {
  const auto sites = base::call_sites();
  run({}, true);
  std::vector<std::uint64_t> calls;
  for (std::size_t i = 0; i < sites.size(); ++i) calls.push_back(faults_.calls(i));
  const bool uring = hal::make_uring_backend() != nullptr;
  std::size_t reached = 0, cannot_fail = 0, expected = 0;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const CallSite& site = *sites[i];
    if (!uring && site.area() == "uring") continue;  // this kernel has no io_uring for us
    if (!workplace_.has_vulkan && site.area() == "vulkan") continue;
    if (!workplace_.has_cuda && site.area() == "cuda") continue;
    if (!workplace_.has_hip && site.area() == "hip") continue;
    if (site.area() == "metal") continue;  // tests/metal covers them
    ++expected;
    EXPECT_NE(calls[i], 0u) << site.name << " is never reached";
    if (calls[i] == 0) continue;
    if (site.error == 0) {
      EXPECT_NE(site.never_fails, "") << site.name;
      ++cannot_fail;
    } else if (outcome_of(site) == nullptr) {
      ADD_FAILURE() << site.name << ": what comes of it?";
      continue;
    } else {
      const std::uint64_t middle = calls[i] / 2 + 1;
      run({.site = &site, .reach = Reach::kFromThenOn});
      run({.site = &site, .reach = Reach::kSticky});
      if (site.area() == "vulkan" ? kEachWayOnVulkan : kEachWay) {
        run({.site = &site});
        if (kFromTheMiddle) run({.site = &site, .call = middle});
        // On a GPU the earlier ways cover this, and each loss leaks the device's streams.
        if (kFromTheMiddle && site.area() != "cuda" && site.area() != "hip") {
          run({.site = &site, .call = middle, .reach = Reach::kFromThenOn});
        }
      }
      EXPECT_EQ(reported_.contains(site.name), outcome_of(site)->reported) << site.name;
    }
    ++reached;
    if (HasFailure()) break;
  }
  std::printf("call sites %zu/%zu (%zu cannot fail)\n", reached, expected, cannot_fail);
  EXPECT_EQ(reached, expected);
}

TEST_F(CallSites, EachMayBeSlow) { run({.slow = true}); }

TEST_F(CallSites, EachAllocationMayFail) {
  run({}, true);
  const std::vector<const void*> callers(callers_.begin(), callers_.end());
  std::size_t done = 0;
  for (const void* caller : callers) {
    if (kEachWay) run({.caller = caller});
    run({.caller = caller, .reach = Reach::kFromThenOn});
    ++done;
    if (HasFailure()) break;
  }
  std::printf("allocations %zu/%zu\n", done, callers.size());
  EXPECT_EQ(done, callers.size());
}

}  // namespace
}  // namespace halyard::testing
