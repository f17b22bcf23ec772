// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "simulation/gpu/options.h"
#include "simulation/gpu/state.h"

namespace halyard::inline v0::sim::gpu {
namespace {

// Bytes of address space that are reserved at a time. They are not backed by memory, so the host
// cannot access them.
constexpr std::size_t kReservation = std::size_t{1} << 38;

std::size_t round_up(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

}  // namespace

MemoryTable::~MemoryTable() {
  while (!table_.empty()) remove(table_.begin()->first);
  for (const auto& [range, size] : reservations_) munmap(range, size);
}

// Each range ends with a guard page, so that neighbours never touch.
DevicePointer MemoryTable::reserve(std::size_t size, std::size_t alignment) {
  alignment = std::max(alignment, kPage);
  const std::size_t bytes = round_up(size, kPage) + kPage;
  const std::lock_guard lock(mutex_);
  for (auto [at, end] = free_.equal_range(bytes); at != end; ++at) {
    if (at->second % alignment != 0) continue;
    const DevicePointer address = at->second;
    free_.erase(at);
    return address;
  }
  DevicePointer address = round_up(next_, alignment);
  if (next_ == 0 || address + bytes > end_) {
    const std::size_t reserved = std::max(kReservation, round_up(bytes + alignment, kPage));
    void* const range =
        mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return 0;
    reservations_.emplace_back(range, reserved);
    next_ = reinterpret_cast<DevicePointer>(range);
    end_ = next_ + reserved;
    address = round_up(next_, alignment);
  }
  next_ = address + bytes;
  return address;
}

std::byte* MemoryTable::make_bytes(std::size_t size) {
  void* const bytes = mmap(nullptr, round_up(size, kPage), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return bytes == MAP_FAILED ? nullptr : static_cast<std::byte*>(bytes);
}

std::byte* MemoryTable::make_bytes_twice(std::size_t size, void*& other) {
  size = round_up(size, kPage);
  const int file = memfd_create("managed memory", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  void* bytes = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(size)) == 0) {
    bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    other = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  return bytes == MAP_FAILED || other == MAP_FAILED ? nullptr : static_cast<std::byte*>(bytes);
}

void MemoryTable::free_bytes(std::byte* bytes, std::size_t size) {
  munmap(bytes, round_up(size, kPage));
}

DevicePointer MemoryTable::allocate(Allocation allocation, std::size_t alignment) {
  const bool is_visible =
      allocation.kind == MemoryKind::kHost || allocation.kind == MemoryKind::kManaged;
  if (allocation.kind == MemoryKind::kManaged && options().adversarial) {
    void* other = nullptr;
    allocation.host = make_bytes_twice(allocation.size, other);
    allocation.begin = reinterpret_cast<DevicePointer>(other);
    if (allocation.host == nullptr) return 0;
    add(allocation);
    return allocation.begin;
  }
  allocation.host = make_bytes(allocation.size);
  if (allocation.host == nullptr) return 0;
  allocation.begin = is_visible ? reinterpret_cast<DevicePointer>(allocation.host)
                                : reserve(allocation.size, alignment);
  if (allocation.begin == 0) {
    free_bytes(allocation.host, allocation.size);
    return 0;
  }
  add(allocation);
  return allocation.begin;
}

void MemoryTable::add(const Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  change();
  table_[allocation.begin] = allocation;
  auto at = freed_.lower_bound(allocation.end());
  while (at != freed_.begin() && std::prev(at)->second > allocation.begin) {
    at = freed_.erase(std::prev(at));
  }
  if (allocation.is_counted()) count(allocation, true);
}

void MemoryTable::remove(DevicePointer begin) {
  const std::lock_guard lock(mutex_);
  const auto at = table_.find(begin);
  if (at == table_.end()) return;
  const Allocation allocation = at->second;
  change();
  table_.erase(at);
  if (allocation.is_counted() && !allocation.is_retired) {
    count(allocation, false);
  }
  if (allocation.kind == MemoryKind::kRegistered || allocation.kind == MemoryKind::kMapped) return;
  if (allocation.kind == MemoryKind::kManaged) {
    const auto visible = reinterpret_cast<std::byte*>(allocation.begin);
    if (visible != allocation.host) free_bytes(visible, allocation.size);
  } else if (allocation.begin != reinterpret_cast<DevicePointer>(allocation.host)) {
    free_.emplace(round_up(allocation.size, kPage) + kPage, allocation.begin);
  }
  free_bytes(allocation.host, allocation.size);
}

void MemoryTable::mark_freed(DevicePointer begin) {
  const std::lock_guard lock(mutex_);
  if (const auto at = table_.find(begin); at != table_.end()) {
    change();
    at->second.is_freed = true;
    freed_[begin] = at->second.end();
  }
}

void MemoryTable::mark_allocated(DevicePointer begin) {
  const std::lock_guard lock(mutex_);
  const auto at = table_.find(begin);
  if (at == table_.end() || !at->second.is_freed) return;
  change();
  at->second.is_freed = false;
  freed_.erase(begin);
}

bool MemoryTable::is_freed(DevicePointer address) const { return place(address).is_freed; }

void MemoryTable::set_flags(DevicePointer begin, unsigned flags) {
  const std::lock_guard lock(mutex_);
  if (const auto at = table_.find(begin); at != table_.end()) {
    change();
    at->second.flags = flags;
  }
}

void MemoryTable::set_access(DevicePointer begin, std::uint64_t access) {
  const std::lock_guard lock(mutex_);
  if (const auto at = table_.find(begin); at != table_.end()) {
    change();
    at->second.access = access;
  }
}

Allocation* MemoryTable::retire(const Place& place) {
  const std::lock_guard lock(mutex_);
  if (place.version != version_.load(std::memory_order_relaxed)) return nullptr;
  change();
  Allocation& entry = *place.entry;
  entry.is_freed = entry.is_retired = true;
  entry.context = nullptr;
  count(entry, false);
  remember(entry);
  return &entry;
}

void MemoryTable::reuse(Allocation& entry, Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  change();
  allocation.begin = entry.begin;
  allocation.host = entry.host;
  entry = allocation;
  count(entry, true);
  remember(entry);
}

// The thread that changes an entry is likely to look it up next. Its cached places of other entries
// stay valid.
void MemoryTable::remember(Allocation& entry) const {
  const std::uint64_t version = version_.load(std::memory_order_relaxed);
  PlaceCache& cache = this_thread().places;
  Place* slot = nullptr;
  for (Place& known : cache.places) {
    if (known.entry == &entry) {
      slot = &known;
    } else if (known.version == version - 1) {
      known.version = version;
    }
  }
  if (slot == nullptr) {
    slot = &cache.places[cache.next];
    cache.next = (cache.next + 1) % cache.places.size();
  }
  slot->version = version;
  slot->begin = entry.begin;
  slot->end = entry.end();
  slot->is_allocated = true;
  slot->is_freed = entry.is_freed;
  slot->allocation = entry;
  slot->entry = &entry;
}

std::uint64_t MemoryTable::used(DeviceId device) const {
  return used_[static_cast<std::size_t>(device)].load(std::memory_order_relaxed);
}

const Place& MemoryTable::place(DevicePointer address) const {
  PlaceCache& cache = this_thread().places;
  const std::uint64_t version = version_.load(std::memory_order_acquire);
  for (const Place& known : cache.places) {
    if (known.version == version && known.holds(address)) return known;
  }
  Place& made = cache.places[cache.next];
  cache.next = (cache.next + 1) % cache.places.size();
  read_place(address, made);
  return made;
}

void MemoryTable::read_place(DevicePointer address, Place& place) const {
  const std::lock_guard lock(mutex_);
  place = {};
  place.version = version_.load(std::memory_order_relaxed);
  place.end = ~DevicePointer{0};
  const auto after = table_.upper_bound(address);
  if (after != table_.end()) place.end = after->first;
  if (after != table_.begin()) {
    Allocation& before = std::prev(after)->second;
    place.begin = before.end();
    if (address < before.end()) {
      place.begin = before.begin;
      place.end = before.end();
      place.is_allocated = true;
      place.is_freed = before.is_freed;
      place.allocation = before;
      place.entry = &before;
      return;
    }
  }
  const auto freed_after = freed_.upper_bound(address);
  if (freed_after != freed_.end()) place.end = std::min(place.end, freed_after->first);
  if (freed_after == freed_.begin()) return;
  const auto [freed_begin, freed_end] = *std::prev(freed_after);
  place.is_freed = address < freed_end;
  if (place.is_freed) place.end = std::min(place.end, freed_end);
  place.begin = std::max(place.begin, place.is_freed ? freed_begin : freed_end);
}

std::optional<Allocation> MemoryTable::find(DevicePointer address) const {
  const std::lock_guard lock(mutex_);
  auto at = table_.upper_bound(address);
  if (at == table_.begin()) return {};
  --at;
  if (address >= at->second.end()) return {};
  return at->second;
}

std::optional<Allocation> MemoryTable::overlapping(DevicePointer begin, DevicePointer end) const {
  const std::lock_guard lock(mutex_);
  const auto after = table_.lower_bound(end);
  if (after == table_.begin()) return std::nullopt;
  const Allocation& last = std::prev(after)->second;
  return last.end() > begin ? std::optional(last) : std::nullopt;
}

std::vector<Allocation> MemoryTable::managed() const {
  const std::lock_guard lock(mutex_);
  std::vector<Allocation> result;
  for (const auto& [begin, allocation] : table_) {
    if (allocation.kind == MemoryKind::kManaged) result.push_back(allocation);
  }
  return result;
}

std::vector<Allocation> MemoryTable::of(const ContextState* context) const {
  const std::lock_guard lock(mutex_);
  std::vector<Allocation> result;
  for (const auto& [begin, allocation] : table_) {
    if (allocation.context == context) result.push_back(allocation);
  }
  return result;
}

bool may_use(const ContextState& context, const Allocation& allocation) {
  switch (allocation.kind) {
    case MemoryKind::kHost:
    case MemoryKind::kManaged:
      return true;
    case MemoryKind::kRegistered:
      // cuda.h, cuMemHostRegister: portable, or all memory with unified addressing; by the host's
      // address only if CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM is set.
      return allocation.device_alias == 0;
    case MemoryKind::kPool:
    case MemoryKind::kMapped:
      return (allocation.access >> context.device & 1) != 0;
    case MemoryKind::kDevice:
    case MemoryKind::kArray:
    case MemoryKind::kVariable:
      return allocation.device == context.device || context.peers.contains(allocation.context);
  }
  return false;
}

std::optional<Mapping> ContextMemory::find(std::uint64_t address) {
  const std::optional<Allocation> found = memory().find(address);
  if (!found) return {};
  {
    const std::lock_guard lock(state().mutex);
    if (!may_use(context_, *found) || found->kind == MemoryKind::kArray) return {};
  }
  return Mapping{found->begin, found->end(), found->host, !found->is_read_only};
}

std::uint64_t ContextMemory::allocate(std::uint64_t bytes) {
  if (bytes == 0 || bytes > std::size_t{1} << 32) return 0;
  Allocation allocation;
  allocation.size = bytes;
  allocation.device = context_.device;
  allocation.kind = MemoryKind::kVariable;
  return memory().allocate(allocation, 256);
}

bool ContextMemory::release(std::uint64_t address) {
  const std::optional<Allocation> found = memory().find(address);
  if (!found || found->begin != address || found->kind != MemoryKind::kVariable) return false;
  memory().remove(address);
  return true;
}

std::byte* bytes_of(const ContextState& context, DevicePointer address, std::size_t size) {
  const std::optional<Allocation> found = memory().find(address);
  if (!found || size > found->end() - address || !may_use(context, *found)) return nullptr;
  return found->host + (address - found->begin);
}

}  // namespace halyard::inline v0::sim::gpu
