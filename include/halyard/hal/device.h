// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device: queues, memory, executables, semaphores. open(), open_all(): devices by URI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/descriptor_set.h"
#include "halyard/hal/event.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/executable_cache.h"
#include "halyard/hal/limits.h"
#include "halyard/hal/pipeline_layout.h"
#include "halyard/hal/pool.h"
#include "halyard/hal/queue.h"
#include "halyard/hal/semaphore.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::hal {

class DeviceObject;

// What a device says of itself; constant for its life.
struct DeviceInfo {
  std::string uri;                   // opens the same device: "cpu://0"
  std::string driver;                // "cpu"
  std::string name;                  // "AMD EPYC 7B13"
  std::vector<std::string> targets;  // executable images it runs, best first: "x86-64-v3"
  std::uint64_t memory_size = 0;     // bytes
  std::uint32_t workers = 0;         // threads (cpu) or multiprocessors
  DeviceLimits limits;
};

// Memory of a device that lives now, also what only submissions in flight still use.
struct MemoryStatistics {
  std::uint64_t bytes = 0;              // allocated by this device
  std::uint64_t peak_bytes = 0;         // the most there ever was
  std::uint64_t allocations = 0;        // how many there are
  std::uint64_t total_allocations = 0;  // how many there ever were
  std::uint64_t imported_bytes = 0;     // import_memory; not among the others
};

// A handle; safe from any thread. Queues, buffers, executables, command buffers, descriptor sets,
// layouts, events and the semaphores a device created keep it alive. When the last handle of all
// these is gone, work in flight ends, what is still parked then fails with kCancelled, and the
// device closes; nothing blocks for that. An empty one answers kInvalidArgument, or
// an empty handle, zeros, an empty text. Only what names kDeviceLost asks whether it is lost.
class HALYARD_EXPORT Device {
 public:
  Device() noexcept = default;
  explicit Device(DeviceObject* object) noexcept;

  const DeviceInfo& info() const noexcept;  // precondition: not empty
  // Ok, or the kDeviceLost failure with its native origin.
  Status status() const;

  // The device's queue of that kind; the same one every time. Empty for an unknown kind.
  Queue queue(QueueKind kind = QueueKind::kCompute) const noexcept;

  // A further queue of that kind, for work that need not stand behind that of other queues, or is
  // to go before or after it. Where several queues have work that could run, those of higher
  // priority go first; work that runs is not stopped for it, but a cpu device's threads turn away
  // from a long dispatch or copy between two pieces of it. Whatever comes, each thread begins one
  // visit in 17 at the lowest priority, so nothing waits for ever. Priorities order nothing: only
  // semaphores do.
  // When the last handle is gone, what was submitted goes on to its end, and the device keeps the
  // queue for later calls with the same kind and priority. kResourceExhausted: more queues at one
  // time than the device has (cpu: 64 with its own two); kInvalidArgument; kDeviceLost.
  Result<Queue> create_queue(const QueueInfo& info) const;

  // `initial` any value up to 2^63-1, else kInvalidArgument. `name`, copied, shows in dumps.
  // kResourceExhausted.
  Result<Semaphore> create_semaphore(std::uint64_t initial = 0, std::string_view name = {}) const;

  // For recordings of this device. kResourceExhausted.
  Result<Event> create_event() const;

  // Numbers in any order. kInvalidArgument: a number twice, an unknown access; kOutOfRange: more
  // than kMaxDescriptors; kResourceExhausted.
  Result<DescriptorSetLayout> create_descriptor_set_layout(View<DescriptorBinding> bindings) const;
  // Exactly one descriptor for each binding of `layout`, in any order: memory, with the errors of a
  // queue's operation (queue.h), or a slot. kInvalidArgument: a binding that is not given, given
  // twice or not in the layout; kPermissionDenied: a layout of another device.
  Result<DescriptorSet> create_descriptor_set(const DescriptorSetLayout& layout,
                                              View<Descriptor> descriptors) const;
  // Set i has the layout sets[i]. kOutOfRange: more than kMaxDescriptorSets, kMaxDescriptors in all
  // or kMaxPushConstants; kInvalidArgument: an empty layout, push constants of no multiple of 4
  // bytes; kPermissionDenied: a layout of another device.
  Result<PipelineLayout> create_pipeline_layout(View<DescriptorSetLayout> sets,
                                                std::uint32_t push_constants_size = 0) const;

  // kResourceExhausted when there is no memory, with the size; kInvalidArgument.
  Result<Buffer> allocate(const BufferInfo& info) const;

  // The caller's host memory as a buffer of MemoryType::kHostLocal, without a copy. `memory` starts
  // at a multiple of kImportAlignment bytes and stays valid until released() is called: once, when
  // the last buffer, recording and submission that uses it is gone; on the thread that drops the
  // last one, or where callbacks run (Semaphore::on_reach), shortly afterwards; without locks. It
  // must not block or throw; it may do what such a callback may. It is not called if the import
  // fails: kInvalidArgument, kResourceExhausted, kUnimplemented where the device cannot. Where
  // `released` itself is put, operator new may throw.
  template <class F>
    requires std::is_invocable_v<F&>
  Result<Buffer> import_memory(std::span<std::byte> memory, F&& released) const {
    using Fn = std::decay_t<F>;
    return import_erased(
        memory.data(), memory.size(),
        {new Fn(std::forward<F>(released)), [](void* state) { (*static_cast<Fn*>(state))(); },
         [](void* state) { delete static_cast<Fn*>(state); }});
  }
  static constexpr std::size_t kImportAlignment = 16;

  // Each number by itself is right at some moment of the call; together they may be of several.
  MemoryStatistics memory_statistics() const;
  // For Queue::allocate. The default pools live as long as the device, one for each memory type,
  // with the defaults of PoolInfo. Empty for an unknown memory type.
  Pool default_pool(MemoryType memory = MemoryType::kDeviceLocal) const noexcept;
  // Sizes are rounded down to 256 bytes, and slabs are no larger than max_size. kInvalidArgument:
  // nothing is left of one, an unknown memory type; kResourceExhausted.
  Result<Pool> create_pool(const PoolInfo& info) const;

  // A .hyx file or its bytes (copied); `name` stands for the file in messages. Reads and links on
  // the calling thread. kDataLoss: damaged, or no .hyx file at all; kInvalidArgument: not a regular
  // file; kUnavailable: no image this device runs, or the system cannot read the file now;
  // kNotFound and kPermissionDenied, as the system says; kResourceExhausted: memory, descriptors,
  // above 1 GiB.
  Result<Executable> load(const std::string& path) const;
  Result<Executable> load(Bytes image, std::string_view name) const;

  // kPermissionDenied, kNotFound, kUnavailable: info.folder cannot be used, with the reason.
  Result<ExecutableCache> create_executable_cache(const ExecutableCacheInfo& info = {}) const;

  // What every parked or issued submission waits for, and who was to signal it; for people.
  std::string dump_timelines() const;

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const Device& a, const Device& b) noexcept = default;
  DeviceObject* object() const noexcept { return reinterpret_cast<DeviceObject*>(object_.get()); }

 private:
  Result<Buffer> import_erased(std::byte* data, std::size_t size,
                               detail::MemoryRelease release) const;

  HandleRef<RefCounted> object_;
};

// "cpu://", "cpu://1", "cpu://?devices=4&workers=2". One runtime per process serves all of these;
// its drivers are started on first use, its threads before the first call that needs them; a device
// that is open needs two (kResourceExhausted where the system refuses them). Opening a URI twice
// gives two independent devices. kInvalidArgument for a malformed URI or option, kNotFound for an
// unknown driver or device, naming what there is; kResourceExhausted; kFailedPrecondition after
// shutdown(). Where the URI describes several devices, open() gives the first. These functions are
// safe from any thread.
HALYARD_EXPORT Result<Device> open(std::string_view uri);
// All devices the URI describes, at least one.
HALYARD_EXPORT Result<std::vector<Device>> open_all(std::string_view uri);

// What can be opened on this machine, without opening it: of every driver in this build, in their
// order. A driver whose native library is absent has none; the first error of one that cannot say.
HALYARD_EXPORT Result<std::vector<DeviceInfo>> enumerate();

// Waits until every device that open() gave is closed, its handles gone and its work done; then
// ends and joins the process's threads. Nothing can be opened afterwards. A program may end without
// it; it is for who unloads the library, or wants to know that nothing is left. Not on a thread of
// the runtime (in a callback). kDeadlineExceeded with a dump of what still runs: nothing has
// changed, and it can be called again.
HALYARD_EXPORT Status shutdown(Deadline deadline);

}  // namespace halyard::inline v0::hal
