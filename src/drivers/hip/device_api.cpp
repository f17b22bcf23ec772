// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory, pools and peers of HIP, as the stream driver asks for them (drivers/stream/device_api.h).
#include <cstddef>
#include <cstdint>

#include "base/format.h"
#include "drivers/hip/api.h"
#include "drivers/hip/error.h"

namespace halyard::inline v0::hip {
namespace {

std::uint64_t address_of(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace

Status HipApi::allocate(std::uint64_t& address, std::uint64_t size) const noexcept {
  void* pointer = nullptr;
  const Status status = HALYARD_HIP_CALL(hipMalloc, &pointer, std::size_t{size});
  address = address_of(pointer);
  return status;
}
Status HipApi::allocate_managed(std::uint64_t& address, std::uint64_t size) const noexcept {
  void* pointer = nullptr;
  const Status status =
      HALYARD_HIP_CALL(hipMallocManaged, &pointer, std::size_t{size}, hipMemAttachGlobal);
  address = address_of(pointer);
  return status;
}
void HipApi::free(std::uint64_t address) const noexcept {
  (void)call(hip->hipFree, pointer_to(address));
}

Status HipApi::allocate_host(stream::HostMemory& memory, std::uint64_t size) const noexcept {
  HALYARD_RETURN_IF_ERROR(HALYARD_HIP_CALL(hipHostMalloc, &memory.pointer, std::size_t{size},
                                           hipHostMallocPortable | hipHostMallocMapped));
  const Status status = device_address(memory.pointer, memory.address);
  if (!status.ok()) free_host(memory.pointer);
  return status;
}
void HipApi::free_host(void* pointer) const noexcept { (void)call(hip->hipHostFree, pointer); }

// Until June 2026 libraries take a second registration, and end both at once: what HIP knows is
// left to its owner.
Status HipApi::register_host(void* pointer, std::uint64_t size) const noexcept {
  void* known = nullptr;
  if (call(hip->hipHostGetDevicePointer, &known, pointer, 0u) == hipSuccess) {
    return Status(StatusCode::kFailedPrecondition, "hip: the memory is registered already");
  }
  return HALYARD_HIP_CALL(hipHostRegister, pointer, std::size_t{size},
                          hipHostRegisterPortable | hipHostRegisterMapped);
}
void HipApi::unregister_host(void* pointer) const noexcept {
  (void)call(hip->hipHostUnregister, pointer);
}
// It may differ from the host's (ROCm/hip#2189).
Status HipApi::device_address(void* pointer, std::uint64_t& address) const noexcept {
  void* found = nullptr;
  hipError_t result = call(hip->hipHostGetDevicePointer, &found, pointer, 0u);
  if (result != hipSuccess) {
    result = call(hip->hipPointerGetAttribute, static_cast<void*>(&found),
                  HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, pointer);
  }
  address = address_of(found);
  return to_status(result, "hipHostGetDevicePointer");
}

Status HipApi::find_owner(std::uint64_t address, int& ordinal) const noexcept {
  const int device_memory = hip->version >= kNewMemoryTypes ? 2 : 1;  // hipMemoryTypeDevice
  int type = -1, its = -1;
  hipError_t result = call(hip->hipPointerGetAttribute, static_cast<void*>(&type),
                           HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer_to(address));
  if (result == hipSuccess) {
    result = call(hip->hipPointerGetAttribute, static_cast<void*>(&its),
                  HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer_to(address));
  }
  const bool is_known = result != hipErrorInvalidValue;
  ordinal = is_known && type == device_memory ? its : -1;
  return is_known ? to_status(result, "hipPointerGetAttribute") : Status();
}

Status HipApi::create_pool(int ordinal, Pool& pool) const noexcept {
  hipMemPoolProps properties{};
  properties.allocType = hipMemAllocationTypePinned;
  properties.location = {hipMemLocationTypeDevice, ordinal};
  return HALYARD_HIP_CALL(hipMemPoolCreate, &pool, const_cast<const hipMemPoolProps*>(&properties));
}
Status HipApi::set_release_threshold(Pool pool, std::uint64_t size) const noexcept {
  return HALYARD_HIP_CALL(hipMemPoolSetAttribute, pool, hipMemPoolAttrReleaseThreshold,
                          static_cast<void*>(&size));
}
Status HipApi::share_pool(Pool pool, int ordinal) const noexcept {
  const hipMemAccessDesc access = {{hipMemLocationTypeDevice, ordinal},
                                   hipMemAccessFlagsProtReadWrite};
  return HALYARD_HIP_CALL(hipMemPoolSetAccess, pool, &access, std::size_t{1});
}
void HipApi::destroy(Pool pool) const noexcept { (void)call(hip->hipMemPoolDestroy, pool); }
Status HipApi::allocate_from(Pool pool, Stream stream, std::uint64_t& address,
                             std::uint64_t size) const noexcept {
  void* pointer = nullptr;
  const Status status =
      HALYARD_HIP_CALL(hipMallocFromPoolAsync, &pointer, std::size_t{size}, pool, stream);
  address = address_of(pointer);
  return status;
}
void HipApi::free_async(std::uint64_t address, Stream stream) const noexcept {
  (void)call(hip->hipFreeAsync, pointer_to(address), stream);
}

Status HipApi::can_access_peer(int user, int owner, bool& possible) const noexcept {
  int answer = 0;
  const Status status = HALYARD_HIP_CALL(hipDeviceCanAccessPeer, &answer, user, owner);
  possible = answer != 0;
  return status;
}
// Another user of the device may have enabled it.
Status HipApi::enable_peer_access(Context owner) const noexcept {
  const hipError_t result = call(hip->hipDeviceEnablePeerAccess, owner, 0u);
  return result == hipErrorPeerAccessAlreadyEnabled
             ? Status()
             : to_status(result, "hipDeviceEnablePeerAccess");
}

Status HipApi::priority_range(int& least, int& greatest) const noexcept {
  return HALYARD_HIP_CALL(hipDeviceGetStreamPriorityRange, &least, &greatest);
}

// A handle that is none is hipErrorContextIsDestroyed up to HIP 6, and later a crash.
Status HipApi::check_import(Stream stream) const {
  const std::uint64_t handle = address_of(stream);
  if (handle <= hipStreamPerThread_AS_INT) {
    return Status(StatusCode::kInvalidArgument,
                  "hip: null, hipStreamLegacy and hipStreamPerThread are no streams of their own");
  }
  int its = -1;
  HALYARD_RETURN_IF_ERROR(HALYARD_HIP_CALL(hipStreamGetDevice, stream, &its));
  if (its == device->handle) return {};
  return Status(StatusCode::kPermissionDenied, "hip: the stream is of another device");
}

}  // namespace halyard::inline v0::hip
