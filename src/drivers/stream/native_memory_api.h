// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NativeMemoryApi: memory, pools and peers of CUDA and HIP (native_calls.h). The contracts are
// those of device_api.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/format.h"
#include "drivers/stream/device_api.h"
#include "drivers/stream/native_stream_api.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::stream {

template <class Api, class Names>
struct NativeMemoryApi : NativeStreamApi<Api, Names> {
  using Calls = NativeCalls<Api, Names>;
  using Calls::call, Calls::check, Calls::check_on, Calls::status_of_call, Calls::self,
      Calls::pointer_to, Calls::address_of;
  using typename Calls::NativeResult;
  using typename Calls::Pointer;
  using typename Calls::Stream;
  using typename NativeStreamApi<Api, Names>::Context;
  using NativeStreamApi<Api, Names>::destroy;
  using Pool = typename Names::Pool;

  Status allocate(std::uint64_t& address, std::uint64_t size) const noexcept {
    Pointer pointer{};
    const Status status = check(Names::Allocate, &pointer, std::size_t{size});
    address = address_of(pointer);
    return status;
  }
  Status allocate_managed(std::uint64_t& address, std::uint64_t size) const noexcept {
    Pointer pointer{};
    const Status status =
        check(Names::AllocateManaged, &pointer, std::size_t{size}, 1u /* global */);
    address = address_of(pointer);
    return status;
  }
  void free(std::uint64_t address) const noexcept { (void)call(Names::Free, pointer_to(address)); }
  Status allocate_host(HostMemory& memory, std::uint64_t size) const noexcept {
    HALYARD_RETURN_IF_ERROR(
        check(Names::AllocateHost, &memory.pointer, std::size_t{size}, kPortable | kMapped));
    if constexpr (!Names::kDevicesMaySeeHostMemoryElsewhere) {
      memory.address = reinterpret_cast<std::uintptr_t>(memory.pointer);
      return {};
    }
    const Status status = device_address(memory.pointer, memory.address);
    if (!status.ok()) free_host(memory.pointer);
    return status;
  }
  void free_host(void* pointer) const noexcept { (void)call(Names::FreeHost, pointer); }
  Status register_host(void* pointer, std::uint64_t size) const noexcept {
    const NativeResult result =
        call(Names::RegisterHost, pointer, std::size_t{size}, kPortable | kMapped);
    const Status status = status_of_call(result, Names::RegisterHost);
    if (result != Calls::kRegisteredAlready) return status;
    return Status(StatusCode::kFailedPrecondition, status.message(), status.native_error());
  }
  void unregister_host(void* pointer) const noexcept { (void)call(Names::UnregisterHost, pointer); }
  Status device_address(void* pointer, std::uint64_t& address) const noexcept {
    Pointer found{};
    NativeResult result = call(Names::GetDevicePointer, &found, pointer, 0u);
    if (result != Calls::kSuccess) {
      result = read_pointer(3, &found, reinterpret_cast<std::uintptr_t>(pointer));
    }
    address = address_of(found);
    return status_of_call(result, Names::GetDevicePointer);
  }
  // The libraries return "invalid value" for addresses that they do not know.
  Status find_owner(std::uint64_t address, int& ordinal) const noexcept {
    int type = 0, its = -1;
    NativeResult result = read_pointer(2, &type, address);
    if (result == Calls::kSuccess) result = read_pointer(9, &its, address);
    const bool is_known = result != Calls::kInvalidValue;
    ordinal = is_known && type == self().device_memory_type() ? its : -1;
    return is_known ? status_of_call(result, Names::PointerGetAttribute) : Status();
  }

  Status create_pool(int ordinal, Pool& pool) const noexcept {
    typename Names::PoolProperties properties{};
    properties.allocType = static_cast<decltype(properties.allocType)>(1);          // pinned
    properties.location.type = static_cast<decltype(properties.location.type)>(1);  // a device
    properties.location.id = ordinal;
    return check(Names::MemPoolCreate, &pool, &std::as_const(properties));
  }
  Status set_release_threshold(Pool pool, std::uint64_t size) const noexcept {
    return check(Names::MemPoolSetAttribute, pool, static_cast<typename Names::PoolAttribute>(4),
                 static_cast<void*>(&size));
  }
  Status share_pool(Pool pool, int ordinal) const noexcept {
    typename Names::PoolAccess access{};
    access.location.type = static_cast<decltype(access.location.type)>(1);  // a device
    access.location.id = ordinal;
    access.flags = static_cast<decltype(access.flags)>(3);  // it reads and writes
    return check(Names::MemPoolSetAccess, pool, &std::as_const(access), std::size_t{1});
  }
  void destroy(Pool pool) const noexcept { (void)call(Names::MemPoolDestroy, pool); }
  Status allocate_from(Pool pool, Stream stream, std::uint64_t& address,
                       std::uint64_t size) const noexcept {
    Pointer pointer{};
    const Status status = check(Names::AllocateFromPool, &pointer, std::size_t{size}, pool, stream);
    address = address_of(pointer);
    return status;
  }
  void free_async(std::uint64_t address, Stream stream) const noexcept {
    (void)call(Names::FreeAsync, pointer_to(address), stream);
  }

  Status can_access_peer(int user, int owner, bool& possible) const noexcept {
    int answer = 0;
    const Status status = check(Names::DeviceCanAccessPeer, &answer, user, owner);
    possible = answer != 0;
    return status;
  }
  // Another user of the context may have enabled it.
  Status enable_peer_access(Context owner) const noexcept {
    const NativeResult result = call(Names::EnablePeerAccess, owner, 0u);
    return result == Calls::kPeersAlready ? Status()
                                          : status_of_call(result, Names::EnablePeerAccess);
  }

 private:
  static constexpr unsigned kPortable = 1, kMapped = 2;

  NativeResult read_pointer(int attribute, void* value, std::uint64_t address) const noexcept {
    return call(Names::PointerGetAttribute, value,
                static_cast<typename Names::PointerAttribute>(attribute), pointer_to(address));
  }
};

}  // namespace halyard::inline v0::stream
