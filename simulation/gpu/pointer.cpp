// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/pointer.h"

#include <cstring>

#include "simulation/gpu/pool.h"
#include "simulation/gpu/rules.h"

namespace halyard::inline v0::sim::gpu {
namespace {

template <class T>
Result answer(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return kSuccess;
}

}  // namespace

Result pointer_attribute(void* data, int which, DevicePointer address) {
  const std::optional<Allocation> found = memory().find(address);
  if (memory().is_freed(address)) {
    // cuda.h, cuMemFreeAsync: "accessing the memory from the host or device, querying its pointer
    // attributes, ... after this call is undefined".
    report_misuse("attributes-of-freed-memory",
                  std::string("attributes of stream-ordered memory were asked for after ") +
                      rules().names.free_async);
    return kInvalidValue;
  }
  if (which == kIsMapped) return answer<int>(data, found ? 1 : 0);
  if (which == kDeviceOrdinal && !found) return kInvalidValue;
  HALYARD_GPU_REQUIRE(found, kInvalidValue);
  switch (which) {
    case kContextOf:
      HALYARD_GPU_REQUIRE(found->kind != MemoryKind::kPool && found->context != nullptr,
                          kInvalidValue);
      return answer(data, found->context->handle);
    case kMemoryTypeOf:
      return answer<unsigned>(data, found->is_on_device() ? kDevice : kHost);
    case kDevicePointerOf:
      return answer(data, found->device_alias != 0 ? found->device_alias + (address - found->begin)
                                                   : address);
    case kHostPointerOf:
      HALYARD_GPU_REQUIRE(!found->is_on_device() || found->kind == MemoryKind::kManaged,
                          kInvalidValue);
      return answer(
          data, found->host_alias != 0 ? found->host_alias + (address - found->begin) : address);
    case kSyncMemops:
      return answer<int>(data, 0);
    case kBufferId:
      return answer<unsigned long long>(data, found->id);
    case kIsManaged:
      return answer<int>(data, found->kind == MemoryKind::kManaged ? 1 : 0);
    case kDeviceOrdinal:
      return answer<int>(data, found->device);
    case kIsIpcCapable:
    case kIsRdmaCapable:
      return answer<int>(data, 0);
    case kRangeStart:
      return answer(data, found->begin);
    case kRangeSize:
      return answer<std::size_t>(data, found->size);
    case kHandleTypes:
      return answer<unsigned long long>(data, 0);
    case kAccessFlags:
      return answer<int>(data, found->is_read_only ? 1 : 3);
    case kPoolOf:
      return answer(data, found->pool);
    default:
      return which >= 1 && which <= 21 ? kNotSupported : kInvalidValue;
  }
}

namespace {

// Writes the attribute that cuPointerGetAttributes reports for an unknown address.
Result default_attribute(void* data, int which) {
  switch (which) {
    case kContextOf:
    case kDevicePointerOf:
    case kHostPointerOf:
    case kRangeStart:
    case kRangeSize:
    case kBufferId:
    case kHandleTypes:
    case kPoolOf:
      return answer<std::uint64_t>(data, 0);
    case kDeviceOrdinal:
      return answer<int>(data, -2);
    default:
      return answer<int>(data, 0);
  }
}

}  // namespace

Result pointer_attributes(unsigned count, const int* which, void** data, DevicePointer address) {
  HALYARD_GPU_REQUIRE(which != nullptr && data != nullptr, kInvalidValue);
  for (unsigned i = 0; i < count; ++i) {
    HALYARD_GPU_REQUIRE(which[i] >= 1 && which[i] <= 21 && data[i] != nullptr, kInvalidValue);
    // cuda.h: unlike cuPointerGetAttribute, an unknown address is not an error; it has default
    // values.
    if (pointer_attribute(data[i], which[i], address) != kSuccess)
      default_attribute(data[i], which[i]);
  }
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::gpu
