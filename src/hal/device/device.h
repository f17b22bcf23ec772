// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DeviceObject: one open device.
//
//     handles: Device, Queue, and one in each buffer, executable, command buffer, descriptor set,
//              layout, event and semaphore
//
//     open ── last handle dropped, on any thread ──> retiring ── stepped by the shell ──> closed
//
//     retiring:  wait for work in flight; fail parked submissions; wait until no thread is inside
//                the queues; close the driver's device; release the object
//
// Submissions in flight refer to memory, executables and recordings, not to handles, so they never
// keep a device open. The object outlives its queues' work and every block of its pool.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/format.h"
#include "base/mutex.h"
#include "hal/device/driver.h"
#include "hal/device/peers.h"
#include "hal/memory/block_pool.h"
#include "hal/memory/host_blocks.h"
#include "hal/memory/pool.h"
#include "hal/memory/reclaim.h"
#include "hal/queue/queue.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/device.h"
#include "timeline/engine.h"

namespace halyard::inline v0::hal {

class CopyPath;
class DriverRegistry;
class FileTransfers;

class DeviceObject final : public RefCounted {
 public:
  static constexpr std::string_view kTypeName = "device";

  // Takes ownership of `impl`, and closes it on error.
  static Result<Device> create(DriverRegistry& registry, std::unique_ptr<DeviceImpl> impl,
                               const Peers::Domains& domains);

  // The URI, followed by "#2" or another number if an open device already has the same URI.
  std::string_view name() const noexcept { return timeline_.name(); }
  // Every call to the driver's device goes through this.
  timeline::Entered<DeviceImpl> driver() const noexcept { return {*impl_, guard_.get()}; }
  // Calls a function of an interface that the driver's device may have (capabilities.h). Without
  // the interface, returns kUnimplemented: "the device <lacks>".
  template <class Interface, class R, class... Parameters>
  R call(R (Interface::*function)(Parameters...), const char* lacks,
         std::type_identity_t<Parameters>... arguments) const {
    const timeline::Entered<DeviceImpl> inside = driver();
    Interface* interface = nullptr;
    if constexpr (std::is_same_v<Interface, NativeInterop>) {
      interface = inside->native_interop();
    } else {
      interface = inside->descriptor_sharing();
    }
    if (interface != nullptr) return (interface->*function)(arguments...);
    return error(StatusCode::kUnimplemented, "the device {}", lacks);
  }
  timeline::EntryGuard* entry_guard() const noexcept { return guard_.get(); }
  const DeviceInfo& info() const noexcept { return impl_->info(); }
  // Null if the thread that drops the last reference frees a native object.
  const Ref<Reclaimer>& reclaimer() const noexcept { return reclaimer_; }
  PendingFrees& pending_frees() noexcept;  // of the runtime
  // Adds memory from the driver to the counters, and assigns it to the reclaimer, if the device has
  // one.
  void adopt(Memory& memory) noexcept;
  const void* memory_domain() const noexcept { return memory_domain_; }
  // Whether work of this device can use memory of `owner`.
  bool can_access(const DeviceObject& owner) const noexcept {
    return &peers_ == &owner.peers_ && peers_.can_access(domains_.memory, owner.domains_.memory);
  }
  timeline::Device& timeline() noexcept { return timeline_; }
  timeline::Engine& engine() const noexcept { return timeline_.engine(); }
  // Whether the accesses of its queues are checked (`?check=1`). Constant once a user has the
  // device.
  bool checks() const noexcept { return checks_; }
  void set_checks(bool checks) noexcept { checks_ = checks; }
  BlockPool& blocks() noexcept { return blocks_; }
  bool needs_host_blocks() const noexcept { return static_cast<bool>(host_blocks_); }
  // Allocates memory for bytes that the device copies. Precondition: it needs host blocks.
  Result<HostBlock> allocate_host_block(std::uint64_t size);
  bool works_in_host_memory() const noexcept { return works_in_host_memory_; }
  // Memory that is not counted: allocate_host_memory() returns kHostLocal memory,
  // import_memory_of() host memory of another device, which it retains. Returns kUnimplemented or
  // kInvalidArgument if the device cannot import it.
  Result<Ref<Memory>> allocate_host_memory(std::uint64_t size, std::uint64_t alignment);
  Result<Ref<Memory>> import_memory_of(Memory& other);
  const DeviceLimits& limits() const noexcept { return limits_; }
  FileTransfers& files() const noexcept;
  // For copies between this device and `other`, of the same runtime; both are open.
  Result<Ref<CopyPath>> copy_path(DeviceObject& other);
  bool same_runtime(const DeviceObject& other) const noexcept { return &peers_ == &other.peers_; }
  const Ref<MemoryCounters>& memory_counters() const noexcept { return memory_counters_; }
  base::Mutex& event_mutex() noexcept { return event_mutex_; }
  QueueObject& queue(QueueKind kind) noexcept { return queues_[static_cast<int>(kind)]; }
  // If `stream` is not null, the queue runs in that stream, which the user of the native library
  // created.
  Result<Queue> create_queue(const QueueInfo& info, void* stream = nullptr);
  Result<Queue> import_stream(void* stream, std::string_view name);

  PoolObject& default_pool(MemoryType memory) noexcept {
    return *default_pools_[static_cast<int>(memory)];
  }
  // The device lists a pool until the pool or the device ends.
  void add_pool(PoolObject& pool) noexcept;
  void remove_pool(PoolObject& pool) noexcept;
  // Makes submissions that wait for pool memory ask again.
  void retry_queues() noexcept {
    for_each_queue([](QueueObject& queue) { queue.retry(); });
  }
  // Retires all submissions that have ended, including those that no thread waits for. Called by
  // the reclaim shell.
  void retire_queues() noexcept {
    for_each_queue([](QueueObject& queue) { (void)queue.in_flight(); });
  }

  // The reclaim shell calls this once handles are gone, until it returns true: the device is
  // closed, and the caller must not touch it again. Never blocks on the device.
  bool step_retire() noexcept;

 private:
  friend class DriverRegistry;
  static constexpr int kMemoryTypes = 3;
  static constexpr QueueKind kQueueKinds[] = {QueueKind::kCompute, QueueKind::kCopy};

  // A queue that create_queue() made. It lives as long as the device: lanes, promises and frontiers
  // of pools refer to its lane.
  struct Created {
    Created(DeviceObject& device, const QueueInfo& info, void* stream) noexcept
        : queue(device, info.kind, info.priority, stream) {}
    QueueObject queue;
    Created* next = nullptr;
    base::Atomic<bool> spare{false};  // no handle is left; the thread that clears it owns the queue
  };

  DeviceObject(DriverRegistry& registry, std::unique_ptr<DeviceImpl> impl,
               const Peers::Domains& domains);
  ~DeviceObject() override;
  Created* find_spare(const QueueInfo& info, const void* stream);
  Result<Created*> open_queue(const QueueInfo& info, void* stream);
  // Appends to the message of kResourceExhausted how many queues are kept without a handle.
  Status with_spare_queues(Status status) const;
  template <class F>
  void for_each_queue(F&& fn) {
    for (QueueObject& queue : queues_) fn(queue);
    for (Created* at = created_.load(std::memory_order_acquire); at != nullptr; at = at->next) {
      fn(at->queue);
    }
  }
  void on_last_handle() noexcept override;
  void destroy() noexcept override;
  void leak() noexcept;
  Status create_default_pools();
  bool in_flight() noexcept;
  bool close_pools() noexcept;

  DriverRegistry& registry_;
  std::unique_ptr<DeviceImpl> impl_;
  const Ref<timeline::EntryGuard> guard_;  // may be null
  Ref<Reclaimer> reclaimer_;               // may be null
  const void* const memory_domain_;
  const Peers& peers_;
  const Peers::Domains domains_;
  const DeviceLimits limits_;
  const bool works_in_host_memory_;
  bool checks_ = false;
  timeline::Device timeline_;
  BlockPool blocks_;
  Ref<HostBlocks> host_blocks_;  // null: the device needs none
  const Ref<MemoryCounters> memory_counters_;
  base::Mutex event_mutex_;  // guards which submission has set which event
  QueueObject queues_[std::size(kQueueKinds)];
  base::Atomic<Created*> created_{nullptr};
  base::Mutex pools_mutex_;
  base::IntrusiveList<PoolObject, PoolListTag> pools_;
  Ref<PoolObject> default_pools_[kMemoryTypes];

  // Used by the reclaim shell only.
  DeviceObject* next_retiring_ = nullptr;
  bool refusing_ = false;  // the queues refuse submissions
};

}  // namespace halyard::inline v0::hal
