// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of all memory that kernels and copies may use. Device memory has addresses that the
// host cannot read: its bytes are at other addresses, which only the simulation knows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "simulation/gpu/mutex.h"
#include "simulation/gpu/types.h"

namespace halyard::inline v0::sim::gpu {

struct ContextState;

enum class MemoryKind : std::uint8_t {
  kDevice,      // cuMemAlloc
  kPool,        // cuMemAllocAsync
  kVariable,    // of a module
  kHost,        // cuMemHostAlloc
  kRegistered,  // cuMemHostRegister
  kManaged,     // cuMemAllocManaged
  kMapped,      // cuMemMap
  kArray,       // cuArrayCreate
};

struct Allocation {
  DevicePointer begin = 0;
  std::size_t size = 0;
  std::byte* host = nullptr;  // where the bytes are
  MemoryKind kind = MemoryKind::kDevice;
  DeviceId device = 0;
  ContextState* context = nullptr;
  unsigned flags = 0;
  std::uint64_t id = 0;
  Pool pool = nullptr;
  bool is_freed = false;    // cuMemFreeAsync has returned; the bytes live until the stream is there
  bool is_retired = false;  // freed, and kept for reuse
  bool is_read_only = false;
  // kRegistered, in adversarial mode, has two entries. In that of the host's addresses,
  // device_alias is the first address that kernels may use; in that of the kernels' addresses,
  // host_alias is the first host address.
  DevicePointer device_alias = 0, host_alias = 0;
  std::uint64_t access = 0;  // kMapped, kPool: bit d set if device d may use it

  DevicePointer end() const { return begin + size; }
  // True if the allocation counts as used memory of the device.
  bool is_counted() const { return is_on_device() && kind != MemoryKind::kMapped; }
  bool is_on_device() const { return kind != MemoryKind::kHost && kind != MemoryKind::kRegistered; }
};

// A range of addresses with the same lookup result: a single allocation, or none.
struct Place {
  std::uint64_t version = 0;  // of the table when this was read; 0: not read
  DevicePointer begin = 0, end = 0;
  bool is_allocated = false;
  bool is_freed = false;  // the result of MemoryTable::is_freed
  Allocation allocation;
  Allocation* entry = nullptr;  // valid while the table has that version

  bool holds(DevicePointer address) const { return address >= begin && address < end; }
};

// The places that a thread looked up most recently.
struct PlaceCache {
  std::array<Place, 4> places;
  std::size_t next = 0;
};

inline constexpr std::size_t kPage = 4096;

class MemoryTable {
 public:
  MemoryTable() = default;
  // Returns all bytes and addresses to the system. For end_process().
  ~MemoryTable();
  MemoryTable(const MemoryTable&) = delete;
  MemoryTable& operator=(const MemoryTable&) = delete;

  // Allocates addresses that are backed by zeroed bytes. Returns 0 if the operating system has no
  // memory.
  DevicePointer allocate(Allocation allocation, std::size_t alignment);
  // Adds memory whose addresses the caller owns: host memory, mappings.
  void add(const Allocation& allocation);
  // Removes an allocation from the table; its bytes and addresses are freed if allocate made them.
  void remove(DevicePointer begin);
  void mark_freed(DevicePointer begin);
  // Reverts mark_freed(), for memory of an allocation node that is launched again.
  void mark_allocated(DevicePointer begin);
  void set_access(DevicePointer begin, std::uint64_t access);
  void set_flags(DevicePointer begin, unsigned flags);

  // Marks an allocation as freed, but keeps its addresses and bytes for reuse by the next
  // allocation of that size. Returns its entry, which is valid until it is removed.
  Allocation* retire(const Place& place);
  // Reuses a retired allocation for `allocation`, which gets its address and bytes.
  void reuse(Allocation& entry, Allocation& allocation);

  std::optional<Allocation> find(DevicePointer address) const;
  // The allocation at an address. The result stays valid for the thread's next four lookups.
  const Place& place(DevicePointer address) const;
  // True if cuMemFreeAsync freed the memory at `address` and it is not reused yet. Does not depend
  // on whether the stream has reached the free, so that reports do not depend on the speed of
  // streams.
  bool is_freed(DevicePointer address) const;
  // The last allocation that shares a byte with [begin, end).
  std::optional<Allocation> overlapping(DevicePointer begin, DevicePointer end) const;
  // All allocations of a context.
  std::vector<Allocation> of(const ContextState* context) const;

  // All managed memory.
  std::vector<Allocation> managed() const;

  // Bytes of a device's memory that allocations use.
  std::uint64_t used(DeviceId device) const;

  // Addresses without bytes, for cuMemAddressReserve and cuMemCreate's storage.
  DevicePointer reserve(std::size_t size, std::size_t alignment);
  std::byte* make_bytes(std::size_t size);
  // Allocates bytes that are mapped at two addresses: the result and `other`.
  std::byte* make_bytes_twice(std::size_t size, void*& other);
  void free_bytes(std::byte* bytes, std::size_t size);

 private:
  void read_place(DevicePointer address, Place& place) const;
  void remember(Allocation& entry) const;
  // Invalidates the places that threads have cached. The lock is held.
  void change() {
    version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void count(const Allocation& allocation, bool adds) {
    base::Atomic<std::uint64_t>& used = used_[static_cast<std::size_t>(allocation.device)];
    const std::uint64_t now = used.load(std::memory_order_relaxed);
    used.store(adds ? now + allocation.size : now - allocation.size, std::memory_order_relaxed);
  }

  mutable Mutex mutex_;
  base::Atomic<std::uint64_t> version_{1};
  mutable std::map<DevicePointer, Allocation> table_;
  std::array<base::Atomic<std::uint64_t>, kMostDevices> used_{};
  std::map<DevicePointer, DevicePointer> freed_;  // begin and end of ranges that is_freed names
  DevicePointer next_ = 0, end_ = 0;              // of the reserved addresses
  std::vector<std::pair<void*, std::size_t>> reservations_;
  // Freed address ranges by size, for reuse.
  std::multimap<std::size_t, DevicePointer> free_;
};

// Outlives the threads of streams. Only end_process() replaces it.
inline MemoryTable*& memory_of_process() {
  static MemoryTable* one = new MemoryTable;
  return one;
}
inline MemoryTable& memory() { return *memory_of_process(); }

// The bytes of addresses [begin, end) start at `host`.
struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::byte* host = nullptr;
  bool writable = true;
};

// Memory as the kernels of a context see it. All threads of a run may call it.
class ContextMemory {
 public:
  explicit ContextMemory(const ContextState& context) : context_(context) {}
  // The allocation that holds `address`, if the kernel may use it.
  std::optional<Mapping> find(std::uint64_t address);
  // malloc and free of kernels. allocate() returns 0 if there is no memory; release() returns false
  // if `address` does not come from allocate().
  std::uint64_t allocate(std::uint64_t bytes);
  bool release(std::uint64_t address);

 private:
  const ContextState& context_;
};

// True if work of `context` may use the allocation.
bool may_use(const ContextState& context, const Allocation& allocation);

// Host address of the bytes [address, address + size). Null if they are not within a single
// allocation that `context` may use.
std::byte* bytes_of(const ContextState& context, DevicePointer address, std::size_t size);

}  // namespace halyard::inline v0::sim::gpu
