// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/virtual_memory.h"

#include <map>
#include <utility>

#include "simulation/gpu/options.h"

namespace halyard::inline v0::sim::gpu {
namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

// Storage that cuMemCreate created. Freed once it is released and not mapped.
struct Physical {
  AllocationProperties properties{};
  std::byte* bytes = nullptr;
  std::size_t size = 0;
  unsigned references = 1;  // handles that were not released
  unsigned mappings = 0;
};

// Guarded by the lock of the State.
struct Tables {
  std::map<std::uint64_t, Physical> physical;  // by handle
  std::map<DevicePointer, std::size_t> reserved;
  std::map<DevicePointer, std::uint64_t> mapped;  // start of a mapping: handle
};

Tables& tables() {
  static Tables* one = nullptr;
  if (one == nullptr) {
    one = new Tables;
    at_end_of_process([] {
      for (const auto& [handle, physical] : one->physical) {
        memory().free_bytes(physical.bytes, physical.size);
      }
      delete std::exchange(one, nullptr);
    });
  }
  return *one;
}

void free_if_unused(std::uint64_t handle) {
  const auto at = tables().physical.find(handle);
  if (at->second.references != 0 || at->second.mappings != 0) return;
  memory().free_bytes(at->second.bytes, at->second.size);
  tables().physical.erase(at);
}

bool is_reserved(DevicePointer address, std::size_t size) {
  const auto& reserved = tables().reserved;
  auto at = reserved.upper_bound(address);
  if (at == reserved.begin()) return false;
  --at;
  return address - at->first <= at->second && size <= at->second - (address - at->first);
}

// Calls `visit` with each mapping in the range. kInvalidValue unless mappings fill it exactly.
template <class Visit>
Result for_each_mapping(DevicePointer address, std::size_t size, Visit visit) {
  const auto& mapped = tables().mapped;
  std::vector<DevicePointer> found;
  for (DevicePointer at = address; at < address + size;) {
    HALYARD_GPU_REQUIRE(mapped.contains(at), kInvalidValue);
    found.push_back(at);
    at += memory().find(at)->size;
    HALYARD_GPU_REQUIRE(at <= address + size, kInvalidValue);
  }
  for (const DevicePointer at : found) visit(at);
  return kSuccess;
}

Result check(const AllocationProperties* properties) {
  HALYARD_GPU_REQUIRE(properties != nullptr && properties->type == kPinned, kInvalidValue);
  HALYARD_GPU_REQUIRE(properties->handle_types == 0, kNotSupported);
  HALYARD_GPU_REQUIRE(properties->location.type == kLocationDevice, kNotSupported);
  HALYARD_GPU_REQUIRE(is_device(properties->location.id), kInvalidDevice);
  return kSuccess;
}

}  // namespace

Result allocation_granularity(std::size_t* granularity, const AllocationProperties* properties,
                              int option) {
  HALYARD_GPU_REQUIRE(granularity != nullptr && (option == 0 || option == 1), kInvalidValue);
  if (const Result result = check(properties); result != kSuccess) return result;
  *granularity = kGranularity;
  return kSuccess;
}

Result reserve_addresses(DevicePointer* address, std::size_t size, std::size_t alignment,
                         unsigned long long flags) {
  HALYARD_GPU_REQUIRE(address != nullptr && size != 0 && flags == 0, kInvalidValue);
  HALYARD_GPU_REQUIRE(size % kGranularity == 0 && (alignment & (alignment - 1)) == 0,
                      kInvalidValue);
  *address = memory().reserve(size, alignment > kGranularity ? alignment : kGranularity);
  HALYARD_GPU_REQUIRE(*address != 0, kOutOfMemory);
  tables().reserved[*address] = size;
  return kSuccess;
}

Result free_addresses(DevicePointer address, std::size_t size) {
  const auto at = tables().reserved.find(address);
  HALYARD_GPU_REQUIRE(at != tables().reserved.end() && at->second == size, kInvalidValue);
  HALYARD_GPU_REQUIRE(!memory().overlapping(address, address + size), kInvalidValue);
  tables().reserved.erase(at);
  return kSuccess;
}

Result create_physical(std::uint64_t* handle, std::size_t size,
                       const AllocationProperties* properties, unsigned long long flags) {
  HALYARD_GPU_REQUIRE(handle != nullptr && size != 0 && flags == 0, kInvalidValue);
  HALYARD_GPU_REQUIRE(size % kGranularity == 0, kInvalidValue);
  if (const Result result = check(properties); result != kSuccess) return result;
  HALYARD_GPU_REQUIRE(size <= options().memory_bytes - memory().used(properties->location.id),
                      kOutOfMemory);
  Physical made;
  made.properties = *properties;
  made.size = size;
  made.bytes = memory().make_bytes(size);
  HALYARD_GPU_REQUIRE(made.bytes != nullptr, kOutOfMemory);
  *handle = state().next_id++;
  tables().physical[*handle] = made;
  return kSuccess;
}

Result release_physical(std::uint64_t handle) {
  const auto at = tables().physical.find(handle);
  HALYARD_GPU_REQUIRE(at != tables().physical.end() && at->second.references != 0, kInvalidValue);
  --at->second.references;
  free_if_unused(handle);
  return kSuccess;
}

Result map_memory(DevicePointer address, std::size_t size, std::size_t offset, std::uint64_t handle,
                  unsigned long long flags) {
  const auto at = tables().physical.find(handle);
  HALYARD_GPU_REQUIRE(at != tables().physical.end() && flags == 0 && offset == 0, kInvalidValue);
  HALYARD_GPU_REQUIRE(address % kGranularity == 0 && size == at->second.size, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_reserved(address, size), kInvalidValue);
  HALYARD_GPU_REQUIRE(!memory().overlapping(address, address + size), kInvalidValue);
  Allocation allocation;
  allocation.begin = address;
  allocation.size = size;
  allocation.host = at->second.bytes;
  allocation.kind = MemoryKind::kMapped;  // cuda.h: not accessible before cuMemSetAccess
  allocation.device = at->second.properties.location.id;
  allocation.id = handle;
  memory().add(allocation);
  tables().mapped[address] = handle;
  ++at->second.mappings;
  return kSuccess;
}

Result unmap_memory(DevicePointer address, std::size_t size) {
  return for_each_mapping(address, size, [](DevicePointer at) {
    const std::uint64_t handle = tables().mapped[at];
    memory().remove(at);
    tables().mapped.erase(at);
    --tables().physical[handle].mappings;
    free_if_unused(handle);
  });
}

Result set_memory_access(DevicePointer address, std::size_t size, const AccessDescription* list,
                         std::size_t count) {
  HALYARD_GPU_REQUIRE(list != nullptr && count != 0, kInvalidValue);
  std::uint64_t set = 0, cleared = 0;
  for (std::size_t i = 0; i < count; ++i) {
    HALYARD_GPU_REQUIRE(list[i].location.type == kLocationDevice, kNotSupported);
    HALYARD_GPU_REQUIRE(is_device(list[i].location.id), kInvalidDevice);
    (list[i].flags != 0 ? set : cleared) |= std::uint64_t{1} << list[i].location.id;
  }
  return for_each_mapping(address, size, [&](DevicePointer at) {
    memory().set_access(at, (memory().find(at)->access & ~cleared) | set);
  });
}

Result memory_access(unsigned long long* flags, const Location* location, DevicePointer address) {
  HALYARD_GPU_REQUIRE(flags != nullptr && location != nullptr, kInvalidValue);
  const std::optional<Allocation> found = memory().find(address);
  HALYARD_GPU_REQUIRE(found && found->kind == MemoryKind::kMapped, kInvalidValue);
  *flags = (found->access >> location->id & 1) != 0 ? 3 : 0;
  return kSuccess;
}

Result physical_properties(AllocationProperties* properties, std::uint64_t handle) {
  const auto at = tables().physical.find(handle);
  HALYARD_GPU_REQUIRE(properties != nullptr && at != tables().physical.end(), kInvalidValue);
  *properties = at->second.properties;
  return kSuccess;
}

Result retain_physical(std::uint64_t* handle, void* address) {
  const std::optional<Allocation> found = memory().find(reinterpret_cast<DevicePointer>(address));
  HALYARD_GPU_REQUIRE(handle != nullptr && found && found->kind == MemoryKind::kMapped,
                      kInvalidValue);
  *handle = found->id;
  ++tables().physical[*handle].references;
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::gpu
