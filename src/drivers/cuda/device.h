// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device: the primary context of one device of CUDA, and lanes in it.
#pragma once

#include <cstdint>
#include <memory>

#include "drivers/cuda/api.h"
#include "drivers/cuda/images.h"
#include "drivers/cuda/library.h"
#include "drivers/cuda/memory_pool.h"
#include "drivers/stream/graph.h"
#include "drivers/stream/lane_set.h"
#include "hal/driver.h"

namespace halyard::inline v0::cuda {

// What a URI chooses of a device.
struct DeviceOptions {
  bool peers = true;  // it uses the memory of the other GPUs that let it
  stream::CompletionMode completion = stream::CompletionMode::kHostCallback;
  bool cache = true;     // what CUDA compiles is kept on disk
  bool managed = false;  // kHostVisible memory, where the host may touch it at any time
  bool async_allocations = false;  // kDeviceLocal memory is of a MemoryPool
  std::uint64_t release_threshold = ~std::uint64_t{0};  // of it
  stream::CommandBufferMode recordings = stream::CommandBufferMode::kAuto;
  // By default longer than most submissions take. CUDA's own waits poll without limit where there
  // are processors for it, and a sleeping thread of an H200's host was woken 20 to 130 us late.
  Nanoseconds poll_time = 2'000'000;
};

class Device final : public hal::DeviceImpl {
 public:
  // On the device of that number of `library`. kUnavailable: it lacks something;
  // kResourceExhausted; as CUDA refuses its context.
  static Result<std::unique_ptr<Device>> create(hal::DeviceInfo info, const Library& library,
                                                unsigned physical, const DeviceOptions& options);
  ~Device() override;

  const hal::DeviceInfo& info() const noexcept override { return info_; }
  timeline::EntryGuard* entry_guard() const noexcept override { return guard_.get(); }
  bool frees_may_block() const noexcept override { return true; }
  bool needs_host_blocks() const noexcept override { return true; }
  const void* wait_domain() const noexcept override { return library_.wait_domain(); }
  const void* memory_domain() const noexcept override { return domain_; }
  bool can_access(const hal::DeviceImpl& owner) const noexcept override;
  Result<Ref<hal::Memory>> allocate(std::uint64_t size, std::uint64_t alignment,
                                    hal::MemoryType type) override;
  Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size) override;
  Result<Ref<hal::Memory>> import_address(std::uint64_t address, std::uint64_t size) override;
  hal::dlpack::Device dlpack_device() const noexcept override {
    return {hal::dlpack::DeviceType::kCuda, static_cast<int>(number_)};
  }
  Result<Ref<hal::ExecutableImpl>> load(kernel::Hyx file) override;
  hal::ImageBuilder* image_builder() noexcept override {
    return options_.cache ? &images_ : nullptr;
  }
  Result<std::unique_ptr<hal::NativeCommands>> prepare(
      const hal::RecordedCommands& recording) override;
  // A non-blocking stream of that priority. Every lane runs every operation.
  Result<timeline::NativeQueue*> open_lane(hal::QueueKind kind,
                                           hal::QueuePriority priority) override;
  Status check_stream(void* stream) override;
  Result<timeline::NativeQueue*> import_lane(void* stream) override;
  bool has_native_events() const noexcept override { return true; }
  void close() override;

 private:
  Device(hal::DeviceInfo info, const Library& library, unsigned physical,
         const DeviceOptions& options, Ref<timeline::EntryGuard> guard);

  const hal::DeviceInfo info_;
  const Library& library_;
  const PhysicalDevice& physical_;
  const unsigned number_;  // of it
  const DeviceOptions options_;
  const void* const domain_;
  const Ref<timeline::EntryGuard> guard_;
  Ref<MemoryPool> pool_;  // null without async_allocations
  Images images_;
  stream::LaneSet<CudaApi> lanes_;
  bool open_ = false;  // counted by the peers of its GPU
};

}  // namespace halyard::inline v0::cuda
