// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HcqDevice: the hardware-queue device that hcq::open_cpu() opens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/atomic.h"
#include "drivers/cpu/allocator.h"
#include "drivers/cpu/encoder.h"
#include "drivers/cpu/host_queue.h"
#include "drivers/cpu/ring_group.h"
#include "drivers/cpu/workers.h"
#include "halyard/hcq/device.h"
#include "hcq/timeline.h"

namespace halyard::inline v0::cpu {

// Limits and options that make this device behave like other hardware, for tests.
struct HcqDeviceOptions {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  HostQueueLimits limits;
  // With 32 bits, a submission cannot signal or wait for a larger value.
  unsigned signal_bits = 64;
  // The last value of a signal of a timeline, before the timeline continues with another signal.
  // The default is half the range of 32 bits, or kNever with 64-bit signals.
  std::optional<std::uint64_t> timeline_limit;
  std::uint64_t timeline_start = 0;
  // False: copies are commands of the compute queue.
  bool has_copy_queue = true;
  // The size of the device's memory in bytes.
  std::uint64_t memory_size = kNever;
  // The group of devices that share memory with this device; by default all cpu devices.
  const void* peer_group = domain();
};

class HcqDevice final : public hcq::Device {
 public:
  // With 0 workers the device runs only through group(). Returns kResourceExhausted.
  static Result<std::unique_ptr<HcqDevice>> create(unsigned workers,
                                                   const HcqDeviceOptions& options = {});
  ~HcqDevice() override;

  RingGroup& group() noexcept { return group_; }

 private:
  HcqDevice(std::unique_ptr<hcq::detail::Timeline> timeline, unsigned workers,
            const HcqDeviceOptions& options) noexcept
      : Device(std::move(timeline), {.target = HostKernel::kTarget,
                                     .signal_bits = options.signal_bits,
                                     .has_copy_queue = options.has_copy_queue}),
        options_(options),
        group_(workers),
        workers_(group_) {}
  Status submit(hcq::QueueType type, const hcq::detail::CommandList& commands) override;
  Status submit(hcq::QueueType type, hcq::detail::BoundList& commands) override;
  Result<Ref<hcq::detail::BoundList>> bind(const hcq::detail::CommandList& commands) override;
  HostQueue& queue(hcq::QueueType type) noexcept {
    return type == hcq::QueueType::kCompute ? *compute_ : *copy_;
  }
  hcq::Buffer allocate_memory(hcq::MemoryType type, std::uint64_t size) noexcept override;
  void free_memory(hcq::MemoryType type, const hcq::Buffer& memory) noexcept override;
  const void* peer_group() const noexcept override { return options_.peer_group; }

  const HcqDeviceOptions options_;
  base::Atomic<std::uint64_t> memory_used_{0};
  RingGroup group_;
  Workers workers_;
  std::unique_ptr<HostQueue> compute_;
  std::unique_ptr<HostQueue> copy_;  // null if it has none
};

}  // namespace halyard::inline v0::cpu
