// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "call_sites/workload_gpu.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/leak.h"
#include "call_sites/workload_device.h"
#include "drivers/stream/command_buffer.h"
#include "drivers/stream/context.h"
#include "drivers/stream/lane.h"
#include "hal/device/registry.h"
#include "halyard/hal/native.h"
#ifdef HALYARD_SIM_CUDA_LIBRARY
#include "drivers/cuda/api.h"
#include "drivers/cuda/library.h"
#endif
#ifdef HALYARD_SIM_HIP_LIBRARY
#include "drivers/hip/device.h"
#endif

namespace halyard::testing {
namespace {

// The same file by a new name, so that it is loaded and initialized again.
std::string library_of(const Gpu& gpu) {
  static std::atomic<int> count{0};
  std::string detour;
  for (int bits = ++count; bits != 0; bits /= 2) detour += bits % 2 != 0 ? "/." : "//.";
  std::string path(gpu.library);
  return path.insert(path.rfind('/'), detour);
}

// Never destroyed, because a leaked lane may notify it late.
struct CountedNotify final : base::Notify {
  void notify() noexcept override {
    ++count;
    count.notify_all();
  }
  std::atomic<int> count{0};
};

Status use_stream(const hal::Device& device, void* stream) {
  HALYARD_ASSIGN_OR_RETURN(const hal::Queue theirs, hal::import_stream(device, stream));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  HALYARD_RETURN_IF_ERROR(theirs.barrier({.signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(hal::make_stream_wait(theirs, {{done, 1}}));
  return theirs.wait_idle(kPatience);
}

// Polls only after the notification. Before that no thread knows the lane's progress, so the driver
// must call its wake-up.
template <class Api>
Status look_after(const Api& api, stream::CompletionMode mode) {
  HALYARD_ASSIGN_OR_RETURN(const Ref<stream::ContextGuard<Api>> guard,
                           stream::ContextGuard<Api>::create(api, 0));
  const timeline::Visit inside(*guard);
  auto lane = std::make_unique<stream::Lane<Api, stream::StreamCommands<Api>>>(
      api, stream::StreamCommands<Api>(), guard.get(), 4, mode);
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
  const Status over(StatusCode::kCancelled, "the workload ends");
  if (lane->abandon(over, stream::kPatience) == timeline::Abandoned::kStillRunning) {
    base::leak(std::move(lane));
  }
  return status;
}

}  // namespace

std::string gpu_uri(const Gpu& gpu, std::string_view options) {
  return std::string(gpu.driver) + "://0?" + std::string(options) + (options.empty() ? "" : "&") +
         "library_path=" + library_of(gpu);
}

Status use_kinds_of_memory(const Gpu& gpu) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device,
                           registry.open(gpu_uri(gpu, "host_visible=managed")));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer own, device.allocate({.size = 4096}));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer managed, device.allocate(host_visible(4096)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer theirs,
                           hal::import_address(device, own.device_address(), 4096, [] {}));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device pooled,
                           registry.open(gpu_uri(gpu, "async_allocations=1")));
  HALYARD_RETURN_IF_ERROR(pooled.allocate({.size = 4096}).status());
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  const hal::Queue queue = device.queue();
  HALYARD_RETURN_IF_ERROR(queue.fill({theirs, 0, 2048}, 5, 1, {.signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(
      queue.fill({theirs, 2048, 2048}, 0x0505, 2, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  HALYARD_RETURN_IF_ERROR(queue.copy(own, managed, {.wait = {{done, 2}}, .signal = {{done, 3}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(3, kPatience));
  return holds(managed, 0x0505'0505);
}

Status use_peers(const Gpu& gpu) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(
      const auto devices,
      registry.open_all(std::string(gpu.driver) + "://?devices=2&library_path=" + library_of(gpu)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer x, devices[0].allocate(host_visible(4096)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, devices[0].create_semaphore());
  HALYARD_RETURN_IF_ERROR(devices[0].queue().fill(x, 6, 4, {.signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(
      devices[1].queue().fill({x, 0, 64}, 6, 4, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(2, kPatience));
  return holds(x, 6);
}

#ifdef HALYARD_SIM_CUDA_LIBRARY
Status run_kernel_on_cuda(const Workplace& workplace, bool) {
  std::filesystem::remove_all(std::getenv("HALYARD_CACHE_DIR"));
  HALYARD_RETURN_IF_ERROR(run_kernel(workplace, gpu_uri(kCuda, "cache=1")));
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open(gpu_uri(kCuda, "cache=0")));
  HALYARD_ASSIGN_OR_RETURN(const hal::Executable large, device.load(workplace.shared_kernels));
  HALYARD_ASSIGN_OR_RETURN(const hal::Function function, large.function("large"));
  return function.resources().status();
}

// A program's own calls do not fail here.
Status use_cuda_stream(const Workplace&, bool) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  const std::string path = library_of(kCuda);
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
  return use_stream(device, stream.handle);
}

Status look_after_cuda(stream::CompletionMode mode) {
  HALYARD_ASSIGN_OR_RETURN(const cuda::Library* const library,
                           cuda::Library::open(library_of(kCuda)));
  return look_after(cuda::CudaApi::of(library->functions(), library->devices()[0], false), mode);
}
#endif

#ifdef HALYARD_SIM_HIP_LIBRARY
Status run_kernel_on_hip(const Workplace& workplace, bool) {
  HALYARD_RETURN_IF_ERROR(run_kernel(workplace, gpu_uri(kHip)));
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open(gpu_uri(kHip)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Executable executable, device.load(workplace.kernels));
  HALYARD_ASSIGN_OR_RETURN(const hal::Function add, executable.function("add"));
  return add.resources().status();
}

// A program's own calls do not fail here.
Status use_hip_stream(const Workplace&, bool) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  const std::string path = library_of(kHip);
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open("hip://0?library_path=" + path));
  HALYARD_ASSIGN_OR_RETURN(const hip::Library* const library, hip::Library::open(path));
  struct Stream {
    const hip::Functions& calls;
    hip::hipStream_t handle = nullptr;
    explicit Stream(const hip::Functions& functions) : calls(functions) {
      // If a hipSetDevice failed, no guard could restore the thread's device.
      (void)calls.hipSetDevice.pointer(0);
      (void)calls.hipStreamCreateWithPriority.pointer(&handle, hip::hipStreamNonBlocking, 0);
    }
    ~Stream() {
      while (calls.hipStreamQuery.pointer(handle) == hip::hipErrorNotReady) base::spin_yield();
      (void)calls.hipStreamDestroy.pointer(handle);
    }
  } const stream(library->functions());
  return use_stream(device, stream.handle);
}

Status look_after_hip(stream::CompletionMode mode) {
  HALYARD_ASSIGN_OR_RETURN(const hip::Library* const library, hip::Library::open(library_of(kHip)));
  return look_after(hip::HipApi::of(library->functions(), library->devices()[0],
                                    mode == stream::CompletionMode::kEvent),
                    mode);
}
#endif

}  // namespace halyard::testing
