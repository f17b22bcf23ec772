// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device: the context of one device of a native library, and lanes in it.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/format.h"
#include "drivers/stream/allocator.h"
#include "drivers/stream/command_buffer.h"
#include "drivers/stream/context.h"
#include "drivers/stream/device_api.h"
#include "drivers/stream/graph.h"
#include "drivers/stream/images.h"
#include "drivers/stream/lane_set.h"
#include "drivers/stream/library.h"
#include "drivers/stream/memory_pool.h"
#include "drivers/stream/options.h"
#include "hal/device/driver.h"

namespace halyard::inline v0::stream {

template <DeviceApi Api>
class Device final : public hal::DeviceImpl, private hal::NativeInterop {
 public:
  // Opens the device of `library` with that number. Returns kUnavailable if the device lacks
  // something, kResourceExhausted, and the library's errors for its context.
  static Result<std::unique_ptr<Device>> create(hal::DeviceInfo info, const Library<Api>& library,
                                                unsigned physical, DeviceOptions options) {
    const auto& its = library.devices()[physical];
    if (!its.lacks.empty()) {
      return error(StatusCode::kUnavailable, "{}: {} ({}) lacks {}", Api::kDriver, info.uri,
                   its.name, its.lacks);
    }
    if (options.completion == CompletionMode::kFlag && !its.writes_values) {
      return error(StatusCode::kUnavailable,
                   "{}: {} ({}) lacks what completion_mode=flag needs: streams that write 64 bits",
                   Api::kDriver, info.uri, its.name);
    }
    if (!options.completion) {
      // The host's read of a word that a stream wrote does not order its reads of managed memory.
      const bool no_flag = options.managed && its.completion == CompletionMode::kFlag;
      options.completion = no_flag ? CompletionMode::kEvent : its.completion;
    }
    const Api api = api_of(library, its, options);
    HALYARD_ASSIGN_OR_RETURN(Ref<ContextGuard<Api>> guard,
                             ContextGuard<Api>::create(api, static_cast<unsigned>(its.handle)));
    const typename Api::Context context = guard->context();
    std::unique_ptr<Device> device(
        new (std::nothrow) Device(std::move(info), library, physical, options, std::move(guard)));
    if (device == nullptr) {
      return error(StatusCode::kResourceExhausted, "{}: no memory for a device", Api::kDriver);
    }
    if (options.peers) {
      const timeline::Visit inside(*device->guard_);
      HALYARD_RETURN_IF_ERROR(library.peers().open(api, physical, its.handle, context));
      device->open_ = true;
    }
    if (options.async_allocations) {
      HALYARD_ASSIGN_OR_RETURN(device->pool_,
                               MemoryPool<Api>::create(api, device->guard_, its, library.devices(),
                                                       options.peers, options.release_threshold));
    }
    return device;
  }
  ~Device() override { close(); }

  const hal::DeviceInfo& info() const noexcept override { return info_; }
  timeline::EntryGuard* entry_guard() const noexcept override { return guard_.get(); }
  bool frees_may_block() const noexcept override { return true; }
  bool needs_host_blocks() const noexcept override { return true; }
  const void* wait_domain() const noexcept override { return library_.wait_domain(); }
  const void* memory_domain() const noexcept override { return domain_; }
  // All devices of its wait domain belong to the same library, so they are of this class.
  bool can_access(const hal::DeviceImpl& owner) const noexcept override {
    if (owner.memory_domain() == domain_) return true;
    if (owner.wait_domain() != wait_domain()) return false;
    const auto& other = static_cast<const Device&>(owner);
    return options_.peers && other.options_.peers &&
           library_.peers().enabled(number_, other.number_);
  }

  Result<Ref<hal::Memory>> allocate(std::uint64_t size, std::uint64_t alignment,
                                    hal::MemoryType type) override {
    const timeline::Visit inside(*guard_);
    const bool managed = options_.managed && physical_.concurrent_managed;
    return Allocator<Api>{api_, guard_, domain_, managed, pool_.get()}.allocate(size, alignment,
                                                                                type);
  }
  Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size) override {
    if (!physical_.registers_memory) {
      return error(StatusCode::kUnimplemented, "{}: the device imports no memory of the host",
                   Api::kDriver);
    }
    const timeline::Visit inside(*guard_);
    return Allocator<Api>{api_, guard_, domain_}.import_memory(data, size);
  }

  Result<Ref<hal::ExecutableImpl>> load(kernel::Hyx file) override {
    const timeline::Visit inside(*guard_);
    return images_.open(std::move(file), options_.cache);
  }
  hal::NativeInterop* native_interop() noexcept override { return this; }
  hal::ImageBuilder* image_builder() noexcept override {
    return CompilerApi<Api> && options_.cache ? &images_ : nullptr;
  }
  Result<std::unique_ptr<hal::NativeCommands>> prepare(
      const hal::RecordedCommands& recording) override {
    using Graphs = GraphCommandBuffer<Api>;
    if (!Graphs::suits(recording, options_.recordings)) {
      return CommandBuffer::create(recording, Api::kDriver);
    }
    const timeline::Visit inside(*guard_);
    Api api = api_;
    HALYARD_RETURN_IF_ERROR(api.prepare_graphs());
    return Graphs::create(api, recording, options_.recordings, physical_.limits.max_in_flight);
  }

  // Opens a lane on a non-blocking stream of that priority. Every lane runs every operation.
  Result<timeline::NativeQueue*> open_lane(hal::QueueKind, hal::QueuePriority priority) override {
    const timeline::Visit inside(*guard_);
    int least = 0, greatest = 0;  // lower numbers go first
    HALYARD_RETURN_IF_ERROR(api_.priority_range(least, greatest));
    LaneOptions options = lane_options();
    switch (priority) {
      case hal::QueuePriority::kLow:
        options.priority = least;
        break;
      case hal::QueuePriority::kNormal:
        options.priority = (least + greatest) / 2;
        break;
      case hal::QueuePriority::kHigh:
        options.priority = greatest;
        break;
    }
    return lanes_.open(api_, guard_.get(), options);
  }

  void close() override {
    const timeline::Visit inside(*guard_);
    lanes_.close();
    if (std::exchange(open_, false)) library_.peers().close(number_);
  }

 private:
  // NativeInterop
  Result<Ref<hal::Memory>> import_address(std::uint64_t address, std::uint64_t size) override {
    const timeline::Visit inside(*guard_);
    return Allocator<Api>{api_, guard_, domain_}.import_address(address, size,
                                                                static_cast<int>(number_));
  }
  hal::dlpack::Device dlpack_device() const noexcept override {
    return {Api::kDeviceType, static_cast<int>(number_)};
  }
  Status check_stream(void* stream) override {
    const timeline::Visit inside(*guard_);
    return api_.check_import(static_cast<typename Api::Stream>(stream));
  }
  Result<timeline::NativeQueue*> import_lane(void* stream) override {
    const timeline::Visit inside(*guard_);
    return lanes_.open(api_, guard_.get(), lane_options(),
                       static_cast<typename Api::Stream>(stream));
  }

  Device(hal::DeviceInfo info, const Library<Api>& library, unsigned physical,
         const DeviceOptions& options, Ref<timeline::EntryGuard> guard)
      : info_(std::move(info)),
        library_(library),
        physical_(library.devices()[physical]),
        number_(physical),
        options_(options),
        domain_(library.memory_domain(physical, options.peers)),
        api_(api_of(library, physical_, options)),
        guard_(std::move(guard)),
        images_(api_, guard_) {}

  static Api api_of(const Library<Api>& library, const typename Api::PhysicalDevice& device,
                    const DeviceOptions& options) noexcept {
    return Api::of(library.functions(), device,
                   options.completion != CompletionMode::kHostCallback);
  }
  LaneOptions lane_options() const noexcept {
    return {.max_in_flight = physical_.limits.max_in_flight,
            .mode = *options_.completion,
            .poll_time = options_.poll_time};
  }

  const hal::DeviceInfo info_;
  const Library<Api>& library_;
  const typename Api::PhysicalDevice& physical_;
  const unsigned number_;  // of the device in its library
  const DeviceOptions options_;
  const void* const domain_;
  const Api api_;
  const Ref<timeline::EntryGuard> guard_;
  Ref<MemoryPool<Api>> pool_;  // null without async_allocations
  Images<Api> images_;
  LaneSet<Api> lanes_;
  bool open_ = false;  // counted by the peers of its GPU
};

}  // namespace halyard::inline v0::stream
