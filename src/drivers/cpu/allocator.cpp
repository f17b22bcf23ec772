// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <new>

#include "base/format.h"
#include "base/native_call.h"
#include "base/pages.h"
#include "drivers/cpu/numa.h"

namespace halyard::inline v0::cpu {
namespace {

using base::Failing;
using base::native_call;

HALYARD_CALL_SITE(kAllocate, "cpu.allocate", ENOMEM);
HALYARD_CALL_SITE(kMap, "cpu.map", ENOMEM, Failing::kMapped);
HALYARD_CALL_SITE(kUnmap, "cpu.unmap", 0, Failing::kErrno,
                  "munmap(2) of a whole mapping fails for what is none");

constexpr std::uint64_t kDefaultAlignment = 64;

// Memory of at least this size is mapped separately: freeing returns it to the system at once, and
// untouched pages cost nothing. The C library's own threshold grows with use.
constexpr std::uint64_t kMapFrom = std::uint64_t{1} << 20;

void unmap(void* pointer, std::uint64_t size) noexcept {
  native_call(kUnmap, [&] { return munmap(pointer, size); });
}

class HostMemory final : public hal::Memory {
 public:
  enum class Origin : std::uint8_t { kHeap, kMapped, kImported };
  HostMemory(std::uint64_t size, hal::MemoryType type, void* pointer, Origin origin,
             bool hidden = false) noexcept
      : Memory(size, type, hidden ? nullptr : static_cast<std::byte*>(pointer),
               reinterpret_cast<std::uintptr_t>(pointer), cpu::domain()),
        origin_(origin) {}

 private:
  ~HostMemory() override {
    auto* const pointer = reinterpret_cast<void*>(device_address());
    if (origin_ == Origin::kMapped) unmap(pointer, size());
    if (origin_ == Origin::kHeap) std::free(pointer);
  }

  const Origin origin_;
};

}  // namespace

const void* domain() noexcept {
  static constexpr char kDomain = 0;
  return &kDomain;
}

Result<Ref<hal::Memory>> allocate(std::uint64_t size, std::uint64_t alignment, hal::MemoryType type,
                                  std::optional<unsigned> node, bool hidden) {
  const std::uint64_t page = base::page_size();
  assert(alignment <= page);  // mapped memory has it anyway
  const auto exhausted = [&] {
    return error(StatusCode::kResourceExhausted, "cpu: no memory for {} bytes", size);
  };
  if (size > PTRDIFF_MAX - page) return exhausted();
  const bool mapped = size >= (node ? page : kMapFrom);
  void* pointer;
  if (mapped) {
    pointer = native_call(kMap, [&] { return base::map_pages(size); });
    if (pointer == MAP_FAILED) return exhausted();
    if (node) {
      if (Status status = bind_to_node(pointer, size, *node); !status.ok()) {
        unmap(pointer, size);
        return status;
      }
    }
  } else {
    alignment = std::max(alignment, kDefaultAlignment);
    // A multiple of the alignment, and never 0.
    const std::uint64_t rounded =
        (std::max<std::uint64_t>(size, 1) + alignment - 1) & ~(alignment - 1);
    pointer = native_call(kAllocate, [&] { return std::aligned_alloc(alignment, rounded); });
    if (pointer == nullptr) return exhausted();
  }
  const auto origin = mapped ? HostMemory::Origin::kMapped : HostMemory::Origin::kHeap;
  auto* memory = new (std::nothrow) HostMemory(size, type, pointer, origin, hidden);
  if (memory == nullptr) {
    mapped ? unmap(pointer, size) : std::free(pointer);
    return exhausted();
  }
  return Ref<hal::Memory>(Ref<HostMemory>::adopt(memory));
}

Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size) {
  auto* memory = new (std::nothrow)
      HostMemory(size, hal::MemoryType::kHostLocal, data, HostMemory::Origin::kImported);
  if (memory == nullptr) return error(StatusCode::kResourceExhausted, "cpu: no memory to import");
  return Ref<hal::Memory>(Ref<HostMemory>::adopt(memory));
}

}  // namespace halyard::inline v0::cpu
