// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/cuda/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>

#include "sim/cuda/state.h"

namespace halyard::inline v0::sim::cuda {
namespace {

constexpr std::size_t kPage = 4096;
// Of addresses reserved at a time; nothing is behind them, so that the host cannot use them.
constexpr std::size_t kReservation = std::size_t{1} << 38;

std::size_t round_up(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

}  // namespace

MemoryTable& memory() {
  static MemoryTable* const one = new MemoryTable;  // outlives the threads of streams
  return *one;
}

// Each range ends with a guard page, so that neighbours never touch.
DevicePointer MemoryTable::reserve(std::size_t size, std::size_t alignment) {
  alignment = std::max(alignment, kPage);
  const std::size_t bytes = round_up(size, kPage) + kPage;
  const std::unique_lock lock(mutex_);
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

void MemoryTable::free_bytes(std::byte* bytes, std::size_t size) {
  munmap(bytes, round_up(size, kPage));
}

DevicePointer MemoryTable::allocate(Allocation allocation, std::size_t alignment) {
  const bool is_visible =
      allocation.kind == MemoryKind::kHost || allocation.kind == MemoryKind::kManaged;
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
  const std::unique_lock lock(mutex_);
  table_[allocation.begin] = allocation;
  auto at = freed_.lower_bound(allocation.end());
  while (at != freed_.begin() && std::prev(at)->second > allocation.begin) {
    at = freed_.erase(std::prev(at));
  }
  if (allocation.is_counted()) used_[allocation.device] += allocation.size;
}

void MemoryTable::remove(DevicePointer begin) {
  const std::unique_lock lock(mutex_);
  const auto at = table_.find(begin);
  if (at == table_.end()) return;
  const Allocation allocation = at->second;
  table_.erase(at);
  if (allocation.is_counted()) used_[allocation.device] -= allocation.size;
  if (allocation.kind == MemoryKind::kRegistered || allocation.kind == MemoryKind::kMapped) return;
  if (allocation.begin != reinterpret_cast<DevicePointer>(allocation.host)) {
    free_.emplace(round_up(allocation.size, kPage) + kPage, allocation.begin);
  }
  free_bytes(allocation.host, allocation.size);
}

void MemoryTable::mark_freed(DevicePointer begin) {
  const std::unique_lock lock(mutex_);
  if (const auto at = table_.find(begin); at != table_.end()) {
    at->second.is_freed = true;
    freed_[begin] = at->second.end();
  }
}

bool MemoryTable::is_freed(DevicePointer address) const {
  const std::shared_lock lock(mutex_);
  const auto at = freed_.upper_bound(address);
  return at != freed_.begin() && std::prev(at)->second > address;
}

void MemoryTable::set_access(DevicePointer begin, std::uint64_t access) {
  const std::unique_lock lock(mutex_);
  if (const auto at = table_.find(begin); at != table_.end()) at->second.access = access;
}

std::uint64_t MemoryTable::used(DeviceId device) const {
  const std::shared_lock lock(mutex_);
  const auto at = used_.find(device);
  return at != used_.end() ? at->second : 0;
}

std::optional<Allocation> MemoryTable::find(DevicePointer address) const {
  const std::shared_lock lock(mutex_);
  auto at = table_.upper_bound(address);
  if (at == table_.begin()) return {};
  --at;
  if (address >= at->second.end()) return {};
  return at->second;
}

bool MemoryTable::overlaps(DevicePointer begin, DevicePointer end) const {
  const std::shared_lock lock(mutex_);
  const auto at = table_.lower_bound(end);
  return at != table_.begin() && std::prev(at)->second.end() > begin;
}

std::vector<Allocation> MemoryTable::of(const ContextState* context) const {
  const std::shared_lock lock(mutex_);
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
      // cuda.h, cuMemHostRegister: portable, or all memory with unified addressing
      return true;
    case MemoryKind::kPool:
    case MemoryKind::kMapped:
      return (allocation.access >> context.device & 1) != 0;
    case MemoryKind::kDevice:
    case MemoryKind::kVariable:
      return allocation.device == context.device || context.peers.contains(allocation.context);
  }
  return false;
}

std::optional<ptx::Mapping> ContextMemory::find(std::uint64_t address) {
  const std::optional<Allocation> found = memory().find(address);
  if (!found) return {};
  {
    const std::lock_guard lock(state().mutex);
    if (!may_use(context_, *found)) return {};
  }
  return ptx::Mapping{found->begin, found->end(), found->host, !found->is_read_only};
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

}  // namespace halyard::inline v0::sim::cuda
