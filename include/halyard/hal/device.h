// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device: queues, memory, executables, semaphores. open(), open_all(): open devices by URI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/descriptor_set.h"
#include "halyard/hal/event.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/executable_cache.h"
#include "halyard/hal/handle.h"
#include "halyard/hal/limits.h"
#include "halyard/hal/pipeline_layout.h"
#include "halyard/hal/pool.h"
#include "halyard/hal/queue.h"
#include "halyard/hal/semaphore.h"
#include "halyard/hal/shared_timeline.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::hal {

class DeviceObject;

// A device's description; constant for its life.
struct DeviceInfo {
  std::string uri;                   // opens the same device: "cpu://0"
  std::string driver;                // "cpu"
  std::string name;                  // "AMD EPYC 7B13"
  std::vector<std::string> targets;  // executable images it runs, best first: "x86-64-v3"
  std::uint64_t memory_size = 0;     // bytes
  std::uint32_t workers = 0;         // threads (cpu) or multiprocessors
  DeviceLimits limits;
};

// A device's live memory, including memory that only submissions in flight still use.
struct MemoryStatistics {
  std::uint64_t bytes = 0;              // allocated by this device
  std::uint64_t peak_bytes = 0;         // the largest `bytes` so far
  std::uint64_t allocations = 0;        // live allocations
  std::uint64_t total_allocations = 0;  // allocations so far
  std::uint64_t imported_bytes = 0;     // of import_memory; not counted in the other fields
};

// A handle; safe from any thread. The device is kept alive by its handles and by those of its
// queues, buffers, executables, command buffers, descriptor sets, layouts, events and semaphores.
// When the last of these handles is dropped, the device closes: work in flight ends, then parked
// work fails with kCancelled. Dropping a handle never blocks. Calls on an empty handle return
// kInvalidArgument, an empty handle, zeros or an empty text. Only functions that list kDeviceLost
// check whether the device is lost.
class HALYARD_EXPORT Device : public Handle<DeviceObject> {
 public:
  using Handle::Handle;

  const DeviceInfo& info() const noexcept;  // precondition: not empty
  // Ok, or the kDeviceLost failure with its native origin.
  Status status() const;

  // The clock on which the waits of this device's runtime read deadlines. It lives for as long as
  // the runtime. Precondition: not empty.
  Clock& clock() const noexcept;

  // True if work of this device can use memory of `owner`: always its own, other devices' as the
  // hardware allows, never another runtime's. False for empty handles. Queue::copy needs it for one
  // of its two ranges only.
  bool can_access(const Device& owner) const noexcept;

  // The device's own queue of that kind; the same one in every call. Empty for an unknown kind.
  Queue queue(QueueKind kind = QueueKind::kCompute) const noexcept;

  // Creates a further queue of that kind: for work that is independent of the other queues, or of
  // another priority. Of the queues with ready work those of higher priority go first. Running work
  // is not stopped, but a cpu device's threads switch between two pieces of a long dispatch or
  // copy. Lower priorities are never starved. Priorities order nothing: only semaphores do.
  // After the last handle is dropped, submitted work runs to its end, and the device keeps the
  // queue until it closes, for later calls with the same kind and priority. Errors:
  //   kResourceExhausted  more queues than the device has (each driver: 64 with the device's own
  //                       two); those that are kept, and those whose work has not ended, count
  //   kInvalidArgument, kDeviceLost
  Result<Queue> create_queue(const QueueInfo& info) const;

  // Creates a semaphore that starts at `initial`, at most 2^63-1, else kInvalidArgument. `name` is
  // copied and appears in dumps. Also fails with kResourceExhausted.
  Result<Semaphore> create_semaphore(std::uint64_t initial = 0, std::string_view name = {}) const;

  // Creates an event for recordings of this device. Fails with kResourceExhausted.
  Result<Event> create_event() const;

  // Creates a layout of bindings, numbered in any order. Errors:
  //   kInvalidArgument  a number twice, an unknown access
  //   kOutOfRange       more than kMaxDescriptors
  //   kResourceExhausted
  Result<DescriptorSetLayout> create_descriptor_set_layout(View<DescriptorBinding> bindings) const;
  // Creates a set with exactly one descriptor for each binding of `layout`, in any order. A
  // descriptor is memory, with the errors of a queue's operation (queue.h), or a slot. Errors:
  //   kInvalidArgument   a binding without a descriptor, with two, or not in the layout
  //   kPermissionDenied  a layout of another device
  Result<DescriptorSet> create_descriptor_set(const DescriptorSetLayout& layout,
                                              View<Descriptor> descriptors) const;
  // Creates a layout whose set i has the layout sets[i]. Errors:
  //   kOutOfRange more than kMaxDescriptorSets, kMaxDescriptors in all or kMaxPushConstants
  //   kInvalidArgument an empty layout; a size of push constants that is not a multiple of 4
  //   kPermissionDenied a layout of another device
  Result<PipelineLayout> create_pipeline_layout(View<DescriptorSetLayout> sets,
                                                std::uint32_t push_constants_size = 0) const;

  // Allocates memory. On exhaustion it first retires finished submissions, and waits up to one
  // second for memory that the runtime's thread is about to free. Errors:
  //   kResourceExhausted  naming the size
  //   kInvalidArgument
  //   kUnimplemented      exportable memory, where the device has none
  Result<Buffer> allocate(const BufferInfo& info) const;

  // Wraps the caller's host memory as a buffer of MemoryType::kHostLocal, without a copy. `memory`
  // starts at a multiple of kImportAlignment bytes and stays valid until `released` is called:
  // once, after the last buffer, recording and submission that uses it is gone; a submission goes
  // when a thread sees its end, as Queue::wait_idle or flush does. `released` runs without locks, on
  // the thread that drops the last user or, shortly afterwards, where callbacks run
  // (Semaphore::on_reach). It must not block or throw; it may do what such a callback may. If the
  // import fails, `released` is not called. Operator new for `released` itself may throw.
  // Errors: kInvalidArgument, kResourceExhausted; kUnimplemented if the device cannot import.
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

  // Makes a buffer of memory that another device, process or API has exported: see
  // Buffer::export_descriptor. `info` has the size and memory type of the exporter. Takes the
  // descriptor if it succeeds; the caller keeps it otherwise. Errors: kInvalidArgument, for
  // instance for a descriptor of something else; kResourceExhausted; kUnimplemented if the device
  // cannot.
  Result<Buffer> import_descriptor(int descriptor, const BufferInfo& info) const;

  // The first creates a timeline of the device's own kind, which can be exported. The second makes
  // one of a descriptor that another device, process or API has exported. import_timeline() takes
  // the descriptor if it succeeds; the caller keeps it otherwise. Errors: kInvalidArgument, for
  // instance for a descriptor of something else; kResourceExhausted; kUnimplemented if the device
  // cannot.
  Result<SharedTimeline> create_shared_timeline(std::uint64_t initial = 0) const;
  Result<SharedTimeline> import_timeline(int descriptor) const;

  // Each number is right at some moment of the call; several may be of different moments.
  MemoryStatistics memory_statistics() const;
  // The device's own pool for that memory type, for Queue::allocate, with the defaults of PoolInfo.
  // It lives as long as the device. Empty for an unknown memory type.
  Pool default_pool(MemoryType memory = MemoryType::kDeviceLocal) const noexcept;
  // Creates a pool. Sizes are rounded down to 256 bytes; slabs are no larger than max_size. Errors:
  //   kInvalidArgument  a size of less than 256 bytes, an unknown memory type
  //   kResourceExhausted
  Result<Pool> create_pool(const PoolInfo& info) const;

  // Loads a .hyx file, or its bytes, which it copies. `name` replaces the file's name in messages.
  // Reads and links on the calling thread. Errors:
  //   kDataLoss           damaged, or no .hyx file at all
  //   kInvalidArgument    not a regular file
  //   kUnavailable        no image that this device runs, or the system cannot read the file now
  //   kNotFound, kPermissionDenied  as the system says
  //   kResourceExhausted  memory, descriptors, a file above 1 GiB
  Result<Executable> load(const std::string& path) const;
  Result<Executable> load(Bytes image, std::string_view name) const;

  // Creates a cache. Fails with kPermissionDenied, kNotFound or kUnavailable, and the reason, if
  // info.folder cannot be used.
  Result<ExecutableCache> create_executable_cache(const ExecutableCacheInfo& info = {}) const;

  // A text for people: the waits of every submission that has not ended, on all devices of the
  // registry, and the submissions that are to signal them. Like a query, it retires finished
  // submissions.
  std::string dump_timelines() const;

 private:
  Result<Buffer> import_erased(std::byte* data, std::size_t size,
                               detail::MemoryRelease release) const;
};

// Opens the device that the URI describes; if it describes several, the first. Examples: "cpu://",
// "cpu://1", "cpu://?devices=4&workers=2". `uri` may be a list, as for open_all; of this only the
// first URI is opened. One runtime per process serves all devices; it starts its drivers on first
// use, and each of its threads before the first call that needs it. Two calls with the same URI
// open two independent devices. Safe from any thread. Errors:
//   kInvalidArgument malformed URI or option, even in a part of a list that is not opened; more
//                        than 64 URIs. For a list, the message names the bad part
//   kNotFound unknown driver or device; the message lists the known ones kFailedPrecondition after
//   shutdown() kResourceExhausted no memory, or the system refuses a thread that the device needs
HALYARD_EXPORT Result<Device> open(std::string_view uri);
// Opens all devices that the URI describes, at least one. Several URIs, of any drivers, are
// separated by commas, without spaces: "cpu://,serial://?devices=2". The devices have the order of
// the list; if one cannot be opened, none is. Otherwise as open().
HALYARD_EXPORT Result<std::vector<Device>> open_all(std::string_view uri);

// Lists the devices that can be opened on this machine, without opening them: all drivers of this
// build, in their order. A driver whose native library is absent has none. Returns the first error
// of a driver that cannot list its devices. Safe from any thread.
HALYARD_EXPORT Result<std::vector<DeviceInfo>> enumerate();

// Waits until every device of open() is closed, with its handles dropped and its work done; then
// ends and joins the process's threads. Nothing can be opened afterwards. A program may end without
// it; it serves programs that unload the library or verify that nothing is left. Must not be called
// on a thread of the runtime (in a callback). Fails with kDeadlineExceeded and a dump of the
// unfinished work; then nothing has changed, and it can be called again.
HALYARD_EXPORT Status shutdown(Deadline deadline);

}  // namespace halyard::inline v0::hal
