// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/framework/resource.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <tuple>

#include "simulation/metal/framework/device.h"
#include "simulation/metal/framework/options.h"
#include "simulation/metal/framework/report.h"

namespace halyard::inline v0::sim::metal {
namespace {

// The content of undefined memory in strict mode: -8.6e-23 as a float, and out of bounds as an
// index.
constexpr int kUndefined = 0x9a;
constexpr int kFreed = 0xdb;
constexpr std::size_t kAlignment = 256;
// The page of Apple silicon, to which large blocks are aligned.
constexpr std::size_t kLargest = 16384;

base::Atomic<std::uint64_t> next_number{1};

// Buffers and heaps by address, including buffers in heaps.
struct AddressTable {
  gpu::Mutex mutex;
  std::map<std::uint64_t, const Resource*> roots;
  // By heap, address, and number, because buffers of a placement heap may have the same address.
  std::map<std::tuple<const Resource*, std::uint64_t, std::uint64_t>, const Resource*> children;
};
AddressTable& table() {
  static AddressTable* const one = new AddressTable;
  return *one;
}

// Small blocks have exactly this alignment, so that no program gets a larger one by chance.
std::byte* new_block(std::size_t length) {
  const std::size_t offset = length >= kLargest ? 0 : kAlignment;
  const std::size_t unit = length >= kLargest ? kLargest : kAlignment;
  const std::size_t size = (offset + length + unit - 1) / unit * unit;
  void* memory = nullptr;
  if (posix_memalign(&memory, kLargest, size) != 0) return nullptr;
  if (!options().strict) {
    std::memset(memory, 0, size);
  } else if (size <= std::size_t{64} << 20) {
    std::memset(memory, kUndefined, size);
  }
  return static_cast<std::byte*>(memory) + offset;
}

void free_block(std::byte* block) {
  std::free(block - reinterpret_cast<std::uintptr_t>(block) % kLargest);
}

#if defined(__clang__)
#define HALYARD_NOT_SANITIZED __attribute__((no_sanitize("thread")))
#else
#define HALYARD_NOT_SANITIZED __attribute__((no_sanitize_thread))
#endif

// Copies the bytes of `from` that differ from `shadow` to `shadow` and `to`. As on a device, the
// other side may write other bytes meanwhile. So each byte is read once, as volatile, and there is
// no call of memcpy(3), which a sanitizer would check.
HALYARD_NOT_SANITIZED void hand_over(const std::byte* from, std::byte* shadow, std::byte* to,
                                     std::size_t length) {
  using Word = const volatile std::uint64_t*;
  for (std::size_t at = 0; at < length; at += 8) {
    const std::size_t end = length - at < 8 ? length : at + 8;
    if (end == at + 8 &&
        *reinterpret_cast<Word>(from + at) == *reinterpret_cast<Word>(shadow + at)) {
      continue;
    }
    for (std::size_t i = at; i < end; ++i) {
      const std::byte seen = *static_cast<const volatile std::byte*>(from + i);
      if (seen == shadow[i]) continue;
      *static_cast<volatile std::byte*>(shadow + i) = seen;
      *static_cast<volatile std::byte*>(to + i) = seen;
    }
  }
}

}  // namespace

Resource::Resource(const Description& description)
    : description_(description), number_(next_number.fetch_add(1)) {}

std::shared_ptr<Resource> Resource::create(const Description& description) {
  std::shared_ptr<Resource> made(new Resource(description));
  if (!made->allocate()) return nullptr;
  AddressTable& all = table();
  const std::lock_guard lock(all.mutex);
  if (description.heap != nullptr) {
    all.children[{description.heap.get(), made->address(), made->number()}] = made.get();
  } else {
    all.roots[made->address()] = made.get();
  }
  return made;
}

bool Resource::allocate() {
  const Storage storage = description_.storage;
  if (description_.heap != nullptr) {
    const Resource& heap = *description_.heap;
    const std::size_t offset = description_.heap_offset;
    gpu_ = heap.gpu_ + offset;
    if (heap.host_ != nullptr) host_ = heap.host_ + offset;
    if (heap.shadow_ != nullptr) shadow_ = heap.shadow_ + offset;
    return true;
  }
  const bool is_snapshot = storage == Storage::kShared && options().adversities.snapshot_shared;
  const std::size_t length = description_.length;
  auto add_block = [&] {
    std::byte* const block = new_block(length);
    if (block != nullptr) blocks_.push_back(block);
    return block;
  };
  if (description_.host_memory == nullptr && storage != Storage::kMemoryless) {
    if (!description_.device->account(length)) return false;
    accounted_ = length;
  }
  host_ = description_.host_memory;
  if (storage == Storage::kShared && !is_snapshot) {
    if (host_ == nullptr) host_ = add_block();
    gpu_ = host_;
    return gpu_ != nullptr;
  }
  if (storage != Storage::kPrivate && storage != Storage::kMemoryless && host_ == nullptr) {
    host_ = add_block();
    if (host_ == nullptr) return false;
  }
  gpu_ = add_block();
  if (gpu_ == nullptr) return false;
  if (description_.host_memory != nullptr) std::memcpy(gpu_, host_, length);
  if (is_snapshot) {
    shadow_ = add_block();
    if (shadow_ == nullptr) return false;
    std::memcpy(gpu_, host_, length);
    std::memcpy(shadow_, host_, length);
  }
  return true;
}

Resource::~Resource() {
  AddressTable& all = table();
  {
    const std::lock_guard lock(all.mutex);
    if (description_.heap != nullptr) {
      all.children.erase({description_.heap.get(), address(), number_});
    } else if (const auto found = all.roots.find(address());
               found != all.roots.end() && found->second == this) {
      all.roots.erase(found);
    }
  }
  for (std::byte* const block : blocks_) free_block(block);
  if (accounted_ != 0) description_.device->unaccount(accounted_);
}

std::string Resource::text() const {
  std::string text = is_heap() ? "heap " : "buffer ";
  text += std::to_string(number_);
  const std::lock_guard lock(mutex_);
  if (!label_.empty()) text.append(" \"").append(label_).append("\"");
  return text;
}

void Resource::set_label(std::string label) {
  const std::lock_guard lock(mutex_);
  label_ = std::move(label);
}

const Resource* Resource::tracked_root() const {
  if (description_.heap != nullptr) return description_.heap->tracked_root();
  return description_.is_tracked ? this : nullptr;
}

void Resource::did_modify(Range range) {
  range.end = std::min(range.end, length());
  if (storage() != Storage::kManaged || range.begin >= range.end) return;
  const std::lock_guard lock(mutex_);
  uploads_.push_back({range.begin, {host_ + range.begin, host_ + range.end}});
}

void Resource::upload() {
  const std::lock_guard lock(mutex_);
  for (const Piece& piece : uploads_) {
    std::memcpy(gpu_ + piece.begin, piece.bytes.data(), piece.bytes.size());
  }
  uploads_.clear();
  if (shadow_ == nullptr) return;
  hand_over(host_, shadow_, gpu_, length());
}

void Resource::synchronize(Range range) {
  if (storage() != Storage::kManaged) return;
  const std::lock_guard lock(mutex_);
  downloads_.push_back({range.begin, {gpu_ + range.begin, gpu_ + range.end}});
}

void Resource::download() {
  const std::lock_guard lock(mutex_);
  for (const Piece& piece : downloads_) {
    std::memcpy(host_ + piece.begin, piece.bytes.data(), piece.bytes.size());
  }
  downloads_.clear();
  if (shadow_ != nullptr) hand_over(gpu_, shadow_, host_, length());
}

void Resource::release() {
  if (shadow_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  hand_over(gpu_, shadow_, host_, length());
}

void Resource::acquire() {
  if (shadow_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  hand_over(host_, shadow_, gpu_, length());
}

void Resource::free_object() {
  is_freed.store(true);
  if (in_flight.load() == 0) return;
  report("freed-in-flight",
         text() +
             " was deallocated while a command buffer that uses it had not completed "
             "(status < MTLCommandBufferStatusCompleted)");
  // The contents are undefined after the object's deallocation. Memory that belongs to the program
  // is left unchanged.
  if (gpu_ != description_.host_memory) std::memset(gpu_, kFreed, length());
}

Place place_of(std::uint64_t address) {
  AddressTable& all = table();
  const std::lock_guard lock(all.mutex);
  const auto contains = [&](const Resource& one) { return address - one.address() < one.length(); };
  const auto place = [](const Resource& one) {
    return Place{one.address(), one.address() + one.length(), one.is_heap(), one.text()};
  };
  const auto after = all.roots.upper_bound(address);
  if (after == all.roots.begin()) return {};
  const Resource& root = *std::prev(after)->second;
  if (!contains(root)) return {};
  if (!root.is_heap()) return place(root);
  const auto first = all.children.lower_bound({&root, 0, 0});
  for (auto child = all.children.upper_bound({&root, address, ~std::uint64_t{0}});
       child != first;) {
    --child;
    if (contains(*child->second)) return place(*child->second);
  }
  return place(root);
}

bool HeapSpace::allocate(std::size_t length, std::size_t alignment, std::size_t* offset) {
  std::size_t begin = 0;
  const auto align = [&](std::size_t at) { return (at + alignment - 1) / alignment * alignment; };
  for (const auto& [used_begin, used_end] : used_) {
    if (align(begin) + length <= used_begin) break;
    begin = std::max(begin, used_end);
  }
  begin = align(begin);
  if (begin > size_ || length > size_ - begin) return false;
  used_.emplace(begin, begin + length);
  *offset = begin;
  return true;
}

void HeapSpace::release(std::size_t offset) { used_.erase(offset); }

std::size_t HeapSpace::used() const {
  std::size_t sum = 0;
  for (const auto& [begin, end] : used_) sum += end - begin;
  return sum;
}

std::size_t HeapSpace::largest(std::size_t alignment) const {
  std::size_t best = 0, begin = 0;
  const auto consider = [&](std::size_t end) {
    const std::size_t aligned = (begin + alignment - 1) / alignment * alignment;
    if (aligned < end) best = std::max(best, end - aligned);
  };
  for (const auto& [used_begin, used_end] : used_) {
    consider(used_begin);
    begin = std::max(begin, used_end);
  }
  consider(size_);
  return best;
}

}  // namespace halyard::inline v0::sim::metal
