// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DeviceState: a device of a Runtime: its queues, its memory and its kernels.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "async/storage.h"
#include "async/timeline.h"
#include "base/array.h"
#include "base/atomic.h"
#include "base/mutex.h"
#include "halyard/async/context.h"
#include "halyard/async/kernel_signature.h"
#include "halyard/hal/device.h"

namespace halyard::inline v0::async::detail {

// A kernel of this device whose reflection agrees with its declaration.
struct BoundKernel {
  BoundKernel(const KernelSignature& signature_, hal::Function function_);

  const KernelSignature signature;
  const hal::Function function;

  // Changes `arguments` to what hal::Launch wants: an array that is flat in the kernel without its
  // shape, an output whose tile is static without a tile, which is to be the same.
  Result<hal::Launch> launch(std::span<hal::Argument> arguments,
                             hal::View<hal::Constant> scalars) const;
};

hal::Argument argument_of(const KernelArray& array, const hal::BindingRef& memory) noexcept;

// Of a Kernel's name and parameters: constants, whose addresses tell it from others. Their distance
// is the same wherever the program was loaded, so that every run of it does the same.
inline std::uintptr_t hash_of(const KernelSignature& signature) noexcept {
  const auto bits = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
  return bits(signature.name) - bits(signature.parameters.data());
}
// Its upper half, by a multiplication with 2^64 / phi (Knuth, TAOCP 3, 6.4).
inline std::size_t scatter(std::uintptr_t hash) noexcept { return hash * 0x9e3779b97f4a7c15 >> 32; }

struct QueueState {
  hal::Queue queue;
  TimelinePool timelines;
  base::Atomic<std::size_t> trees{0};  // that have a timeline, and parts of trees (Context)
};

// Which device of its runtime, and with how many queues. What is under way on one device may wait
// for another, and a device that nothing keeps open ends what it has not issued: so each keeps all.
struct DeviceInfo {
  std::size_t index;
  std::vector<hal::Device> devices;
  std::size_t queues;
};

class DeviceState final : public RefCounted {
 public:
  static Result<Ref<DeviceState>> create(DeviceInfo info, std::vector<std::string> folders);

  const hal::Device& device() const noexcept { return device_; }
  Device handle() noexcept {
    return Device(Ref<RefCounted>(this), info_.index, info_.devices.size());
  }
  std::size_t queue_count() const noexcept { return queues_.size(); }
  std::size_t next_queue() noexcept {
    if (queues_.size() == 1) return 0;
    return next_queue_.fetch_add(1, std::memory_order_relaxed) % queues_.size();
  }
  QueueState& queue(std::size_t index) noexcept { return queues_[index]; }

  // For one tree on that queue, until it gives it back to the queue's pool.
  Result<Ref<Timeline>> take_timeline(QueueState& queue);

  // Errors of Queue::allocate.
  Result<Ref<TrackedStorage>> allocate(QueueState& queue, const hal::Pool& pool,
                                       const hal::BufferInfo& buffer, const hal::SubmitInfo& info);
  Result<Ref<TrackedStorage>> create_slot();
  // Of memory that has its own way back.
  Result<Ref<TrackedStorage>> adopt(QueueState& queue, hal::Buffer buffer);
  // The last reference has gone: deallocates behind its last use, and keeps the object.
  void give_back(TrackedStorage& storage) noexcept;

  // Loaded and compared on first use.
  Result<const BoundKernel*> bind(const KernelSignature& signature);

 private:
  DeviceState(DeviceInfo info, std::vector<std::string> folders);
  ~DeviceState() override;
  Result<Ref<TrackedStorage>> create_storage(QueueState* home);
  Result<hal::Executable> load(const KernelSignature& signature) const;

  const DeviceInfo info_;
  const hal::Device device_;
  const std::vector<std::string> folders_;
  std::deque<QueueState> queues_;  // as many as at first: a deque since they are not moved
  base::Atomic<std::size_t> next_queue_{0};

  // Of kernels_, those that were asked for last, by a hash: found without a lock.
  static constexpr std::size_t kRecentKernels = 64;
  base::Atomic<const BoundKernel*>& recent(const KernelSignature& signature) noexcept;
  std::array<base::Atomic<const BoundKernel*>, kRecentKernels> recent_kernels_{};

  base::Mutex mutex_;  // guards the rest
  TrackedStorage* free_ = nullptr;
  base::Array<std::unique_ptr<BoundKernel>> kernels_;
};

}  // namespace halyard::inline v0::async::detail
