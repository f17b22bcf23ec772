// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of devices and of the host, managed memory, and HIP's attributes of addresses.
#include <cstring>

#include "simulation/gpu/advice.h"
#include "simulation/gpu/allocation.h"
#include "simulation/gpu/options.h"
#include "simulation/gpu/pointer.h"
#include "simulation/gpu/pool.h"
#include "simulation/hip/stream.h"

namespace halyard::inline v0::sim::hip {
namespace {

constexpr std::size_t kPitchAlignment = 256;  // device::Info::imagePitchAlignment_

Result allocate(Call& call, void** pointer, std::size_t size) {
  HALYARD_GPU_REQUIRE(pointer != nullptr, gpu::kInvalidValue);
  *pointer = nullptr;
  if (size == 0) return kSuccess;
  DevicePointer address = 0;
  const Result result = gpu::allocate_device(call, &address, size);
  if (result == kSuccess) *pointer = pointer_to(address);
  return result;
}

// Flags of hipHostMalloc. Without Mapped or Coherent, Portable memory is not coherent, unless
// HIP_HOST_COHERENT is set (hip_memory.cpp:370): a kernel's writes become visible after a wait.
Result allocate_pinned(Call& call, void** pointer, std::size_t size, unsigned flags) {
  HALYARD_GPU_REQUIRE(pointer != nullptr, gpu::kInvalidValue);
  *pointer = nullptr;
  constexpr unsigned kAll = kHostPortable | kHostMapped | kHostWriteCombined | kHostNumaUser |
                            kHostCoherent | kHostNonCoherent;
  HALYARD_GPU_REQUIRE((flags & ~kAll) == 0, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE((flags & kHostCoherent) == 0 || (flags & kHostNonCoherent) == 0,
                      gpu::kInvalidValue);
  if (size == 0) return kSuccess;
  const Result result = gpu::allocate_host(call, pointer, size, flags & 7U);
  if (result == kSuccess) gpu::memory().set_flags(address_of(*pointer), flags);
  return result;
}

Result allocate_rows(Call& call, void** pointer, std::size_t* pitch, std::size_t width,
                     std::size_t height, std::size_t depth) {
  HALYARD_GPU_REQUIRE(pointer != nullptr && pitch != nullptr, gpu::kInvalidValue);
  if (width == 0 || height == 0 || depth == 0) {
    *pointer = nullptr;
    return kSuccess;
  }
  HALYARD_GPU_REQUIRE(width <= ~std::size_t{0} - kPitchAlignment, gpu::kInvalidValue);
  *pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  HALYARD_GPU_REQUIRE(*pitch <= gpu::options().memory_bytes / height / depth, gpu::kOutOfMemory);
  return allocate(call, pointer, *pitch * height * depth);
}

// Memory for hipStreamWaitValue, which the host may access as well; always 8 bytes.
Result allocate_signal(Call& call, void** pointer, std::size_t size) {
  HALYARD_GPU_REQUIRE(pointer != nullptr && size == 8, gpu::kInvalidValue);
  const Result result = gpu::allocate_host(call, pointer, size, kHostMapped);
  if (result == kSuccess) std::memset(*pointer, 0, size);
  return result;
}

Result free_memory(Call& call, void* pointer) {
  if (pointer == nullptr) return kSuccess;
  const std::optional<gpu::Allocation> found = gpu::memory().find(address_of(pointer));
  if (found && found->kind == gpu::MemoryKind::kHost) return gpu::free_host(call, pointer);
  return gpu::free_device(call, address_of(pointer));
}

unsigned type_of(const gpu::Allocation& allocation) {
  const bool is_managed = allocation.kind == gpu::MemoryKind::kManaged;
  if (is_since(kVersion60)) {
    if (is_managed) return memory_type::kManaged;
    return allocation.is_on_device() ? memory_type::kDevice : memory_type::kHost;
  }
  if (is_managed) return memory_type::kOldManaged;
  return allocation.is_on_device() ? memory_type::kOldDevice : memory_type::kOldHost;
}

Result attributes_of(PointerAttributes* attributes, const void* pointer) {
  HALYARD_GPU_REQUIRE(attributes != nullptr, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(pointer != nullptr || is_since(kVersion70), gpu::kInvalidValue);
  const DevicePointer address = address_of(pointer);
  const gpu::Place& place = gpu::memory().place(address);
  if (place.is_freed) {
    gpu::report_misuse("attributes-of-freed-memory",
                       "attributes of stream-ordered memory were asked for after hipFreeAsync");
  }
  if (!place.is_allocated || place.is_freed) {
    // hip_memory.cpp:3764: unknown memory is not an error since 6.0.
    HALYARD_GPU_REQUIRE(is_since(kVersion60), gpu::kInvalidValue);
    *attributes = {memory_type::kUnregistered, -2, nullptr, nullptr, 0, 0};
    return kSuccess;
  }
  const gpu::Allocation& of = place.allocation;
  const std::uint64_t offset = address - of.begin;
  const DevicePointer on_device = of.device_alias != 0 ? of.device_alias + offset : address;
  const DevicePointer on_host = of.host_alias != 0 ? of.host_alias + offset : address;
  const bool is_visible = !of.is_on_device() || of.kind == gpu::MemoryKind::kManaged;
  *attributes = {static_cast<int>(type_of(of)),
                 of.device,
                 pointer_to(on_device),
                 is_visible ? pointer_to(on_host) : nullptr,
                 of.kind == gpu::MemoryKind::kManaged ? 1 : 0,
                 of.flags};
  return kSuccess;
}

Result attribute(void* data, int which, void* pointer) {
  HALYARD_GPU_REQUIRE(data != nullptr && pointer != nullptr, gpu::kInvalidValue);
  if (which != gpu::kMemoryTypeOf) {
    return gpu::pointer_attribute(data, which, address_of(pointer));
  }
  const std::optional<gpu::Allocation> found = gpu::memory().find(address_of(pointer));
  HALYARD_GPU_REQUIRE(found, gpu::kInvalidValue);
  const unsigned type = type_of(*found);
  std::memcpy(data, &type, sizeof type);
  return kSuccess;
}

}  // namespace

HALYARD_HIP_EXPORT Result hipMalloc(void** pointer, std::size_t size) {
  HALYARD_HIP_CALL(hipMalloc, gpu::kCurrent | gpu::kUnsafeInCapture) {
    return allocate(call, pointer, size);
  };
}

HALYARD_HIP_EXPORT Result hipExtMallocWithFlags(void** pointer, std::size_t size, unsigned flags) {
  HALYARD_HIP_CALL(hipExtMallocWithFlags, gpu::kCurrent | gpu::kUnsafeInCapture) {
    HALYARD_GPU_REQUIRE(flags <= kMallocContiguous, gpu::kInvalidValue);
    if (flags == kMallocSignal) return allocate_signal(call, pointer, size);
    return allocate(call, pointer, size);
  };
}

HALYARD_HIP_EXPORT Result hipMallocPitch(void** pointer, std::size_t* pitch, std::size_t width,
                                         std::size_t height) {
  HALYARD_HIP_CALL(hipMallocPitch, gpu::kCurrent | gpu::kUnsafeInCapture) {
    return allocate_rows(call, pointer, pitch, width, height, 1);
  };
}

HALYARD_HIP_EXPORT Result hipMemAllocPitch(void** pointer, std::size_t* pitch, std::size_t width,
                                           std::size_t height, unsigned element) {
  HALYARD_HIP_CALL(hipMemAllocPitch, gpu::kCurrent | gpu::kUnsafeInCapture) {
    HALYARD_GPU_REQUIRE(element == 4 || element == 8 || element == 16, gpu::kInvalidValue);
    return allocate_rows(call, pointer, pitch, width, height, 1);
  };
}

HALYARD_HIP_EXPORT Result hipMalloc3D(PitchedPointer* pointer, Extent extent) {
  HALYARD_HIP_CALL(hipMalloc3D, gpu::kCurrent | gpu::kUnsafeInCapture) {
    HALYARD_GPU_REQUIRE(pointer != nullptr, gpu::kInvalidValue);
    std::size_t pitch = 0;
    void* memory = nullptr;
    const Result result =
        allocate_rows(call, &memory, &pitch, extent.width, extent.height, extent.depth);
    if (result == kSuccess) *pointer = {memory, pitch, extent.width, extent.height};
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipFree(void* pointer) {
  HALYARD_HIP_CALL(hipFree, gpu::kCurrent | gpu::kUnsafeInCapture) {
    return free_memory(call, pointer);
  };
}

HALYARD_HIP_EXPORT Result hipMemGetInfo(std::size_t* free, std::size_t* total) {
  HALYARD_HIP_CALL(hipMemGetInfo, gpu::kCurrent) {
    const std::size_t all = gpu::options().memory_bytes;
    if (free != nullptr) *free = all - gpu::memory().used(call.context().device);
    if (total != nullptr) *total = all;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipMallocManaged(void** pointer, std::size_t size, unsigned flags) {
  HALYARD_HIP_CALL(hipMallocManaged, gpu::kCurrent | gpu::kUnsafeInCapture) {
    HALYARD_GPU_REQUIRE(pointer != nullptr && size != 0, gpu::kInvalidValue);
    HALYARD_GPU_REQUIRE(flags == gpu::kAttachGlobal || flags == gpu::kAttachHost,
                        gpu::kInvalidValue);
    DevicePointer address = 0;
    const Result result = gpu::allocate_managed(call, &address, size, flags);
    if (result == kSuccess) *pointer = pointer_to(address);
    return result;
  };
}

#define HALYARD_HIP_HOST_ALLOC(name, parameters, flags)             \
  HALYARD_HIP_EXPORT Result name parameters {                       \
    HALYARD_HIP_CALL(name, gpu::kCurrent | gpu::kUnsafeInCapture) { \
      return allocate_pinned(call, pointer, size, flags);           \
    };                                                              \
  }
HALYARD_HIP_HOST_ALLOC(hipHostMalloc, (void** pointer, std::size_t size, unsigned flags), flags)
HALYARD_HIP_HOST_ALLOC(hipHostAlloc, (void** pointer, std::size_t size, unsigned flags), flags)
HALYARD_HIP_HOST_ALLOC(hipMallocHost, (void** pointer, std::size_t size), 0)
HALYARD_HIP_HOST_ALLOC(hipMemAllocHost, (void** pointer, std::size_t size), 0)

#define HALYARD_HIP_HOST_FREE(name)                                         \
  HALYARD_HIP_EXPORT Result name(void* pointer) {                           \
    HALYARD_HIP_CALL(name, gpu::kCurrent | gpu::kUnsafeInCapture) {         \
      return pointer != nullptr ? gpu::free_host(call, pointer) : kSuccess; \
    };                                                                      \
  }
HALYARD_HIP_HOST_FREE(hipHostFree)
HALYARD_HIP_HOST_FREE(hipFreeHost)

HALYARD_HIP_EXPORT Result hipHostRegister(void* pointer, std::size_t size, unsigned flags) {
  HALYARD_HIP_CALL(hipHostRegister, gpu::kCurrent | gpu::kUnsafeInCapture) {
    const Result result = gpu::register_host(call, pointer, size, flags & 7U);
    // Refused since June 2026 (ROCm/rocm-systems, pull request 7498).
    if (result == gpu::kHostMemoryAlreadyRegistered && !is_since(kVersion715)) {
      gpu::report_misuse("registered-twice", "host memory was registered a second time");
      return kSuccess;
    }
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipHostUnregister(void* pointer) {
  HALYARD_HIP_CALL(hipHostUnregister, gpu::kCurrent | gpu::kUnsafeInCapture) {
    HALYARD_GPU_REQUIRE(pointer != nullptr, gpu::kInvalidValue);
    return gpu::unregister_host(call, pointer);
  };
}

HALYARD_HIP_EXPORT Result hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
  HALYARD_HIP_CALL(hipHostGetDevicePointer, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(device != nullptr, gpu::kInvalidValue);
    DevicePointer address = 0;
    const Result result = gpu::host_device_pointer(&address, host, flags);
    *device = pointer_to(address);
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipHostGetFlags(unsigned* flags, void* host) {
  HALYARD_HIP_CALL(hipHostGetFlags, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(flags != nullptr && host != nullptr, gpu::kInvalidValue);
    gpu::Allocation allocation;
    const Result result = gpu::find_host(host, allocation);
    if (result == kSuccess) *flags = allocation.flags;
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipMemAdvise(const void* pointer, std::size_t size, int advice,
                                       int device) {
  HALYARD_HIP_CALL(hipMemAdvise, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(pointer != nullptr && size != 0, gpu::kInvalidValue);
    // hip_hmm.cpp: -1 is the host; other numbers are devices.
    HALYARD_GPU_REQUIRE(device == -1 || gpu::is_device(device), gpu::kInvalidDevice);
    // hipMemAdviseSetCoarseGrain 100 and UnsetCoarseGrain 101 change no result.
    if (advice == 100 || advice == 101) return kSuccess;
    return gpu::advise(address_of(pointer), size, advice, gpu::location_of(device));
  };
}

HALYARD_HIP_EXPORT Result hipMemAdvise_v2(const void* pointer, std::size_t size, int advice,
                                          Location location) {
  HALYARD_HIP_CALL(hipMemAdvise_v2, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(pointer != nullptr && size != 0, gpu::kInvalidValue);
    if (advice == 100 || advice == 101) return kSuccess;
    return gpu::advise(address_of(pointer), size, advice, location);
  };
}

HALYARD_HIP_EXPORT Result hipMemPrefetchAsync(const void* pointer, std::size_t size, int device,
                                              Stream stream) {
  HALYARD_HIP_CALL(hipMemPrefetchAsync, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(pointer != nullptr && size != 0, gpu::kInvalidValue);
    HALYARD_GPU_REQUIRE(device == -1 || gpu::is_device(device), gpu::kInvalidDevice);
    HALYARD_HIP_HANDLE(stream);
    return gpu::prefetch(address_of(pointer), size, gpu::location_of(device), stream);
  };
}

HALYARD_HIP_EXPORT Result hipMemPrefetchAsync_v2(const void* pointer, std::size_t size,
                                                 Location location, unsigned flags, Stream stream) {
  HALYARD_HIP_CALL(hipMemPrefetchAsync_v2, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(pointer != nullptr && size != 0 && flags == 0, gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(stream);
    return gpu::prefetch(address_of(pointer), size, location, stream);
  };
}

namespace {

Result range_attribute(void* data, std::size_t bytes, int which, const void* pointer,
                       std::size_t size) {
  HALYARD_GPU_REQUIRE(data != nullptr && bytes != 0 && pointer != nullptr && size != 0,
                      gpu::kInvalidValue);
  if (which != 100) return gpu::range_attribute(data, bytes, which, address_of(pointer), size);
  // hipMemRangeAttributeCoherencyMode: fine-grained
  HALYARD_GPU_REQUIRE(bytes == 4, gpu::kInvalidValue);
  const int fine_grained = 0;
  std::memcpy(data, &fine_grained, sizeof fine_grained);
  return kSuccess;
}

}  // namespace

HALYARD_HIP_EXPORT Result hipMemRangeGetAttribute(void* data, std::size_t bytes, int which,
                                                  const void* pointer, std::size_t size) {
  HALYARD_HIP_CALL(hipMemRangeGetAttribute, gpu::kCurrent) {
    return range_attribute(data, bytes, which, pointer, size);
  };
}

HALYARD_HIP_EXPORT Result hipMemRangeGetAttributes(void** data, std::size_t* bytes, int* which,
                                                   std::size_t count, const void* pointer,
                                                   std::size_t size) {
  HALYARD_HIP_CALL(hipMemRangeGetAttributes, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(data != nullptr && bytes != nullptr && which != nullptr && count != 0 &&
                            pointer != nullptr && size != 0,
                        gpu::kInvalidValue);
    for (std::size_t i = 0; i < count; ++i) {
      const Result result = range_attribute(data[i], bytes[i], which[i], pointer, size);
      if (result != kSuccess) return result;
    }
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipPointerGetAttributes(PointerAttributes* attributes,
                                                  const void* pointer) {
  HALYARD_HIP_CALL(hipPointerGetAttributes, gpu::kInitialized) {
    return attributes_of(attributes, pointer);
  };
}

HALYARD_HIP_EXPORT Result hipPointerGetAttribute(void* data, int which, void* pointer) {
  HALYARD_HIP_CALL(hipPointerGetAttribute, gpu::kInitialized) {
    return attribute(data, which, pointer);
  };
}

HALYARD_HIP_EXPORT Result hipDrvPointerGetAttributes(unsigned count, const int* which, void** data,
                                                     void* pointer) {
  HALYARD_HIP_CALL(hipDrvPointerGetAttributes, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(count != 0 && which != nullptr && data != nullptr, gpu::kInvalidValue);
    const Result result = gpu::pointer_attributes(count, which, data, address_of(pointer));
    if (result != kSuccess) return result;
    for (unsigned i = 0; i < count; ++i) {
      if (which[i] == gpu::kMemoryTypeOf) (void)attribute(data[i], which[i], pointer);
    }
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipPointerSetAttribute(const void* value, int which, void* pointer) {
  HALYARD_HIP_CALL(hipPointerSetAttribute, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(value != nullptr && which == gpu::kSyncMemops, gpu::kInvalidValue);
    return gpu::memory().find(address_of(pointer)) ? kSuccess : kInvalidDevicePointer;
  };
}

HALYARD_HIP_EXPORT Result hipMemGetAddressRange(void** base, std::size_t* size, void* pointer) {
  HALYARD_HIP_CALL(hipMemGetAddressRange, gpu::kInitialized) {
    const std::optional<gpu::Allocation> found = gpu::memory().find(address_of(pointer));
    HALYARD_GPU_REQUIRE(found, gpu::kNotFound);
    if (base != nullptr) *base = pointer_to(found->begin);
    if (size != nullptr) *size = found->size;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipMemPtrGetInfo(void* pointer, std::size_t* size) {
  HALYARD_HIP_CALL(hipMemPtrGetInfo, gpu::kInitialized) {
    const std::optional<gpu::Allocation> found = gpu::memory().find(address_of(pointer));
    HALYARD_GPU_REQUIRE(found && size != nullptr, gpu::kInvalidValue);
    *size = found->size;
    return kSuccess;
  };
}

}  // namespace halyard::inline v0::sim::hip
