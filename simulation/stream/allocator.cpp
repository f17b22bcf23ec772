// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/stream/allocator.h"

#include <new>
#include <utility>

#include "base/format.h"
#include "drivers/stream/context.h"

namespace halyard::inline v0::stream {
namespace {

class StreamMemory final : public hal::Memory {
 public:
  // `guard` is null for imported memory.
  StreamMemory(const FakeApi& api, Ref<timeline::EntryGuard> guard, std::uint64_t size,
               hal::MemoryType type, std::byte* host, std::uint64_t address) noexcept
      : Memory(size, type, host, address, stream::domain()), api_(api), guard_(std::move(guard)) {}

 private:
  ~StreamMemory() override {
    if (!guard_) return;
    const timeline::Visit inside(*guard_);
    api_.free(device_address());
  }

  const FakeApi api_;
  const Ref<timeline::EntryGuard> guard_;
};

std::byte* host_pointer(std::uint64_t address) noexcept {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

}  // namespace

const void* domain() noexcept {
  static constexpr char kDomain = 0;
  return &kDomain;
}

Result<Ref<hal::Memory>> allocate(const FakeApi& api, Ref<timeline::EntryGuard> guard,
                                  std::uint64_t size, hal::MemoryType type) {
  std::uint64_t address = 0;
  if (const Status status = api.allocate(address, size); !status.ok()) {
    if (status.code() != StatusCode::kResourceExhausted) return status;
    return Status(status.code(), base::format("stream: no memory for {} bytes", size),
                  status.native_error());
  }
  std::byte* const host = type == hal::MemoryType::kDeviceLocal ? nullptr : host_pointer(address);
  auto* const memory =
      new (std::nothrow) StreamMemory(api, std::move(guard), size, type, host, address);
  if (memory != nullptr) return Ref<hal::Memory>(Ref<StreamMemory>::adopt(memory));
  api.free(address);
  return error(StatusCode::kResourceExhausted, "stream: no memory for {} bytes", size);
}

Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size) {
  auto* const memory = new (std::nothrow) StreamMemory(
      {}, {}, size, hal::MemoryType::kHostLocal, data, reinterpret_cast<std::uintptr_t>(data));
  if (memory == nullptr) {
    return error(StatusCode::kResourceExhausted, "stream: no memory to import");
  }
  return Ref<hal::Memory>(Ref<StreamMemory>::adopt(memory));
}

}  // namespace halyard::inline v0::stream
