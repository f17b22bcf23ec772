// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MemoryPool: a memory pool of a native library on one device, and a stream that only allocates
// from it and frees to it. So an allocation never waits for work of the device, and a free never
// waits. Outside of pools, a free may wait for all work of the context.
//
// Safe from any thread, within the guard of the device. Memory of the pool keeps it alive.
#pragma once

#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "base/format.h"
#include "drivers/stream/context.h"
#include "drivers/stream/device_api.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "timeline/entry_guard.h"

namespace halyard::inline v0::stream {

template <DeviceApi Api>
class MemoryPool final : public RefCounted {
 public:
  using PhysicalDevice = typename Api::PhysicalDevice;

  // Creates a pool on `device`. The pool keeps up to `release_threshold` free bytes. `peers`:
  // devices of `all` that can use the memory of `device` are given access to the pool. Returns
  // kUnavailable if the device has no pools, and the library's errors.
  static Result<Ref<MemoryPool>> create(const Api& api, Ref<timeline::EntryGuard> guard,
                                        const PhysicalDevice& device,
                                        const std::vector<PhysicalDevice>& all, bool peers,
                                        std::uint64_t release_threshold) {
    auto pool = Ref<MemoryPool>::adopt(new (std::nothrow) MemoryPool(api, std::move(guard)));
    if (!pool) {
      return error(StatusCode::kResourceExhausted, "{}: no memory for a memory pool", Api::kDriver);
    }
    const timeline::Visit inside(*pool->guard_);
    const Status status = api.create_pool(device.handle, pool->pool_);
    if (status.code() == StatusCode::kUnimplemented) {
      return Status(StatusCode::kUnavailable,
                    base::format("{}: {} lacks what async_allocations=1 needs: memory pools",
                                 Api::kDriver, device.name),
                    status.native_error());
    }
    HALYARD_RETURN_IF_ERROR(status);
    pool->has_pool_ = true;
    HALYARD_RETURN_IF_ERROR(api.set_release_threshold(pool->pool_, release_threshold));
    if (peers) HALYARD_RETURN_IF_ERROR(pool->let_peers_in(device, all));
    HALYARD_RETURN_IF_ERROR(api.create_stream(pool->stream_, 0));
    pool->has_stream_ = true;
    return pool;
  }

  // Allocates memory that every stream may use at once. So it waits until the allocation has
  // completed in the pool's stream, which contains only allocations and frees. Pending frees there
  // may have to complete before there is enough memory; then it allocates again.
  Status allocate(std::uint64_t& address, std::uint64_t size) const noexcept {
    Status status = api_.allocate_from(pool_, stream_, address, size);
    if (status.code() == StatusCode::kResourceExhausted && api_.finish(stream_).ok()) {
      status = api_.allocate_from(pool_, stream_, address, size);
    }
    HALYARD_RETURN_IF_ERROR(status);
    status = api_.finish(stream_);
    if (!status.ok()) free(address);
    return status;
  }
  // Precondition: all work that uses the memory has ended.
  void free(std::uint64_t address) const noexcept { api_.free_async(address, stream_); }

 private:
  MemoryPool(const Api& api, Ref<timeline::EntryGuard> guard) noexcept
      : api_(api), guard_(std::move(guard)) {}
  // "The resources associated with the pool will be released automatically" once frees that were
  // issued have completed (cuMemPoolDestroy); the same holds for a stream (cuStreamDestroy).
  ~MemoryPool() override {
    const timeline::Visit inside(*guard_);
    if (has_stream_) api_.destroy(stream_);
    if (has_pool_) api_.destroy(pool_);
  }

  // Peer access between contexts does not include the memory of pools.
  Status let_peers_in(const PhysicalDevice& device, const std::vector<PhysicalDevice>& all) const {
    for (const PhysicalDevice& user : all) {
      if (user.handle == device.handle) continue;
      bool possible = false;
      HALYARD_RETURN_IF_ERROR(api_.can_access_peer(user.handle, device.handle, possible));
      if (possible) HALYARD_RETURN_IF_ERROR(api_.share_pool(pool_, user.handle));
    }
    return {};
  }

  const Api api_;
  const Ref<timeline::EntryGuard> guard_;
  typename Api::Pool pool_{};
  typename Api::Stream stream_{};
  bool has_pool_ = false, has_stream_ = false;
};

}  // namespace halyard::inline v0::stream
