// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the devices of a native library. Its address is the same on all devices:
//
//   kDeviceLocal                allocate(), or a memory pool of the library
//   kHostVisible, kHostLocal    allocate_host(): pinned, for all devices
//   kHostVisible, managed       allocate_managed(), which migrates to where it is used
//   imported                    register_host(); imports within a registered range share it.
//                               Imported device addresses are used as they are
//
// The last reference frees it, within the guard of its device, which keeps the context.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/format.h"
#include "base/mutex.h"
#include "drivers/stream/context.h"
#include "drivers/stream/device_api.h"
#include "drivers/stream/memory_pool.h"
#include "drivers/stream/registration.h"
#include "hal/memory/memory.h"
#include "halyard/base/result.h"
#include "timeline/entry_guard.h"

namespace halyard::inline v0::stream {

// The allocator of a device. The tables that `api` points to live until the process ends.
template <DeviceApi Api>
struct Allocator {
  const Api& api;
  const Ref<timeline::EntryGuard>& guard;
  const void* domain;
  bool managed = false;  // kHostVisible memory is; the host may touch it during work
  MemoryPool<Api>* pool = nullptr;  // of kDeviceLocal memory; null: allocate()

  // Both functions are called within the guard, and return kResourceExhausted with the size.
  Result<Ref<hal::Memory>> allocate(std::uint64_t size, std::uint64_t alignment,
                                    hal::MemoryType type) const {
    // Never empty, and whole words, so that every fill of a multiple of 4 bytes is in range.
    const std::uint64_t slack = alignment > kNativeAlignment ? alignment - kNativeAlignment : 0;
    const std::uint64_t bytes =
        ((std::max<std::uint64_t>(size, 4) + 3) & ~std::uint64_t{3}) + slack;
    const bool is_managed = managed && type == hal::MemoryType::kHostVisible;
    const bool pinned = type != hal::MemoryType::kDeviceLocal && !is_managed;
    MemoryPool<Api>* const its_pool = type == hal::MemoryType::kDeviceLocal ? pool : nullptr;
    HostMemory base;  // as it was allocated
    const Status status = pinned                ? api.allocate_host(base, bytes)
                          : is_managed          ? api.allocate_managed(base.address, bytes)
                          : its_pool != nullptr ? its_pool->allocate(base.address, bytes)
                                                : api.allocate(base.address, bytes);
    if (status.code() == StatusCode::kResourceExhausted) {
      return Status(StatusCode::kResourceExhausted, no_memory(size).message(),
                    status.native_error());
    }
    HALYARD_RETURN_IF_ERROR(status);
    if (is_managed) base.pointer = pointer_to(base.address);
    const std::uint64_t round = std::max<std::uint64_t>(alignment, 1) - 1;
    const std::uint64_t skip = slack != 0 ? ((base.address + round) & ~round) - base.address : 0;
    auto* const memory = new (std::nothrow)
        OwnMemory(*this, base, skip, size, type, pinned, Ref<MemoryPool<Api>>(its_pool));
    if (memory != nullptr) return Ref<hal::Memory>(Ref<OwnMemory>::adopt(memory));
    free(api, base, pinned, its_pool);
    return no_memory(size);
  }

  // Imports the host's [data, data + size) in place. Returns kResourceExhausted if some, but not
  // all, of its pages are pinned already.
  Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size) const {
    const std::uint64_t bytes = std::max<std::uint64_t>(size, 1);
    Status refused;
    HALYARD_ASSIGN_OR_RETURN(Registration<Api>* const registration,
                             Registration<Api>::pin(api, guard, data, bytes, refused));
    std::uint64_t first = 0, last = 0;
    ImportedMemory* memory = nullptr;
    Status status;
    if (!api.device_address(data, first).ok() || !api.device_address(data + bytes - 1, last).ok() ||
        last - first != bytes - 1) {
      status = refused.code() == StatusCode::kInvalidArgument
                   ? refused
                   : error(StatusCode::kResourceExhausted,
                           "{}: {} bytes of the host cannot be pinned: a part of them is already",
                           Api::kDriver, size);
    } else {
      memory = new (std::nothrow) ImportedMemory(registration, data, first, size, domain);
      if (memory == nullptr) status = no_memory(size);
    }
    if (memory != nullptr) return Ref<hal::Memory>(Ref<ImportedMemory>::adopt(memory));
    if (registration != nullptr) registration->unpin();
    return status;
  }

  // Imports memory of device `ordinal` that its owner keeps. Returns kInvalidArgument for other
  // memory. Both ends are checked, since another user's allocation may consist of several mappings.
  Result<Ref<hal::Memory>> import_address(std::uint64_t address, std::uint64_t size,
                                          int ordinal) const {
    for (const std::uint64_t end : {address, address + std::max<std::uint64_t>(size, 1) - 1}) {
      int owner = -1;
      HALYARD_RETURN_IF_ERROR(api.find_owner(end, owner));
      if (owner == ordinal) continue;
      return error(StatusCode::kInvalidArgument, "{}: address {:#x} is no memory of device {}",
                   Api::kDriver, end, ordinal);
    }
    auto* const memory = new (std::nothrow) OthersMemory(address, size, domain);
    if (memory == nullptr) return no_memory(size);
    return Ref<hal::Memory>(Ref<OthersMemory>::adopt(memory));
  }

 private:
  // The alignment that libraries guarantee (MemoryApi). CUDA: "suitably aligned for any kind of
  // variable", which is at least 256 bytes according to the programming guide.
  static constexpr std::uint64_t kNativeAlignment = 256;

  static Status no_memory(std::uint64_t size) {
    return error(StatusCode::kResourceExhausted, "{}: no memory for {} bytes", Api::kDriver, size);
  }
  static void* pointer_to(std::uint64_t address) noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  }
  static void free(const Api& api, const HostMemory& base, bool pinned,
                   const MemoryPool<Api>* pool) noexcept {
    if (pool != nullptr) {
      pool->free(base.address);
    } else if (pinned) {
      api.free_host(base.pointer);
    } else {
      api.free(base.address);
    }
  }

  class OwnMemory final : public hal::Memory {
   public:
    OwnMemory(const Allocator& its, const HostMemory& base, std::uint64_t skip, std::uint64_t size,
              hal::MemoryType type, bool pinned, Ref<MemoryPool<Api>> pool) noexcept
        : Memory(size, type,
                 type == hal::MemoryType::kDeviceLocal
                     ? nullptr
                     : static_cast<std::byte*>(base.pointer) + skip,
                 base.address + skip, its.domain),
          api_(its.api),
          guard_(its.guard),
          base_(base),
          pinned_(pinned),
          pool_(std::move(pool)) {}

   private:
    ~OwnMemory() override {
      const timeline::Visit inside(*guard_);
      Allocator::free(api_, base_, pinned_, pool_.get());
    }

    const Api api_;
    const Ref<timeline::EntryGuard> guard_;
    const HostMemory base_;
    const bool pinned_;  // of the host
    const Ref<MemoryPool<Api>> pool_;
  };

  class ImportedMemory final : public hal::Memory {
   public:
    // `registration` is null for memory that its owner pinned.
    ImportedMemory(Registration<Api>* registration, std::byte* data, std::uint64_t address,
                   std::uint64_t size, const void* domain) noexcept
        : Memory(size, hal::MemoryType::kHostLocal, data, address, domain),
          registration_(registration) {}

   private:
    ~ImportedMemory() override {
      if (registration_ != nullptr) registration_->unpin();
    }

    Registration<Api>* const registration_;
  };

  // Memory that another user of the library owns.
  class OthersMemory final : public hal::Memory {
   public:
    OthersMemory(std::uint64_t address, std::uint64_t size, const void* domain) noexcept
        : Memory(size, hal::MemoryType::kDeviceLocal, nullptr, address, domain) {}

   private:
    ~OthersMemory() override = default;
  };
};

}  // namespace halyard::inline v0::stream
