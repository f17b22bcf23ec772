// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory: one allocation of a driver. Buffers are ranges of it. Submissions in flight and
// recordings retain it, so it may outlive its device: freeing a driver's Memory must not need the
// device.
//
// Memory of a pool (hal/memory/pool.h) is a range of a driver's memory, its root, which it gets
// when its allocation is issued. So drivers read root and addresses when they issue or run a
// command, and downcast roots only: a root was made by a driver of its domain().
//
//     root    memory of a driver    itself, at 0         VkBuffer, MTLBuffer + offset, CUdeviceptr
//             memory of a pool      its slab, at an offset
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "hal/memory/reclaim.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/base/status.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/types.h"
#include "trace/tracer.h"

namespace halyard::inline v0::hal {

// Memory statistics of a device. They live until the last memory of the device is gone.
struct MemoryCounters final : RefCounted {
  base::Atomic<std::uint64_t> bytes{0};
  base::Atomic<std::uint64_t> peak_bytes{0};
  base::Atomic<std::uint64_t> count{0};
  base::Atomic<std::uint64_t> total_count{0};
  base::Atomic<std::uint64_t> imported_bytes{0};

  trace::Tracer* tracer = nullptr;
  trace::Name device = trace::kNoName;
  // Records in a trace how many bytes are allocated now.
  void note(std::uint64_t now_bytes) noexcept;
};

class MemoryOwner;

class Memory : public Reclaimed {
 public:
  // Calls `release` when this imported memory is gone. Call it at most once, before the memory is
  // shared. Returns false if out of memory; `release` then stays with the caller.
  [[nodiscard]] bool on_release(const detail::MemoryRelease& release) noexcept;
  // Adds the memory to `counters` until it is gone, as imported memory if it has a release
  // function. Call it at most once, before the memory is shared.
  void count_in(Ref<MemoryCounters> counters) noexcept;

  // flush() makes the host's writes visible to the device, invalidate() the device's writes to the
  // host, for memory that is not coherent. Precondition: the range lies in the memory.
  virtual Status flush(std::uint64_t, std::uint64_t) noexcept { return {}; }
  virtual Status invalidate(std::uint64_t, std::uint64_t) noexcept { return {}; }
  // Returns a new descriptor of the whole memory, or kFailedPrecondition unless
  // allocate_exportable() made it.
  virtual Result<int> export_descriptor() {
    return Status(StatusCode::kFailedPrecondition, "the memory was not allocated as exportable");
  }

  std::uint64_t size() const noexcept { return size_; }
  MemoryType type() const noexcept { return type_; }
  // The host's address, or null.
  std::byte* host_pointer() const noexcept { return host_pointer_; }
  // The device's address; 0 if the device's memory only has handles.
  std::uint64_t device_address() const noexcept { return device_address_; }
  // The driver's memory that contains this at root_offset(): itself, or a slab. Valid as long as
  // this. Precondition for memory of a pool: its allocation was issued.
  Memory& root() const noexcept {
    assert(root_ != nullptr);
    return *root_;
  }
  std::uint64_t root_offset() const noexcept { return root_offset_; }
  // DeviceImpl::memory_domain() of the device that it belongs to.
  const void* domain() const noexcept { return domain_; }
  // Whether this is a PoolMemory.
  bool of_pool() const noexcept { return of_pool_; }
  // For a driver's memory, a number that is unique in this process; addresses may be reused. 0 for
  // memory of a pool.
  std::uint64_t serial() const noexcept { return serial_; }
  // Gives memory of a pool a serial number as well, for the checking mode. Called once, before the
  // memory is shared.
  void take_serial() noexcept;

 protected:
  Memory(std::uint64_t size, MemoryType type, std::byte* host_pointer, std::uint64_t device_address,
         const void* domain) noexcept;
  // Memory of a pool, which has no address yet.
  Memory(std::uint64_t size, MemoryType type, const void* domain) noexcept
      : size_(size), type_(type), domain_(domain), of_pool_(true) {}
  // Places it at `offset` of `root`, which outlives this.
  void place(Memory& root, std::uint64_t offset) noexcept;

  ~Memory() override { notify_owner(); }

 private:
  void dropped() noexcept override { uncount(); }
  void uncount() noexcept;
  void notify_owner() noexcept;

  std::uint64_t size_;
  MemoryType type_;
  std::byte* host_pointer_ = nullptr;
  std::uint64_t device_address_ = 0;
  Memory* root_ = nullptr;
  std::uint64_t root_offset_ = 0;
  std::uint64_t serial_ = 0;
  const void* domain_;
  MemoryOwner* owner_ = nullptr;  // of imported memory
  Ref<MemoryCounters> counters_;
  bool of_pool_ = false;
};

}  // namespace halyard::inline v0::hal
