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
#include "call_sites/workload_device.h"
#include "call_sites/workload_gpu.h"
#include "compiler/compile.h"
#include "compiler/hyx_writer.h"
#include "drivers/cpu/allocator.h"
#include "drivers/cpu/topology.h"
#include "hal/device/registry.h"
#include "hal/files/file.h"
#include "hal/files/file_backend.h"
#include "halyard/hal/buffer_view.h"
#include "halyard/hal/dlpack.h"
#include "halyard/halyard.h"
#include "halyard/hcq/allocator.h"
#include "halyard/hcq/cpu.h"
#include "halyard/hcq/graph.h"
#include "kernel/kernel_test_util.h"
#include "simulation/stream/device.h"

namespace halyard::testing {
namespace {

using namespace std::chrono_literals;
using hal::MemoryType;

constexpr std::string_view kKernels = R"(
#include <halyard/kernel.h>
HY_KERNEL(add, 16, 1, 1, HY_INOUT(uint, x), HY_SCALAR(uint, by), HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) { x[HY_GLOBAL_X] += by; }
}
)";

#ifdef HALYARD_SIM_CUDA_LIBRARY
// Has more shared memory than a launch may have without an explicit opt-in.
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
  const base::Descriptor none(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (device.import_timeline(none.get()).ok()) return wrong("the null device is a timeline");
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
  // A failure after the work has ended appears in the next submission.
  HALYARD_RETURN_IF_ERROR(
      device.queue().execute(commands, {.bindings = {x}, .signal = {{done, 2}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(2, kPatience));
  return holds(x, 8);
}

#endif

// The probe of the completion thread on a lane that has a sleeping waiter and makes no progress.
Status look_after_stream(const Workplace&, bool) {
  using stream::FakeApi;
  HALYARD_ASSIGN_OR_RETURN(const Ref<stream::ContextGuard<FakeApi>> guard,
                           stream::ContextGuard<FakeApi>::create({}, 0));
  const timeline::Visit inside(*guard);
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
  (void)lane.abandon(Status(StatusCode::kCancelled, "the workload ends"), 0);
  return status;
}

// Threads of the runtime: host calls of both kinds, callbacks, more released work than one caller
// issues, and a thread that sleeps until another thread signals.
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
  const Status placed = registry.open("cpu://?workers=1&affinity=core").status();
  const Result<cpu::Topology> topology = cpu::Topology::here();
  // A system that cannot bind threads refuses all of this.
  if (!topology.ok()) return placed.code() == StatusCode::kUnimplemented ? Status() : placed;
  HALYARD_RETURN_IF_ERROR(placed);
  const unsigned node = topology->nodes.empty() ? 0 : topology->nodes[0].number;
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
     [](const Workplace& at, bool) { return run_kernel(at, "vulkan://0"); },
     Section::Needs::kVulkan},
    {"a trace of a vulkan device", trace_vulkan, Section::Needs::kVulkan},
#endif
#ifdef HALYARD_SIM_CUDA_LIBRARY
    {"memory of a cuda device",
     [](const Workplace&, bool) { return use_memory(gpu_uri(kCuda, "cache=0")); },
     Section::Needs::kCuda},
    {"memory of the user, of a cuda device",
     [](const Workplace&, bool) { return lend_memory(gpu_uri(kCuda, "cache=0")); },
     Section::Needs::kCuda},
    {"a kernel on a cuda device", run_kernel_on_cuda, Section::Needs::kCuda},
    {"graphs of a cuda device",
     [](const Workplace& at, bool) {
       return replay_graphs(at, gpu_uri(kCuda, "cache=0&command_buffer_mode=graph"));
     },
     Section::Needs::kCuda},
    {"memory of a cuda device's kinds",
     [](const Workplace&, bool) { return use_kinds_of_memory(kCuda); }, Section::Needs::kCuda},
    {"peers of cuda devices", [](const Workplace&, bool) { return use_peers(kCuda); },
     Section::Needs::kCuda},
    {"a stream of the program", use_cuda_stream, Section::Needs::kCuda},
    {"a lane of a cuda device that is looked after",
     [](const Workplace&, bool) { return look_after_cuda(stream::CompletionMode::kHostCallback); },
     Section::Needs::kCuda},
    {"a lane of a cuda device with a flag",
     [](const Workplace&, bool) { return look_after_cuda(stream::CompletionMode::kFlag); },
     Section::Needs::kCuda},
#endif
#ifdef HALYARD_SIM_HIP_LIBRARY
    {"memory of a hip device", [](const Workplace&, bool) { return use_memory(gpu_uri(kHip)); },
     Section::Needs::kHip},
    {"memory of the user, of a hip device",
     [](const Workplace&, bool) { return lend_memory(gpu_uri(kHip)); }, Section::Needs::kHip},
    {"a kernel on a hip device", run_kernel_on_hip, Section::Needs::kHip},
    {"graphs of a hip device",
     [](const Workplace& at, bool) {
       return replay_graphs(at, gpu_uri(kHip, "command_buffer_mode=graph"));
     },
     Section::Needs::kHip},
    {"memory of a hip device's kinds",
     [](const Workplace&, bool) { return use_kinds_of_memory(kHip); }, Section::Needs::kHip},
    {"peers of hip devices", [](const Workplace&, bool) { return use_peers(kHip); },
     Section::Needs::kHip},
    {"a stream of the program, of a hip device", use_hip_stream, Section::Needs::kHip},
    {"a lane of a hip device that is looked after",
     [](const Workplace&, bool) { return look_after_hip(stream::CompletionMode::kHostCallback); },
     Section::Needs::kHip},
    {"a lane of a hip device with a flag",
     [](const Workplace&, bool) { return look_after_hip(stream::CompletionMode::kFlag); },
     Section::Needs::kHip},
    {"a lane of a hip device that sleeps on events",
     [](const Workplace&, bool) { return look_after_hip(stream::CompletionMode::kEvent); },
     Section::Needs::kHip},
    {"a device of HIP 5.6",
     [](const Workplace& at, bool) { return run_kernel(at, gpu_uri(kOldHip)); },
     Section::Needs::kHip},
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
#ifdef HALYARD_SIM_HIP_LIBRARY
  has_hip = true;
#endif
  if (!has_vulkan && !has_cuda && !has_hip) {
    write(kernels, compile_text_shared(kKernels, "x86-64").value());
    return;
  }
  const std::string source = folder + "/add.hyk", foreign = folder + "/add.comp";
  std::ofstream(source) << kKernels;
  std::vector<std::string> targets = {"x86-64"};
  if (has_vulkan) targets.push_back("spirv-1.5");
  if (has_cuda) targets.push_back("ptx-sm_80");
  if (has_hip) targets.push_back("hsaco-gfx1100");
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
