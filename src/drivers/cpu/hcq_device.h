// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HcqDevice: the raw hardware-queue device behind hcq::open_cpu().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/atomic.h"
#include "drivers/cpu/allocator.h"
#include "drivers/cpu/workers.h"
#include "halyard/hcq/device.h"
#include "hcq/host_queue.h"
#include "hcq/ring_group.h"
#include "hcq/timeline.h"

namespace halyard::inline v0::cpu {

// Beyond the limits, what makes this device behave like other hardware, in tests.
struct HcqDeviceOptions {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  hcq::HostQueueLimits limits;
  // 32: a submission cannot signal or wait for a larger value.
  unsigned signal_bits = 64;
  // The last value of a timeline signal before the timeline goes on with another. By default half
  // of what 32 bits hold, or never.
  std::optional<std::uint64_t> timeline_limit;
  std::uint64_t timeline_start = 0;
  // Bytes of memory that the device has.
  std::uint64_t memory_size = kNever;
  // What shares memory with the device; by default all cpu devices.
  const void* peer_group = domain();
};

class HcqDevice final : public hcq::Device {
 public:
  // With 0 workers the device is stepped by hand, through group(). kResourceExhausted.
  static Result<std::unique_ptr<HcqDevice>> create(unsigned workers,
                                                   const HcqDeviceOptions& options = {});
  ~HcqDevice() override;

  hcq::RingGroup& group() noexcept { return group_; }

 private:
  HcqDevice(std::unique_ptr<hcq::detail::Timeline> timeline, unsigned workers,
            const HcqDeviceOptions& options) noexcept
      : Device(std::move(timeline)), options_(options), group_(workers), workers_(group_) {}
  Status submit(hcq::QueueType type, const hcq::detail::CommandList& commands) override;
  Status submit(hcq::QueueType type, hcq::detail::BoundList& commands) override;
  Result<Ref<hcq::detail::BoundList>> bind(const hcq::detail::CommandList& commands) override;
  // kOutOfRange beyond 32 bits, for devices that have no more.
  static Status check_value(hcq::PacketKind kind, const std::uint64_t* words);
  static Status check_values(hcq::HostImage& image);
  hcq::HostQueue& queue(hcq::QueueType type) noexcept {
    return type == hcq::QueueType::kCompute ? *compute_ : *copy_;
  }
  hcq::Buffer allocate_memory(hcq::MemoryType type, std::uint64_t size) noexcept override;
  void free_memory(hcq::MemoryType type, const hcq::Buffer& memory) noexcept override;
  const void* peer_group() const noexcept override { return options_.peer_group; }

  const HcqDeviceOptions options_;
  base::Atomic<std::uint64_t> memory_used_{0};
  hcq::RingGroup group_;
  Workers workers_;
  std::unique_ptr<hcq::HostQueue> compute_;
  std::unique_ptr<hcq::HostQueue> copy_;
};

}  // namespace halyard::inline v0::cpu
