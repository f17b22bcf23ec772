// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Advice is stored and returned, and has no other effect here.
#include "simulation/gpu/advice.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "simulation/gpu/memory.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::gpu {
namespace {

constexpr DeviceId kCpu = -1, kNotADevice = -2;  // CU_DEVICE_CPU, CU_DEVICE_INVALID

constexpr int kNoLocation = 0, kLocationHost = 2, kLocationHostNuma = 3;

struct Advice {
  bool is_read_mostly = false;
  std::uint64_t accessed_by = 0;  // bit d: by device d; the last bit: by the CPU
  Location preferred{kNoLocation, kNotADevice}, prefetched{kNoLocation, kNotADevice};
};

constexpr std::uint64_t kCpuBit = std::uint64_t{1} << 63;

struct AdvisedRange {
  DevicePointer end = 0;
  std::uint64_t allocation = 0;  // its id, so that advice ends with the allocation
  Advice advice;
};

// Ranges that do not overlap, by their begin. Guarded by the State's lock.
std::map<DevicePointer, AdvisedRange>& ranges() {
  static std::map<DevicePointer, AdvisedRange>* all = nullptr;
  if (all == nullptr) {
    all = new std::map<DevicePointer, AdvisedRange>;
    at_end_of_process([] { delete std::exchange(all, nullptr); });
  }
  return *all;
}

void split(DevicePointer at) {
  const auto after = ranges().upper_bound(at);
  if (after == ranges().begin()) return;
  const auto before = std::prev(after);
  if (before->first == at || before->second.end <= at) return;
  ranges().emplace(at, before->second);
  before->second.end = at;
}

// Calls `visit` with the advice of each part of [begin, end), and creates missing parts.
template <class Visit>
void for_each_part(DevicePointer begin, DevicePointer end, std::uint64_t allocation, Visit visit) {
  split(begin);
  split(end);
  for (DevicePointer at = begin; at < end;) {
    const auto next = ranges().lower_bound(at);
    if (next == ranges().end() || next->first > at) {
      const DevicePointer until = next == ranges().end() ? end : std::min(end, next->first);
      ranges()[at] = {until, allocation, {}};
      continue;
    }
    if (next->second.allocation != allocation) next->second = {next->second.end, allocation, {}};
    visit(next->second.advice);
    at = next->second.end;
  }
}

std::optional<Allocation> find_managed(DevicePointer address, std::size_t size) {
  const std::optional<Allocation> found = memory().find(address);
  if (!found || found->kind != MemoryKind::kManaged || size == 0 || size > found->end() - address) {
    return {};
  }
  return found;
}

}  // namespace

Location location_of(DeviceId device) {
  return device == kCpu ? Location{kLocationHost, 0} : Location{kLocationDevice, device};
}

namespace {

bool is_location(Location location) {
  return location.type == kLocationDevice
             ? is_device(location.id)
             : location.type == kLocationHost || location.type == kLocationHostNuma;
}

}  // namespace

Result advise(DevicePointer address, std::size_t size, int advice, Location location) {
  HALYARD_GPU_REQUIRE(advice >= 1 && advice <= 6, kInvalidValue);
  const std::optional<Allocation> found = find_managed(address, size);
  HALYARD_GPU_REQUIRE(found, kInvalidValue);
  HALYARD_GPU_REQUIRE((advice != 3 && advice < 5) || is_location(location), kInvalidDevice);
  const std::uint64_t bit =
      location.type == kLocationDevice ? std::uint64_t{1} << (location.id & 63) : kCpuBit;
  for_each_part(address, address + size, found->id, [&](Advice& of) {
    switch (advice) {
      case 1:
      case 2:
        of.is_read_mostly = advice == 1;
        break;
      case 3:
        of.preferred = location;
        break;
      case 4:
        of.preferred = {kNoLocation, kNotADevice};
        break;
      case 5:
        of.accessed_by |= bit;
        break;
      default:
        of.accessed_by &= ~bit;
        break;
    }
  });
  return kSuccess;
}

Result prefetch(DevicePointer address, std::size_t size, Location location, Stream handle) {
  const std::optional<Allocation> found = find_managed(address, size);
  HALYARD_GPU_REQUIRE(found, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_location(location), kInvalidDevice);
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  for_each_part(address, address + size, found->id, [&](Advice& of) { of.prefetched = location; });
  return submit(*stream, EmptyWork{});
}

namespace {

// The location that all parts share, or none.
struct Shared {
  Location location{kNoLocation, kNotADevice};
  bool is_first = true;
  void add(Location other) {
    if (is_first) {
      location = other;
    } else if (location.type != other.type || location.id != other.id) {
      location = {kNoLocation, kNotADevice};
    }
    is_first = false;
  }
  DeviceId device() const {
    return location.type == kLocationDevice ? location.id
           : location.type == kNoLocation   ? kNotADevice
                                            : kCpu;
  }
};

}  // namespace

Result range_attribute(void* data, std::size_t bytes, int which, DevicePointer address,
                       std::size_t size) {
  constexpr int kAccessedBy = 3;
  HALYARD_GPU_REQUIRE(data != nullptr && which >= 1 && which <= 8, kInvalidValue);
  HALYARD_GPU_REQUIRE(which == kAccessedBy ? bytes != 0 && bytes % 4 == 0 : bytes == 4,
                      kInvalidValue);
  const std::optional<Allocation> found = find_managed(address, size);
  HALYARD_GPU_REQUIRE(found, kInvalidValue);
  bool is_read_mostly = true;
  std::uint64_t accessed_by = ~std::uint64_t{0};
  Shared preferred, prefetched;
  for_each_part(address, address + size, found->id, [&](const Advice& of) {
    is_read_mostly &= of.is_read_mostly;
    accessed_by &= of.accessed_by;
    preferred.add(of.preferred);
    prefetched.add(of.prefetched);
  });
  if (which == kAccessedBy) {
    DeviceId* to = static_cast<DeviceId*>(data);
    DeviceId* const end = to + bytes / 4;
    for (int device = 0; device < 63 && to != end; ++device) {
      if ((accessed_by >> device & 1) != 0) *to++ = device;
    }
    if ((accessed_by & kCpuBit) != 0 && to != end) *to++ = kCpu;
    std::fill(to, end, kNotADevice);
    return kSuccess;
  }
  const int answers[] = {is_read_mostly ? 1 : 0,   preferred.device(),      0,
                         prefetched.device(),      preferred.location.type, preferred.location.id,
                         prefetched.location.type, prefetched.location.id};
  std::memcpy(data, &answers[which - 1], sizeof(int));
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::gpu
