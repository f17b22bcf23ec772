// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/device.h"

#include <new>
#include <utility>

#include "base/format.h"
#include "drivers/cuda/allocator.h"
#include "drivers/cuda/error.h"
#include "drivers/stream/command_buffer.h"
#include "drivers/stream/context.h"

namespace halyard::inline v0::cuda {
namespace {

CudaApi api_of(const Library& library, const PhysicalDevice& physical,
               const DeviceOptions& options) noexcept {
  return {.cuda = &library.functions(),
          .device = &physical,
          .sleeps_on_events = options.completion != stream::CompletionMode::kHostCallback};
}

}  // namespace

Result<std::unique_ptr<Device>> Device::create(hal::DeviceInfo info, const Library& library,
                                               unsigned physical, const DeviceOptions& options) {
  const PhysicalDevice& its = library.devices()[physical];
  if (!its.lacks.empty()) {
    return error(StatusCode::kUnavailable, "cuda: {} ({}) lacks {}", info.uri, its.name, its.lacks);
  }
  if (options.completion == stream::CompletionMode::kFlag && !its.writes_values) {
    return error(StatusCode::kUnavailable,
                 "cuda: {} ({}) lacks what completion_mode=flag needs: streams that write 64 bits",
                 info.uri, its.name);
  }
  HALYARD_ASSIGN_OR_RETURN(Ref<stream::ContextGuard<CudaApi>> guard,
                           stream::ContextGuard<CudaApi>::create(
                               api_of(library, its, options), static_cast<unsigned>(its.handle)));
  std::unique_ptr<Device> device(
      new (std::nothrow) Device(std::move(info), library, physical, options, std::move(guard)));
  if (device == nullptr) {
    return error(StatusCode::kResourceExhausted, "cuda: no memory for a device");
  }
  if (options.peers) {
    const stream::Inside inside(*device->guard_);
    HALYARD_RETURN_IF_ERROR(library.peers().open(library.functions(), physical, its.handle));
    device->open_ = true;
  }
  if (options.async_allocations) {
    HALYARD_ASSIGN_OR_RETURN(device->pool_,
                             MemoryPool::create(library.functions(), device->guard_, its,
                                                library.devices(), options.peers,
                                                options.release_threshold));
  }
  return device;
}

Device::Device(hal::DeviceInfo info, const Library& library, unsigned physical,
               const DeviceOptions& options, Ref<timeline::EntryGuard> guard)
    : info_(std::move(info)),
      library_(library),
      physical_(library.devices()[physical]),
      number_(physical),
      options_(options),
      domain_(library.memory_domain(physical, options.peers)),
      guard_(std::move(guard)),
      images_(api_of(library, physical_, options), guard_) {}

Device::~Device() { close(); }

// Only devices of one library are in its wait domain, and they are all of this class.
bool Device::can_access(const hal::DeviceImpl& owner) const noexcept {
  if (owner.memory_domain() == domain_) return true;
  if (owner.wait_domain() != wait_domain()) return false;
  const auto& other = static_cast<const Device&>(owner);
  return options_.peers && other.options_.peers && library_.peers().enabled(number_, other.number_);
}

Result<Ref<hal::Memory>> Device::allocate(std::uint64_t size, std::uint64_t alignment,
                                          hal::MemoryType type) {
  const stream::Inside inside(*guard_);
  const bool managed = options_.managed && physical_.concurrent_managed;
  return Allocator{library_.functions(), guard_, domain_, managed, pool_.get()}.allocate(
      size, alignment, type);
}

Result<Ref<hal::Memory>> Device::import_memory(std::byte* data, std::uint64_t size) {
  if (!physical_.registers_memory) {
    return Status(StatusCode::kUnimplemented, "cuda: the device imports no memory of the host");
  }
  const stream::Inside inside(*guard_);
  return Allocator{library_.functions(), guard_, domain_}.import_memory(data, size);
}

Result<Ref<hal::Memory>> Device::import_address(std::uint64_t address, std::uint64_t size) {
  const stream::Inside inside(*guard_);
  return Allocator{library_.functions(), guard_, domain_}.import_address(
      address, size, static_cast<int>(number_));
}

Result<Ref<hal::ExecutableImpl>> Device::load(kernel::Hyx file) {
  const stream::Inside inside(*guard_);
  return images_.open(std::move(file), options_.cache);
}

Result<std::unique_ptr<hal::NativeCommands>> Device::prepare(
    const hal::RecordedCommands& recording) {
  using Graphs = stream::GraphCommandBuffer<CudaApi>;
  if (!Graphs::suits(recording, options_.recordings)) {
    return stream::CommandBuffer::create(recording, CudaApi::kDriver);
  }
  const stream::Inside inside(*guard_);
  CudaApi api = api_of(library_, physical_, options_);
  HALYARD_RETURN_IF_ERROR(api.current_context(api.graph_context));
  return Graphs::create(api, recording, options_.recordings, kMaxInFlight);
}

Result<timeline::NativeQueue*> Device::open_lane(hal::QueueKind, hal::QueuePriority priority) {
  const stream::Inside inside(*guard_);
  CudaApi api = api_of(library_, physical_, options_);
  // Both are 0 where there are no priorities. Lower numbers go first.
  int least = 0, greatest = 0;
  HALYARD_RETURN_IF_ERROR(to_status(api.cuda->cuCtxGetStreamPriorityRange(&least, &greatest),
                                    "cuCtxGetStreamPriorityRange"));
  switch (priority) {
    case hal::QueuePriority::kLow:
      api.priority = least;
      break;
    case hal::QueuePriority::kNormal:
      api.priority = (least + greatest) / 2;
      break;
    case hal::QueuePriority::kHigh:
      api.priority = greatest;
      break;
  }
  return lanes_.open(api, guard_.get(), kMaxInFlight, options_.completion, options_.poll_time);
}

Status Device::check_stream(void* stream) {
  const auto handle = static_cast<CUstream>(stream);
  if (handle == nullptr ||
      reinterpret_cast<std::uintptr_t>(stream) == CU_STREAM_PER_THREAD_AS_INT) {
    return Status(StatusCode::kInvalidArgument,
                  "cuda: null and CU_STREAM_PER_THREAD are no streams of their own; the legacy "
                  "default stream is CU_STREAM_LEGACY");
  }
  const stream::Inside inside(*guard_);
  const Functions& cuda = library_.functions();
  CUcontext own = nullptr, its = nullptr;
  HALYARD_RETURN_IF_ERROR(to_status(cuda.cuCtxGetCurrent(&own), "cuCtxGetCurrent"));
  HALYARD_RETURN_IF_ERROR(to_status(cuda.cuStreamGetCtx(handle, &its), "cuStreamGetCtx"));
  if (its == own) return {};
  return Status(StatusCode::kPermissionDenied, "cuda: the stream is of another context");
}

Result<timeline::NativeQueue*> Device::import_lane(void* stream) {
  const stream::Inside inside(*guard_);
  return lanes_.open(api_of(library_, physical_, options_), guard_.get(), kMaxInFlight,
                     options_.completion, options_.poll_time, static_cast<CUstream>(stream));
}

void Device::close() {
  const stream::Inside inside(*guard_);
  lanes_.close();
  if (std::exchange(open_, false)) library_.peers().close(number_);
}

}  // namespace halyard::inline v0::cuda
