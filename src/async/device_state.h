// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DeviceState: the queues, memory and kernels of one device of a Runtime.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "async/storage.h"
#include "async/tree_timeline.h"
#include "base/array.h"
#include "base/atomic.h"
#include "base/mutex.h"
#include "halyard/async/context.h"
#include "halyard/async/detail/kernel_signature.h"
#include "halyard/hal/device.h"

namespace halyard::inline v0::async::detail {

// A loaded kernel whose reflection matches its declaration.
struct BoundKernel {
  BoundKernel(const KernelSignature& signature_, hal::Function function_);

  const KernelSignature signature;
  const hal::Function function;

  // Changes `arguments` for hal::Launch: removes the shapes of arrays that are flat in the kernel,
  // and the tiles of outputs whose tile is static. kInvalidArgument if such a tile differs.
  Result<hal::Launch> launch(std::span<hal::Argument> arguments,
                             hal::View<hal::Constant> scalars) const;
};

hal::Argument argument_of(const KernelArray& array, const hal::BindingRef& memory) noexcept;

// Hashes the addresses of a Kernel's name and parameters, which are constants. Only their distance
// counts: it does not depend on where the program is loaded, so runs are reproducible.
inline std::uintptr_t hash_of(const KernelSignature& signature) noexcept {
  const auto bits = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
  return bits(signature.name) - bits(signature.parameters.data());
}
// Mixes a hash: the upper half of its product with 2^64 / phi (Knuth, TAOCP 3, 6.4).
inline std::size_t scatter(std::uintptr_t hash) noexcept { return hash * 0x9e3779b97f4a7c15 >> 32; }

struct QueueState {
  hal::Queue queue;
  TreeTimelinePool timelines;
  base::Atomic<std::size_t> active_trees{0};  // trees and parts of trees with a timeline
};

// Holds handles of all devices of the runtime: work in flight on one may wait for another, and a
// device without handles cancels the work that it has not issued.
struct DeviceInfo {
  std::size_t index;                 // of this device
  std::vector<hal::Device> devices;  // of the runtime
  std::size_t queues;                // of this device
};

class DeviceState final : public RefCounted {
 public:
  static Result<Ref<DeviceState>> create(DeviceInfo info, std::vector<std::string> folders);

  const hal::Device& device() const noexcept { return device_; }
  Device handle() noexcept {
    return Device(Ref<RefCounted>(this), info_.index, info_.devices.size());
  }
  const DeviceInfo& info() const noexcept { return info_; }
  std::size_t queue_count() const noexcept { return queues_.size(); }
  std::size_t next_queue() noexcept {
    if (queues_.size() == 1) return 0;
    return next_queue_.fetch_add(1, std::memory_order_relaxed) % queues_.size();
  }
  QueueState& queue(std::size_t index) noexcept { return queues_[index]; }

  // Returns a timeline of the queue's pool, or a new one. The tree releases it to the pool.
  Result<Ref<TreeTimeline>> acquire_timeline(QueueState& queue);

  // Errors of Queue::allocate.
  Result<Ref<TrackedStorage>> allocate(QueueState& queue, const hal::Pool& pool,
                                       const hal::BufferInfo& buffer, const hal::SubmitInfo& info);
  Result<Ref<TrackedStorage>> create_slot();
  // For a buffer of another owner: reclaim() only drops its handle.
  Result<Ref<TrackedStorage>> adopt(QueueState& queue, hal::Buffer buffer);
  // Called when the last reference was dropped: queues a deallocation after the last use, and keeps
  // the object for reuse.
  void reclaim(TrackedStorage& storage) noexcept;

  // Loads the kernel and compares it with the signature on first use.
  Result<const BoundKernel*> bind(const KernelSignature& signature);

 private:
  DeviceState(DeviceInfo info, std::vector<std::string> folders);
  ~DeviceState() override;
  Result<Ref<TrackedStorage>> create_storage(QueueState* home);
  Result<hal::Executable> load(const KernelSignature& signature) const;

  const DeviceInfo info_;
  const hal::Device device_;
  const std::vector<std::string> folders_;
  std::deque<QueueState> queues_;  // constant size; a deque, because QueueState is not movable
  base::Atomic<std::size_t> next_queue_{0};

  // Recently bound kernels by their hash, found without a lock.
  static constexpr std::size_t kRecentKernels = 64;
  base::Atomic<const BoundKernel*>& recent(const KernelSignature& signature) noexcept;
  std::array<base::Atomic<const BoundKernel*>, kRecentKernels> recent_kernels_{};

  base::Mutex mutex_;  // guards the rest
  TrackedStorage* free_ = nullptr;
  base::Array<std::unique_ptr<BoundKernel>> kernels_;
};

}  // namespace halyard::inline v0::async::detail
