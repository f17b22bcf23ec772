// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A libcuda without a GPU, for testing the first run itself: the part of the driver API that it
// uses. Streams are queues of operations, which run when a call synchronizes. A kernel of a PTX
// module runs as the kernel of the same name in the files of HALYARD_SIMULATED_KERNELS, compiled
// for this CPU. It takes its arguments from the packed buffer, as in hy-kernarg-1. Missing kernels
// do nothing.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gpu/cuda_api.h"
#include "kernel/cpu_image.h"
#include "kernel/hyx.h"

namespace halyard::testing::cuda {

// Error codes of the driver API.
constexpr int kSuccess = 0, kInvalidValue = 1, kNotFound = 500, kNotReady = 600;
// Similar to a real driver's limit.
constexpr std::size_t kDepth = 1024;

struct FunctionTag {
  const kernel::KernelInfo* info = nullptr;
  kernel::CpuEntry entry = nullptr;
};
struct ModuleTag {
  std::string text;
};
// Runs if it can; returns false if it has to wait.
using Operation = std::function<bool()>;
struct StreamTag {
  std::deque<Operation> operations;
};
struct EventTag {
  std::uint64_t recorded = 0, reached = 0;
  double time = 0;
};
struct GraphNodeTag {};
struct GraphTag {
  std::vector<std::unique_ptr<GraphNodeTag>> nodes;
};
struct GraphExecTag {
  std::size_t nodes;
};

namespace {

struct Simulation {
  std::mutex mutex;
  std::vector<StreamTag*> streams;
  StreamTag null_stream;
  std::vector<std::pair<kernel::Hyx, Ref<kernel::CpuImage>>> files;
  std::map<std::string, FunctionTag> functions;

  Simulation() {
    streams.push_back(&null_stream);
    const char* const paths = std::getenv("HALYARD_SIMULATED_KERNELS");
    std::istringstream list(paths != nullptr ? paths : "");
    for (std::string path; std::getline(list, path, ':');) {
      kernel::Hyx hyx = kernel::Hyx::read(path).value();
      Ref<kernel::CpuImage> image = kernel::CpuImage::load(hyx).value();
      for (const kernel::KernelInfo& info : hyx.kernels()) {
        functions[std::string(info.name)] = {&info, image->entry(info.name).value()};
      }
      files.emplace_back(std::move(hyx), std::move(image));
    }
  }

  // Runs operations in all streams until every stream waits or is empty.
  void pump() {
    for (bool progress = true; progress;) {
      progress = false;
      for (StreamTag* const stream : streams) {
        while (!stream->operations.empty() && stream->operations.front()()) {
          stream->operations.pop_front();
          progress = true;
        }
      }
    }
  }

  void run_ready() {
    wait_until([] { return true; });
  }

  void wait_until(const std::function<bool()>& done) {
    for (;;) {
      {
        const std::lock_guard lock(mutex);
        pump();
        if (done()) return;
      }
      std::this_thread::yield();
    }
  }
};

Simulation& simulation() {
  static Simulation one;
  return one;
}

int enqueue(Stream stream, Operation operation) {
  Simulation& all = simulation();
  StreamTag& to = stream != nullptr ? *stream : all.null_stream;
  all.wait_until([&] {
    // Under the lock, and only while nothing runs, so that a full stream blocks its caller.
    if (to.operations.size() >= kDepth) return false;
    to.operations.push_back(std::move(operation));
    return true;
  });
  return kSuccess;
}

// The bindings' addresses, then the constants; one call of the CPU's kernel per group.
void run_kernel(const FunctionTag& function, const std::vector<std::byte>& arguments, unsigned x,
                unsigned y, unsigned z) {
  const std::size_t bindings = function.info->bindings.size();
  std::vector<void*> buffers(bindings);
  std::memcpy(buffers.data(), arguments.data(), 8 * bindings);
  std::vector<std::uint64_t> constants(arguments.size() / 8 + 1);
  std::memcpy(constants.data(), arguments.data() + 8 * bindings, arguments.size() - 8 * bindings);
  Workgroup group{{}, {x, y, z}};
  for (group.group[2] = 0; group.group[2] < z; ++group.group[2]) {
    for (group.group[1] = 0; group.group[1] < y; ++group.group[1]) {
      for (group.group[0] = 0; group.group[0] < x; ++group.group[0]) {
        function.entry(&group, buffers.data(), constants.data());
      }
    }
  }
}

std::atomic_ref<std::uint64_t> word(DevicePointer address) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address));
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return kSuccess; }
int cuDriverGetVersion(int* version) { return *version = 12040, kSuccess; }
int cuGetErrorName(int, const char** name) { return *name = "CUDA_ERROR_SIMULATED", kSuccess; }
int cuDeviceGetCount(int* count) { return *count = 1, kSuccess; }
int cuDeviceGet(Device* device, int) { return *device = 0, kSuccess; }
int cuDeviceGetName(char* name, int size, Device) {
  std::strncpy(name, "simulated, no GPU", static_cast<std::size_t>(size));
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, Device) {
  return *value = attribute == kComputeCapabilityMajor ? 9 : 0, kSuccess;
}
int cuDevicePrimaryCtxSetFlags_v2(Device, unsigned) { return kSuccess; }
int cuDevicePrimaryCtxRetain(Context* context, Device) { return *context = nullptr, kSuccess; }
int cuDevicePrimaryCtxRelease_v2(Device) { return kSuccess; }
int cuCtxSetCurrent(Context) { return kSuccess; }

int cuModuleLoadData(Module* module, const void* text) {
  return *module = new ModuleTag{static_cast<const char*>(text)}, kSuccess;
}
int cuModuleUnload(Module module) { return delete module, kSuccess; }
int cuModuleGetFunction(Function* function, Module module, const char* name) {
  if (module->text.find(std::string(".entry ") + name + "(") == std::string::npos) return kNotFound;
  return *function = &simulation().functions[name], kSuccess;
}

int cuLaunchKernel(Function function, unsigned x, unsigned y, unsigned z, unsigned nx, unsigned ny,
                   unsigned nz, unsigned, Stream stream, void**, void** extra) {
  if (function->info == nullptr) return enqueue(stream, [] { return true; });
  const kernel::KernelInfo& info = *function->info;
  // Checks .reqntid, and that the buffer is as large as the entry's parameters.
  if (info.workgroup_size != std::array<std::uint32_t, 3>{nx, ny, nz} || extra == nullptr ||
      *static_cast<const std::size_t*>(extra[3]) !=
          8 * info.bindings.size() + info.constants_bytes) {
    return kInvalidValue;
  }
  const auto* const packed = static_cast<const std::byte*>(extra[1]);
  return enqueue(stream, [=, arguments = std::vector<std::byte>(
                                 packed, packed + *static_cast<const std::size_t*>(extra[3]))] {
    run_kernel(*function, arguments, x, y, z);
    return true;
  });
}
int cuLaunchHostFunc(Stream stream, void (*function)(void*), void* argument) {
  enqueue(stream, [=] { return function(argument), true; });
  // In a real driver a thread of the driver calls it.
  simulation().run_ready();
  return kSuccess;
}

int cuMemAlloc_v2(DevicePointer* memory, std::size_t size) {
  *memory = reinterpret_cast<DevicePointer>(std::aligned_alloc(256, (size + 255) / 256 * 256));
  return kSuccess;
}
int cuMemFree_v2(DevicePointer memory) {
  return std::free(reinterpret_cast<void*>(memory)), kSuccess;
}
int cuMemAllocAsync(DevicePointer* memory, std::size_t size, Stream) {
  return cuMemAlloc_v2(memory, size);
}
int cuMemFreeAsync(DevicePointer memory, Stream stream) {
  return enqueue(stream, [=] { return cuMemFree_v2(memory) == kSuccess; });
}
int cuMemHostAlloc(void** memory, std::size_t size, unsigned) {
  return *memory = std::aligned_alloc(64, (size + 63) / 64 * 64), kSuccess;
}
int cuMemFreeHost(void* memory) { return std::free(memory), kSuccess; }
int cuMemHostGetDevicePointer_v2(DevicePointer* address, void* memory, unsigned) {
  return *address = reinterpret_cast<DevicePointer>(memory), kSuccess;
}
int cuMemcpyHtoD_v2(DevicePointer to, const void* from, std::size_t size) {
  return std::memcpy(reinterpret_cast<void*>(to), from, size), kSuccess;
}
int cuMemcpyDtoH_v2(void* to, DevicePointer from, std::size_t size) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), size), kSuccess;
}
int cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t size, Stream stream) {
  return enqueue(stream, [=] { return cuMemcpyHtoD_v2(to, from, size) == kSuccess; });
}
int cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t size, Stream stream) {
  return enqueue(stream, [=] { return cuMemcpyDtoH_v2(to, from, size) == kSuccess; });
}
int cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t size, Stream stream) {
  return enqueue(stream, [=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), size);
    return true;
  });
}

int cuStreamCreate(Stream* stream, unsigned) {
  const std::lock_guard lock(simulation().mutex);
  simulation().streams.push_back(*stream = new StreamTag);
  return kSuccess;
}
int cuStreamSynchronize(Stream stream) {
  simulation().wait_until([=] { return stream->operations.empty(); });
  return kSuccess;
}
int cuStreamDestroy_v2(Stream stream) {
  cuStreamSynchronize(stream);
  const std::lock_guard lock(simulation().mutex);
  std::erase(simulation().streams, stream);
  return delete stream, kSuccess;
}
int cuCtxSynchronize() {
  simulation().wait_until([] {
    return std::ranges::all_of(simulation().streams,
                               [](const StreamTag* stream) { return stream->operations.empty(); });
  });
  return kSuccess;
}
int cuStreamWriteValue64_v2(Stream stream, DevicePointer address, std::uint64_t value, unsigned) {
  enqueue(stream, [=] { return word(address).store(value), true; });
  simulation().run_ready();
  return kSuccess;
}
int cuStreamWaitValue64_v2(Stream stream, DevicePointer address, std::uint64_t value, unsigned) {
  return enqueue(stream, [=] { return word(address).load() >= value; });
}
int cuStreamBatchMemOp_v2(Stream stream, unsigned count, BatchMemOp* operations, unsigned) {
  for (const BatchMemOp& operation : std::span(operations, count)) {
    if (operation.operation != kWriteValue64) return kInvalidValue;
    cuStreamWriteValue64_v2(stream, operation.address, operation.value, 0);
  }
  return kSuccess;
}

int cuEventCreate(Event* event, unsigned) { return *event = new EventTag, kSuccess; }
int cuEventDestroy_v2(Event event) { return delete event, kSuccess; }
int cuEventRecord(Event event, Stream stream) {
  return enqueue(stream, [event, point = ++event->recorded] {
    event->reached = point;
    event->time = seconds();
    return true;
  });
}
int cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  return enqueue(stream, [event, point = event->recorded] { return event->reached >= point; });
}
int cuEventQuery(Event event) {
  simulation().run_ready();
  return event->reached == event->recorded ? kSuccess : kNotReady;
}
int cuEventSynchronize(Event event) {
  simulation().wait_until([=] { return event->reached == event->recorded; });
  return kSuccess;
}
int cuEventElapsedTime(float* milliseconds, Event first, Event last) {
  return *milliseconds = static_cast<float>((last->time - first->time) * 1e3), kSuccess;
}

int cuGraphCreate(Graph* graph, unsigned) { return *graph = new GraphTag, kSuccess; }
int cuGraphDestroy(Graph graph) { return delete graph, kSuccess; }
int cuGraphAddKernelNode_v2(GraphNode* node, Graph graph, const GraphNode* before,
                            std::size_t count, const KernelNodeParams*) {
  const auto known = [&](const GraphNode wanted) {
    return std::ranges::any_of(graph->nodes, [&](auto& one) { return one.get() == wanted; });
  };
  if (!std::all_of(before, before + count, known)) return kInvalidValue;
  graph->nodes.push_back(std::make_unique<GraphNodeTag>());
  return *node = graph->nodes.back().get(), kSuccess;
}
int cuGraphAddDependencies_v2(Graph, const GraphNode*, const GraphNode*, const GraphEdge* edge,
                              std::size_t) {
  return edge->type == 1 ? kSuccess : kInvalidValue;
}
int cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long) {
  return *exec = new GraphExecTag{graph->nodes.size()}, kSuccess;
}
int cuGraphExecUpdate_v2(GraphExec exec, Graph graph, GraphUpdateResult*) {
  return exec->nodes == graph->nodes.size() ? kSuccess : kInvalidValue;
}
int cuGraphExecKernelNodeSetParams_v2(GraphExec, GraphNode, const KernelNodeParams*) {
  return kSuccess;
}
int cuGraphLaunch(GraphExec exec, Stream stream) {
  // All kernels of graphs are empty.
  return enqueue(stream, [exec] { return exec != nullptr; });
}
int cuGraphExecDestroy(GraphExec exec) { return delete exec, kSuccess; }

}  // extern "C"

}  // namespace halyard::testing::cuda
