// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/serial/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/format.h"
#include "base/native_call.h"
#include "base/pages.h"

namespace halyard::inline v0::serial {
namespace {

HALYARD_CALL_SITE(kMap, "serial.map", ENOMEM, base::Failing::kMapped);
HALYARD_CALL_SITE(kUnmap, "serial.unmap", 0, base::Failing::kErrno,
                  "munmap(2) of a whole mapping fails for what is none");

void unmap(void* pointer, std::uint64_t size) noexcept {
  base::native_call(kUnmap, [&] { return munmap(pointer, size); });
}

class HostMemory final : public hal::Memory {
 public:
  HostMemory(std::uint64_t size, hal::MemoryType type, void* pointer, std::uint64_t mapped,
             const void* domain) noexcept
      : Memory(size, type, static_cast<std::byte*>(pointer), /*device_address=*/0, domain),
        bytes_(static_cast<std::byte*>(pointer)),
        mapped_(mapped) {}

  std::byte* bytes() const noexcept { return bytes_; }  // replaces a native handle

 private:
  ~HostMemory() override {
    if (mapped_ != 0) unmap(bytes_, mapped_);
  }

  std::byte* const bytes_;
  const std::uint64_t mapped_;  // bytes to unmap; 0 if the memory is imported
};

}  // namespace

std::byte* bytes_of(const hal::BoundRange& range) noexcept {
  const hal::BoundRange root = hal::at_root(range);
  return static_cast<const HostMemory*>(root.memory)->bytes() + root.offset;
}

// Maps pages, so that every alignment holds; at least one, so that an empty memory has an address.
Result<Ref<hal::Memory>> allocate(std::uint64_t size, hal::MemoryType type, const void* domain) {
  const std::uint64_t mapped = std::max<std::uint64_t>(size, 1);
  void* const pointer = base::native_call(kMap, [&] { return base::map_pages(mapped); });
  if (pointer != MAP_FAILED) {
    auto* memory = new (std::nothrow) HostMemory(size, type, pointer, mapped, domain);
    if (memory != nullptr) return Ref<hal::Memory>(Ref<HostMemory>::adopt(memory));
    unmap(pointer, mapped);
  }
  return error(StatusCode::kResourceExhausted, "serial: no memory for {} bytes", size);
}

Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size, const void* domain) {
  auto* memory = new (std::nothrow) HostMemory(size, hal::MemoryType::kHostLocal, data, 0, domain);
  if (memory == nullptr) {
    return error(StatusCode::kResourceExhausted, "serial: no memory to import");
  }
  return Ref<hal::Memory>(Ref<HostMemory>::adopt(memory));
}

}  // namespace halyard::inline v0::serial
