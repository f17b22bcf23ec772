// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "call_sites/workload.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/disk_cache.h"
#include "base/sanitizers.h"
#include "compiler/compile.h"
#include "compiler/hyx_writer.h"
#include "drivers/cpu/allocator.h"
#include "drivers/cpu/topology.h"
#include "drivers/cuda/api.h"
#include "drivers/cuda/library.h"
#include "drivers/stream/device.h"
#include "hal/files/file.h"
#include "hal/files/file_backend.h"
#include "hal/registry.h"
#include "halyard/hal/buffer_view.h"
#include "halyard/hal/dlpack.h"
#include "halyard/hal/native.h"
#include "halyard/halyard.h"
#include "halyard/hcq/allocator.h"
#include "halyard/hcq/cpu.h"
#include "halyard/hcq/graph.h"
#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

using namespace std::chrono_literals;
using hal::MemoryType;

constexpr auto kPatience = 20s;  // a longer wait hangs
constexpr std::uint32_t kPattern = 0x5aa5'0ff0;

constexpr std::string_view kKernels = R"(
#include <halyard/kernel.h>
HY_KERNEL(add, 16, 1, 1, HY_INOUT(uint, x), HY_SCALAR(uint, by), HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) { x[HY_GLOBAL_X] += by; }
}
)";

#ifdef HALYARD_SIM_CUDA_LIBRARY
// Has more shared memory than a launch may add without being allowed to.
constexpr char kPtx[] = R"(.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 4 .b8 pool[];
.visible .entry large() { ret; }
)";
#endif

#if HALYARD_DRIVER_VULKAN
constexpr std::string_view kShader = R"(#version 450
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer X { uint x[]; };
layout(push_constant) uniform P { uint by; };
void main() { x[gl_GlobalInvocationID.x] += by; }
)";
#endif

Status wrong(std::string_view what) { return Status(StatusCode::kInternal, what); }

bool all_are(std::span<const std::byte> bytes, std::uint32_t word) {
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    if (std::memcmp(&bytes[at], &word, 4) != 0) return false;
  }
  return true;
}

Status holds(const hal::Buffer& buffer, std::uint32_t word) {
  HALYARD_ASSIGN_OR_RETURN(hal::Mapping mapping, buffer.map());
  return all_are(mapping.bytes(), word) ? Status() : wrong("the bytes are others");
}

hal::BufferInfo host_visible(std::uint64_t size) {
  return {.size = size, .memory = MemoryType::kHostVisible};
}

// Uses whole slabs, staging, transfers, pools and further queues of a device.
Status use_memory(std::string_view uri) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_RETURN_IF_ERROR(registry.enumerate().status());
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open(uri));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer small, device.allocate(host_visible(1024)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer large, device.allocate(host_visible(3u << 20)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  const hal::Queue queue = device.queue();
  HALYARD_RETURN_IF_ERROR(queue.fill(large, kPattern, 4, {.signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(
      device.queue(hal::QueueKind::kCopy)
          .copy({large, 1u << 20, 1024}, small, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  const std::vector<std::byte> zeroes(512);
  HALYARD_RETURN_IF_ERROR(
      queue.update(small, 512, zeroes, {.wait = {{done, 2}}, .signal = {{done, 3}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(3, kPatience));
  HALYARD_ASSIGN_OR_RETURN(const hal::Mapping mapping, small.map());
  if (!all_are(mapping.bytes().first(512), kPattern) || !all_are(mapping.bytes().last(512), 0)) {
    return wrong("the bytes are others");
  }

  HALYARD_ASSIGN_OR_RETURN(
      const hal::Pool pool,
      device.create_pool({.memory = MemoryType::kHostVisible, .slab_size = 8192}));
  for (std::uint64_t i = 0; i < 3; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore own, device.create_semaphore());
    HALYARD_ASSIGN_OR_RETURN(const hal::Buffer block,
                             queue.allocate(pool, host_visible(4096), {.signal = {{own, 1}}}));
    HALYARD_RETURN_IF_ERROR(
        queue.fill(block, kPattern, 4, {.wait = {{own, 1}}, .signal = {{own, 2}}}));
    HALYARD_RETURN_IF_ERROR(own.wait(2, kPatience));
    HALYARD_RETURN_IF_ERROR(holds(block, kPattern));
    HALYARD_RETURN_IF_ERROR(queue.deallocate(block, {.signal = {{own, 3}}}));
    HALYARD_RETURN_IF_ERROR(own.wait(3, kPatience));
  }
  HALYARD_RETURN_IF_ERROR(pool.trim());

  HALYARD_ASSIGN_OR_RETURN(const hal::Queue urgent,
                           device.create_queue({.priority = hal::QueuePriority::kHigh}));
  std::vector<hal::Semaphore> many;
  for (int i = 0; i < 8; ++i) {  // more than a submission or a wait has inline space for
    HALYARD_ASSIGN_OR_RETURN(many.emplace_back(), device.create_semaphore());
  }
  std::vector<hal::Point> points;
  for (const hal::Semaphore& semaphore : many) points.emplace_back(semaphore, 1);
  HALYARD_RETURN_IF_ERROR(urgent.barrier({.wait = points, .signal = {{done, 4}}}));
  HALYARD_ASSIGN_OR_RETURN(const hal::Fence fence, hal::Fence::create(points));
  HALYARD_RETURN_IF_ERROR(urgent.barrier({.signal = points}));
  HALYARD_RETURN_IF_ERROR(fence.wait(kPatience));
  HALYARD_RETURN_IF_ERROR(done.wait(4, kPatience));
  return urgent.wait_idle(kPatience);
}

// Imports the user's own memory, which is released once, or was refused.
Status lend_memory(std::string_view uri) {
  struct Lent {
    alignas(hal::Device::kImportAlignment) std::byte bytes[64]{};
    std::atomic<int> released{0};
  };
  const auto mine = std::make_shared<Lent>();  // until it is released
  const std::span<std::byte> bytes(mine->bytes);
  bool taken = false;
  const auto use = [&]() -> Status {
    hal::DriverRegistry registry;
    HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
    HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open(uri));
    HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
    HALYARD_ASSIGN_OR_RETURN(hal::Buffer lent, device.import_memory(bytes, [mine] { ++mine->released; }));
    taken = true;
    HALYARD_RETURN_IF_ERROR(
        device.queue().fill(std::move(lent), kPattern, 4, {.signal = {{done, 1}}}));
    HALYARD_RETURN_IF_ERROR(done.wait(1, kPatience));
    return all_are(bytes, kPattern) ? Status() : wrong("the bytes are others");
  };
  const Status status = use();
  const int released = mine->released;
  // What runs on a CUDA device that is lost cannot be stopped, so what it uses is kept.
  if (uri.starts_with("cuda") && status.code() == StatusCode::kDeviceLost && released == 0) {
    return status;
  }
  return released == (taken ? 1 : 0) ? status : wrong("it is not released once");
}

#if HALYARD_DRIVER_VULKAN
// Shares memory with itself through a descriptor.
Status share_memory(const Workplace&, bool) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open("vulkan://0"));
  hal::BufferInfo info = host_visible(4096);
  info.exportable = true;
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer shared, device.allocate(info));
  HALYARD_ASSIGN_OR_RETURN(const int number, shared.export_descriptor());
  const Result<hal::Buffer> same = device.import_descriptor(number, host_visible(4096));
  if (!same.ok()) ::close(number);
  HALYARD_RETURN_IF_ERROR(same.status());
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  HALYARD_RETURN_IF_ERROR(device.queue().fill(*same, kPattern, 4, {.signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(1, kPatience));
  return holds(shared, kPattern);
}

Status share_timeline(const Workplace&, bool) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open("vulkan://0"));
  HALYARD_ASSIGN_OR_RETURN(const hal::SharedTimeline shared, device.create_shared_timeline(1));
  HALYARD_ASSIGN_OR_RETURN(const int number, shared.export_descriptor());
  const Result<hal::SharedTimeline> same = device.import_timeline(number);
  if (!same.ok()) ::close(number);
  HALYARD_RETURN_IF_ERROR(same.status());
  return same->wait(1, kPatience);
}

// Foreign kernels, whose bindings are descriptors; commands of all kinds, and a trace of them.
Status trace_vulkan(const Workplace& workplace, bool) {
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<trace::FileTrace> trace,
                           trace::FileTrace::open(workplace.folder + "/vulkan.json"));
  hal::DriverRegistry registry(std::move(trace));
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open("vulkan://0"));
  HALYARD_ASSIGN_OR_RETURN(const hal::Executable executable, device.load(workplace.shader));
  HALYARD_ASSIGN_OR_RETURN(const hal::Function add, executable.function("add"));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer x, device.allocate(host_visible(4096)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  hal::Recorder recorder(device);
  recorder.fill(hal::slot(0), 5).barrier().dispatch(add, {.groups = 64}, {hal::slot(0)}, {3u});
  HALYARD_ASSIGN_OR_RETURN(const hal::CommandBuffer commands, recorder.finish());
  HALYARD_RETURN_IF_ERROR(
      device.queue().execute(commands, {.bindings = {x}, .signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(1, kPatience));
  HALYARD_RETURN_IF_ERROR(holds(x, 8));
  // What fails once the work has ended is seen by the next.
  HALYARD_RETURN_IF_ERROR(
      device.queue().execute(commands, {.bindings = {x}, .signal = {{done, 2}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(2, kPatience));
  return holds(x, 8);
}

#endif

Status run_kernel(const Workplace& workplace, std::string_view uri) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open(uri));
  HALYARD_ASSIGN_OR_RETURN(const hal::Executable executable, device.load(workplace.kernels));
  HALYARD_ASSIGN_OR_RETURN(const hal::Function add, executable.function("add"));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer x, device.allocate(host_visible(4096)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  const hal::Queue queue = device.queue();
  hal::Recorder recorder(device);
  recorder.fill(hal::slot(0), 5)
      .barrier()
      .dispatch(add, {.items = 1024}, {hal::slot(0)}, {3u, 1024u});
  HALYARD_ASSIGN_OR_RETURN(const hal::CommandBuffer commands, recorder.finish());
  HALYARD_RETURN_IF_ERROR(queue.execute(commands, {.bindings = {x}, .signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(queue.dispatch(add, {.items = 1024}, {x}, {4u, 1024u},
                                         {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(2, kPatience));
  return holds(x, 12);
}

// A graph, other slots for it, and a graph that is built again for them.
Status replay_graphs(const Workplace& workplace, std::string_view uri) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open(uri));
  HALYARD_ASSIGN_OR_RETURN(const hal::Executable executable, device.load(workplace.kernels));
  HALYARD_ASSIGN_OR_RETURN(const hal::Function add, executable.function("add"));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer x, device.allocate(host_visible(4096)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer y, device.allocate(host_visible(4096)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer z, device.allocate(host_visible(4096)));
  hal::Recorder recorder(device);
  // So many before one command have a node without work between.
  for (std::uint64_t i = 0; i < 20; ++i) recorder.fill(hal::BufferRange{z, 4 * i, 4}, 5);
  recorder.barrier()
      .fill(hal::slot(0), 5)
      .barrier()
      .dispatch(add, {.items = 1024}, {hal::slot(1)}, {3u, 1024u})
      .barrier()
      .copy(hal::slot(1, 0, 4), hal::BufferRange{z, 0, 4});
  HALYARD_ASSIGN_OR_RETURN(const hal::CommandBuffer commands, recorder.finish());
  const hal::BufferRange tables[][2] = {{x, x}, {y, y}, {{x, 0, 0}, y}};
  std::uint64_t value = 0;
  for (const auto& table : tables) {
    HALYARD_RETURN_IF_ERROR(
        device.queue().execute(commands, {.bindings = table, .signal = {{done, ++value}}}));
    HALYARD_RETURN_IF_ERROR(done.wait(value, kPatience));
  }
  HALYARD_RETURN_IF_ERROR(holds(x, 8));
  return holds(y, 11);
}

// What the completion thread asks of a lane with a sleeping waiter in which nothing moves.
Status look_after_stream(const Workplace&, bool) {
  using stream::FakeApi;
  HALYARD_ASSIGN_OR_RETURN(const Ref<stream::ContextGuard<FakeApi>> guard,
                           stream::ContextGuard<FakeApi>::create({}, 0));
  const stream::Inside inside(*guard);
  stream::StreamLane lane({}, {}, guard.get(), 4);
  Status status = lane.open();
  const hal::Operation barrier;
  base::Parker& parker = base::ParkerPool::acquire();
  if (status.ok()) {
    const timeline::Issue issue{.operation = &barrier, .sequence = 1, .want_marker = true};
    status = lane.issue({&issue, 1}, timeline::Doorbell::kRing).status;
  }
  if (status.ok()) status = lane.arm(1, parker);
  if (status.ok()) status = lane.probe();
  base::ParkerPool::release(parker);
  (void)lane.abandon(Status(StatusCode::kCancelled, "the workload ends"));
  return status;
}

#ifdef HALYARD_SIM_CUDA_LIBRARY
// The same file by a name that was not opened before: it is loaded and initialized anew.
std::string cuda_library() {
  static std::atomic<int> count{0};
  std::string detour;
  for (int bits = ++count; bits != 0; bits /= 2) detour += bits % 2 != 0 ? "/." : "//.";
  std::string path = HALYARD_SIM_CUDA_LIBRARY;
  return path.insert(path.rfind('/'), detour);
}
std::string cuda_uri(std::string_view options) {
  return "cuda://0?" + std::string(options) + "&library_path=" + cuda_library();
}

// Compiles each time: its folder of compiled images is empty.
Status run_kernel_on_cuda(const Workplace& workplace, bool) {
  std::filesystem::remove_all(std::getenv("HALYARD_CACHE_DIR"));
  HALYARD_RETURN_IF_ERROR(run_kernel(workplace, cuda_uri("cache=1")));
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open(cuda_uri("cache=0")));
  HALYARD_ASSIGN_OR_RETURN(const hal::Executable large, device.load(workplace.shared_kernels));
  HALYARD_ASSIGN_OR_RETURN(const hal::Function function, large.function("large"));
  return function.resources().status();
}

// Patterns of all sizes, managed memory, and memory of another user.
Status use_cuda_memory(const Workplace&, bool) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device,
                           registry.open(cuda_uri("host_visible=managed")));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer own, device.allocate({.size = 4096}));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer managed, device.allocate(host_visible(4096)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer theirs,
                           hal::import_address(device, own.device_address(), 4096, [] {}));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  const hal::Queue queue = device.queue();
  HALYARD_RETURN_IF_ERROR(queue.fill({theirs, 0, 2048}, 5, 1, {.signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(queue.fill({theirs, 2048, 2048}, 0x0505, 2,
                                     {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  HALYARD_RETURN_IF_ERROR(
      queue.copy(own, managed, {.wait = {{done, 2}}, .signal = {{done, 3}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(3, kPatience));
  return holds(managed, 0x0505'0505);
}

Status use_cuda_peers(const Workplace&, bool) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const auto devices,
                           registry.open_all("cuda://?devices=2&library_path=" + cuda_library()));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer x, devices[0].allocate(host_visible(4096)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, devices[0].create_semaphore());
  HALYARD_RETURN_IF_ERROR(devices[0].queue().fill(x, 6, 4, {.signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(devices[1].queue().fill(
      {x, 0, 64}, 6, 4, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(2, kPatience));
  return holds(x, 6);
}

// A program's own calls do not fail here.
Status use_cuda_stream(const Workplace&, bool) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  const std::string path = cuda_library();
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device,
                           registry.open("cuda://0?cache=0&library_path=" + path));
  HALYARD_ASSIGN_OR_RETURN(const cuda::Library* const library, cuda::Library::open(path));
  const cuda::Functions& own = library->functions();
  struct Stream {
    const cuda::Functions& calls;
    cuda::CUcontext context = nullptr;
    cuda::CUstream handle = nullptr;
    explicit Stream(const cuda::Functions& functions) : calls(functions) {
      (void)calls.cuDevicePrimaryCtxRetain.pointer(&context, 0);
      (void)calls.cuCtxSetCurrent.pointer(context);
      (void)calls.cuStreamCreateWithPriority.pointer(&handle, 1, 0);
      (void)calls.cuCtxSetCurrent.pointer(nullptr);
    }
    ~Stream() {
      (void)calls.cuStreamSynchronize.pointer(handle);
      (void)calls.cuStreamDestroy.pointer(handle);
      (void)calls.cuDevicePrimaryCtxRelease.pointer(0);
    }
  } const stream(own);
  HALYARD_ASSIGN_OR_RETURN(const hal::Queue theirs, hal::import_stream(device, stream.handle));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  HALYARD_RETURN_IF_ERROR(theirs.barrier({.signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(hal::make_stream_wait(theirs, {{done, 1}}));
  return theirs.wait_idle(kPatience);
}

// Never ends, as a lane that is kept may notify it late.
struct CountedNotify final : base::Notify {
  void notify() noexcept override {
    ++count;
    count.notify_all();
  }
  std::atomic<int> count{0};
};

// As look_after_stream(), and polled once it has notified: before that no thread knows how far the
// lane is, so what wakes a sleeper is called.
Status look_after_cuda(stream::CompletionMode mode) {
  using cuda::CudaApi;
  HALYARD_ASSIGN_OR_RETURN(const cuda::Library* const library, cuda::Library::open(cuda_library()));
  const CudaApi api{.cuda = &library->functions(), .device = &library->devices()[0]};
  HALYARD_ASSIGN_OR_RETURN(const Ref<stream::ContextGuard<CudaApi>> guard,
                           stream::ContextGuard<CudaApi>::create(api, 0));
  const stream::Inside inside(*guard);
  auto lane = std::make_unique<stream::Lane<CudaApi, stream::StreamCommands<CudaApi>>>(
      api, stream::StreamCommands<CudaApi>(), guard.get(), 4, mode);
  Status status = lane->open();
  const hal::Operation barrier;
  static CountedNotify notified;
  const int before = notified.count;
  const timeline::Issue issue{.operation = &barrier, .sequence = 1, .want_marker = true};
  if (status.ok()) {
    const timeline::IssueResult result = lane->issue({&issue, 1}, timeline::Doorbell::kRing);
    status = result.unmarked ? lane->mark() : result.status;
  }
  if (status.ok()) status = lane->arm(1, notified);
  if (status.ok()) notified.count.wait(before);
  if (status.ok()) status = lane->probe();
  while (status.ok()) {
    const timeline::Progress progress = lane->poll();
    status = progress.fault;
    if (progress.sequence == 1) break;
  }
  if (lane->abandon(Status(StatusCode::kCancelled, "the workload ends")) ==
      timeline::Abandoned::kStillRunning) {
    lane->keep_for_good(std::move(lane));
  }
  return status;
}
#endif

// Threads of the runtime: host calls of both kinds, callbacks, more released work than one caller
// issues, and a thread that sleeps until another one signals.
Status use_threads(const Workplace&, bool) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open("cpu://?workers=1"));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore gate, device.create_semaphore());
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  const hal::Queue queue = device.queue();
  std::atomic<int> calls{0};
  const auto count = [&calls] { ++calls; };
  HALYARD_RETURN_IF_ERROR(queue.host_call(count, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(queue.host_call(count, {.wait = {{done, 1}}, .signal = {{done, 2}}},
                                          hal::HostCallMode::kMayBlock));
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::uint64_t value = i + 3;
    HALYARD_RETURN_IF_ERROR(queue.barrier({.wait = {{done, 2}}, .signal = {{done, value}}}));
  }
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore called, device.create_semaphore());
  HALYARD_ASSIGN_OR_RETURN(hal::Registration registration,
                           done.on_reach(202, [&](const Status& status) {
                             status.ok() ? (void)called.signal(1) : called.fail(status);
                           }));
  std::thread opener([&gate] { (void)gate.signal(1); });
  const Status status = called.wait(1, kPatience);
  opener.join();
  HALYARD_RETURN_IF_ERROR(status);
  HALYARD_RETURN_IF_ERROR(
      queue.host_call(count, {.signal = {{done, 203}}}, hal::HostCallMode::kMayBlock));
  HALYARD_RETURN_IF_ERROR(done.wait(203, kPatience));
  return calls == 3 ? Status() : wrong("a host call was lost");
}

// Writes a file from one buffer and reads it into another. Independent work succeeds in every case;
// dependent work fails with the same cause.
Status move_files(const Workplace& workplace, std::unique_ptr<hal::FileBackend> backend) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  if (backend != nullptr) registry.files().set_backend(std::move(backend));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open("cpu://?workers=1"));
  constexpr std::uint64_t kSize = 5u << 20;
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer source, device.allocate(host_visible(kSize)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer target, device.allocate(host_visible(kSize)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer other, device.allocate(host_visible(4096)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore written, device.create_semaphore());
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore read, device.create_semaphore());
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore dependent, device.create_semaphore());
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore unrelated, device.create_semaphore());
  HALYARD_ASSIGN_OR_RETURN(const hal::File file,
                           hal::File::open(workplace.folder + "/transfers",
                                           hal::FileAccess::kReadWrite, hal::FileCreation::kEmpty));
  const base::Descriptor same(::open((workplace.folder + "/transfers").c_str(), O_RDWR));
  HALYARD_ASSIGN_OR_RETURN(const hal::File imported, hal::File::import_descriptor(same.get()));
  const hal::Queue queue = device.queue();
  HALYARD_RETURN_IF_ERROR(queue.fill(source, kPattern, 4, {.signal = {{written, 1}}}));
  HALYARD_RETURN_IF_ERROR(
      queue.write(source, file, 0, {.wait = {{written, 1}}, .signal = {{written, 2}}}));
  HALYARD_RETURN_IF_ERROR(
      queue.read(imported, 0, target, {.wait = {{written, 2}}, .signal = {{read, 1}}}));
  HALYARD_RETURN_IF_ERROR(queue.barrier({.wait = {{read, 1}}, .signal = {{dependent, 1}}}));
  const Status submitted = queue.fill(other, 7, 4, {.signal = {{unrelated, 1}}});
  const Status end = dependent.wait(1, kPatience);
  if (submitted.ok()) {
    HALYARD_RETURN_IF_ERROR(unrelated.wait(1, kPatience));
    HALYARD_RETURN_IF_ERROR(holds(other, 7));
  }
  const Status cause = read.wait(1, kPatience);
  if (cause.message() != end.message()) return wrong("the dependent's cause is another");
  HALYARD_RETURN_IF_ERROR(end);
  HALYARD_RETURN_IF_ERROR(submitted);
  HALYARD_ASSIGN_OR_RETURN(const std::uint64_t size, file.size());
  if (size != kSize) return wrong("the file's size is another");
  return holds(target, kPattern);
}

// A wait in the kernel that another thread interrupts, as a new transfer does.
Status interrupt_transfers(const Workplace& workplace, bool) {
  const std::unique_ptr<hal::FileBackend> backend = hal::make_uring_backend();
  if (backend == nullptr) return {};
  const base::Descriptor file(::open(workplace.kernels.c_str(), O_RDONLY));
  backend->interrupt();
  for (int i = 0; i < 2; ++i) {  // the second wait finds the pending interruption
    std::byte bytes[16];
    hal::FileRequest request{
        .descriptor = file.get(), .data = bytes, .offset = 0, .length = sizeof bytes};
    backend->start(request);
    hal::FileRequest* ended[hal::FileBackend::kMaxRequests];
    while (backend->reap(ended, true) == 0) {
    }
    if (request.result < 0) return hal::file_error(-request.result, workplace.kernels, "read");
    if (request.result != sizeof bytes) return wrong("a part was not read");
  }
  return {};
}

Status place_memory(const Workplace&, bool whole) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_RETURN_IF_ERROR(registry.open("cpu://?workers=1&affinity=core").status());
  const cpu::Topology topology = cpu::Topology::here();
  const unsigned node = topology.nodes.empty() ? 0 : topology.nodes[0].number;
  const Status bound = cpu::allocate(1u << 16, 64, MemoryType::kDeviceLocal, node).status();
  // The system may forbid it.
  return whole && bound.code() == StatusCode::kUnimplemented ? Status() : bound;
}

Status use_disk_cache(const Workplace& workplace, bool whole) {
  const std::string folder = workplace.folder + "/some/cache";
  std::filesystem::remove_all(workplace.folder + "/some");
  const std::vector<std::byte> bytes(1000, std::byte{7});
  HALYARD_ASSIGN_OR_RETURN(const base::DiskCache cache, base::DiskCache::open(folder, 2500));
  for (std::uint64_t i = 0; i < 4; ++i) {
    HALYARD_RETURN_IF_ERROR(cache.put({i, i}, bytes));
    const base::DiskCache::Entry entry = cache.find({i, i});
    if (whole && !entry) return wrong("an entry is lost");
    if (entry && !std::ranges::equal(entry.bytes(), bytes)) return wrong("an entry is another");
  }
  if (whole && cache.find({0, 0})) return wrong("the oldest entry is not gone");
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open("cpu://?workers=1"));
  HALYARD_ASSIGN_OR_RETURN(const hal::ExecutableCache executables,
                           device.create_executable_cache({.folder = folder}));
  return executables.load(workplace.kernels).status();
}

Status write_trace(const Workplace& workplace, bool whole) {
  const std::string path = workplace.folder + "/trace.json";
  {
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<trace::FileTrace> trace, trace::FileTrace::open(path));
    hal::DriverRegistry registry(std::move(trace));
    HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
    HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open("cpu://?workers=1"));
    HALYARD_ASSIGN_OR_RETURN(const hal::Buffer x, device.allocate(host_visible(64)));
    HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore(0, "traced"));
    HALYARD_RETURN_IF_ERROR(device.queue().fill(x, kPattern, 4, {.signal = {{done, 1}}}));
    HALYARD_RETURN_IF_ERROR(done.wait(1, kPatience));
    HALYARD_RETURN_IF_ERROR(holds(x, kPattern));
  }
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const bool complete = text.find("\"fill\"") != text.npos && text.ends_with("]\n");
  return whole && !complete ? wrong("the trace has no end") : Status();
}

Status build_errors(const Workplace&, bool) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  const Status status = registry.open("cpu://?colour=red").status();
  return status.code() == StatusCode::kInvalidArgument ? Status() : status;
}

// Objects of recordings, and views of shared memory.
Status record(const Workplace& workplace, bool) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open("cpu://?workers=1"));
  HALYARD_ASSIGN_OR_RETURN(const hal::Executable executable, device.load(workplace.kernels));
  HALYARD_ASSIGN_OR_RETURN(const hal::Function add, executable.function("add"));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer x, device.allocate(host_visible(4096)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  HALYARD_ASSIGN_OR_RETURN(const hal::Event event, device.create_event());
  HALYARD_ASSIGN_OR_RETURN(const hal::DescriptorSetLayout layout,
                           device.create_descriptor_set_layout({{.number = 3}}));
  HALYARD_ASSIGN_OR_RETURN(const hal::DescriptorSet set,
                           device.create_descriptor_set(layout, {{3, hal::slot(0)}}));
  HALYARD_ASSIGN_OR_RETURN(const hal::PipelineLayout pipeline,
                           device.create_pipeline_layout({layout}, 8));
  const std::uint32_t constants[] = {3, 1024};
  hal::Recorder recorder(device);
  recorder.begin_debug_group("group").fill(hal::slot(0), 5);
  const hal::CommandId filled = recorder.last();
  recorder.set_event(event).wait_event(event);
  recorder.bind_descriptor_set(pipeline, 0, set)
      .push_constants(pipeline, 0, {reinterpret_cast<const std::byte*>(constants), 8})
      .after({filled})
      .dispatch(add, {.items = 1024})
      .end_debug_group();
  HALYARD_ASSIGN_OR_RETURN(const hal::CommandBuffer commands, recorder.finish());
  HALYARD_RETURN_IF_ERROR(
      device.queue().execute(commands, {.bindings = {x}, .signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(1, kPatience));
  HALYARD_ASSIGN_OR_RETURN(const hal::BufferView view,
                           hal::BufferView::create(x, hal::ElementType::kUint32, {1024}));
  HALYARD_ASSIGN_OR_RETURN(hal::dlpack::ManagedTensor* const tensor, hal::to_dlpack(view));
  const Result<hal::BufferView> same = hal::from_dlpack(device, tensor);
  if (!same.ok()) tensor->deleter(tensor);
  HALYARD_RETURN_IF_ERROR(same.status());
  return holds(same->buffer(), 8);
}

Status drive_queues(const Workplace&, bool) {
  HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<hcq::Device> device, hcq::open_cpu(1));
  HALYARD_ASSIGN_OR_RETURN(hcq::Allocator allocator,
                           hcq::Allocator::create(*device, {.batch_size = 4096, .batch_count = 2}));
  constexpr std::uint64_t kSize = 3 * 4096;
  HALYARD_ASSIGN_OR_RETURN(const hcq::Memory source, allocator.allocate(kSize));
  HALYARD_ASSIGN_OR_RETURN(const hcq::Memory target, allocator.allocate(kSize));
  const std::vector<std::byte> sent(kSize, std::byte{7});
  HALYARD_RETURN_IF_ERROR(allocator.copy_in(source.buffer(), sent.data(), kSize, kPatience));
  hcq::GraphRecorder recorder({.profiling = true});
  recorder.copy(*device, hcq::GraphBuffer(target.buffer()), hcq::GraphBuffer(source.buffer()),
                kSize);
  {
    HALYARD_ASSIGN_OR_RETURN(hcq::Graph graph, recorder.finish());
    HALYARD_RETURN_IF_ERROR(device->synchronize(kPatience));
    HALYARD_RETURN_IF_ERROR(graph.replay({}, kPatience));
    HALYARD_RETURN_IF_ERROR(graph.wait(kPatience));
  }
  std::vector<std::byte> received(kSize);
  HALYARD_RETURN_IF_ERROR(allocator.copy_out(received.data(), target.buffer(), kSize, kPatience));
  return received == sent ? Status() : wrong("the bytes are others");
}

constexpr Section kSections[] = {
    {"memory of a cpu device",
     [](const Workplace&, bool) { return use_memory("cpu://?workers=1"); }},
    {"memory of the user", [](const Workplace&, bool) { return lend_memory("cpu://?workers=1"); }},
    {"memory of a serial device", [](const Workplace&, bool) { return use_memory("serial://"); }},
    {"memory of a stream device", [](const Workplace&, bool) { return use_memory("stream://"); }},
    {"a kernel on a cpu device",
     [](const Workplace& at, bool) { return run_kernel(at, "cpu://?workers=1"); }},
    {"a kernel on a serial device",
     [](const Workplace& at, bool) { return run_kernel(at, "serial://"); }},
    {"a kernel on a stream device",
     [](const Workplace& at, bool) { return run_kernel(at, "stream://"); }},
    {"graphs of a stream device",
     [](const Workplace& at, bool) {
       return replay_graphs(at, "stream://?command_buffer_mode=graph");
     }},
    {"a lane of a stream device that is looked after", look_after_stream},
#if HALYARD_DRIVER_VULKAN
    {"memory of a vulkan device", [](const Workplace&, bool) { return use_memory("vulkan://0"); },
     Section::Needs::kVulkan},
    {"memory of the user, of a vulkan device",
     [](const Workplace&, bool) { return lend_memory("vulkan://0"); }, Section::Needs::kVulkan},
    {"memory that vulkan devices share", share_memory, Section::Needs::kVulkan},
    {"a timeline that vulkan devices share", share_timeline, Section::Needs::kVulkan},
    {"a kernel on a vulkan device",
     [](const Workplace& at, bool) { return run_kernel(at, "vulkan://0"); }, Section::Needs::kVulkan},
    {"a trace of a vulkan device", trace_vulkan, Section::Needs::kVulkan},
#endif
#ifdef HALYARD_SIM_CUDA_LIBRARY
    {"memory of a cuda device",
     [](const Workplace&, bool) { return use_memory(cuda_uri("cache=0")); }, Section::Needs::kCuda},
    {"memory of the user, of a cuda device",
     [](const Workplace&, bool) { return lend_memory(cuda_uri("cache=0")); },
     Section::Needs::kCuda},
    {"a kernel on a cuda device", run_kernel_on_cuda, Section::Needs::kCuda},
    {"graphs of a cuda device",
     [](const Workplace& at, bool) {
       return replay_graphs(at, cuda_uri("cache=0&command_buffer_mode=graph"));
     },
     Section::Needs::kCuda},
    {"memory of a cuda device's kinds", use_cuda_memory, Section::Needs::kCuda},
    {"peers of cuda devices", use_cuda_peers, Section::Needs::kCuda},
    {"a stream of the program", use_cuda_stream, Section::Needs::kCuda},
    {"a lane of a cuda device that is looked after",
     [](const Workplace&, bool) { return look_after_cuda(stream::CompletionMode::kHostCallback); },
     Section::Needs::kCuda},
    {"a lane of a cuda device with a flag",
     [](const Workplace&, bool) { return look_after_cuda(stream::CompletionMode::kFlag); },
     Section::Needs::kCuda},
#endif
    {"threads", use_threads},
    {"files, one at a time",
     [](const Workplace& at, bool) {
       return move_files(at, std::make_unique<hal::BlockingBackend>());
     }},
    {"files by io_uring", [](const Workplace& at, bool) { return move_files(at, nullptr); }},
    {"an interrupted transfer", interrupt_transfers},
    {"places of threads and memory", place_memory},
    {"the disk cache", use_disk_cache},
    {"a trace", write_trace},
    {"errors", build_errors},
    {"recordings", record},
    {"hardware queues", drive_queues},
};

}  // namespace

std::span<const Section> sections() { return kSections; }

Workplace::Workplace()
    : folder((std::filesystem::temp_directory_path() / ("hy-calls-" + std::to_string(::getpid())))
                 .string()),
      kernels(folder + "/add.hyx") {
  std::filesystem::create_directories(folder);
  setenv("HALYARD_CACHE_DIR", (folder + "/pipelines").c_str(), 1);
  const auto write = [](const std::string& path, std::span<const std::byte> bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  };
  // Not with ThreadSanitizer, which sees neither the locks of Mesa's threads nor its code.
#if HALYARD_DRIVER_VULKAN && !HALYARD_TSAN
  {
    // Memory is freed once a call reports a loss, so lavapipe, which knows of none, has ended by
    // then.
    setenv("HALYARD_FAKE_VULKAN", "synchronous,shares", 1);
    setenv("HALYARD_VULKAN_LIBRARY", HALYARD_FAKE_VULKAN_LIBRARY, 1);
    hal::DriverRegistry registry;
    check(register_all_drivers(registry));
    has_vulkan = registry.open("vulkan://0").ok();
  }
#endif
#ifdef HALYARD_SIM_CUDA_LIBRARY
  has_cuda = true;
  shared_kernels = folder + "/large.hyx";
  write(shared_kernels, compiler::write_hyx({.kernels = {{.name = "large",
                                                          .workgroup_size = {1, 1, 1},
                                                          .bindings = {},
                                                          .constants = {},
                                                          .dynamic_shared_bytes = 64u << 10}},
                                             .images = {{"ptx-sm_80", "hy-kernarg-1", kPtx}},
                                             .sources = {}}));
#endif
  if (!has_vulkan && !has_cuda) {
    write(kernels, compile_text_shared(kKernels, "x86-64").value());
    return;
  }
  const std::string source = folder + "/add.hyk", foreign = folder + "/add.comp";
  std::ofstream(source) << kKernels;
  std::vector<std::string> targets = {"x86-64"};
  if (has_vulkan) targets.push_back("spirv-1.5");
  if (has_cuda) targets.push_back("ptx-sm_80");
  write(kernels, compiler::compile({.source = source, .targets = targets}).value());
#if HALYARD_DRIVER_VULKAN
  if (!has_vulkan) return;
  std::ofstream(foreign) << kShader;
  shader = folder + "/shader.hyx";
  write(shader, compiler::compile({.source = foreign, .targets = {"spirv-1.5"}}).value());
#endif
}

Workplace::~Workplace() { std::filesystem::remove_all(folder); }

}  // namespace halyard::testing
