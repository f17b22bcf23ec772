// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Initialization, the current device, limits, peers, and the contexts that HIP offers to CUDA
// programs.
#include "simulation/hip/device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string_view>

#include "simulation/gpu/options.h"
#include "simulation/gpu/stream.h"
#include "simulation/hip/bugs.h"

namespace halyard::inline v0::sim::hip {
namespace {

// ROCr and ROCclr: a comma-separated list of ordinals and of "GPU-" with a unique id. An invalid
// item ends the list. The ordinals are positions in `among`.
std::vector<int> filter(const std::vector<int>& among, const char* text) {
  std::vector<int> visible;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    int found = -1;
    if (name.starts_with("GPU-")) {
      for (const int index : among) {
        if (unique_id(index) == name.substr(4)) found = index;
      }
    } else {
      char* end = nullptr;
      const std::string digits(name);
      const long ordinal = std::strtol(digits.c_str(), &end, 10);
      if (end != digits.c_str() && ordinal >= 0 && ordinal < static_cast<long>(among.size())) {
        found = among[static_cast<std::size_t>(ordinal)];
      }
    }
    if (found < 0) break;
    if (std::ranges::find(visible, found) == visible.end()) visible.push_back(found);
  }
  return visible;
}

}  // namespace

std::vector<int> visible_devices(int count) {
  std::vector<int> visible(static_cast<std::size_t>(count));
  std::iota(visible.begin(), visible.end(), 0);
  if (const char* const text = std::getenv("ROCR_VISIBLE_DEVICES")) visible = filter(visible, text);
  const char* text = std::getenv("HIP_VISIBLE_DEVICES");
  if (text == nullptr) text = std::getenv("CUDA_VISIBLE_DEVICES");
  return text != nullptr ? filter(visible, text) : visible;
}

std::string unique_id(int index) {
  char text[17];
  std::snprintf(text, sizeof text, "68616c7961%06x", static_cast<unsigned>(index) & 0xffffffU);
  return text;
}

bool has_bug(Bug bug) {
  return settings().has(bug) ||
         (gpu::options().adversarial && gpu::choose(static_cast<unsigned>(bug), 77, 2) == 0);
}

namespace {

constexpr unsigned kScheduleMask = 7, kMapHost = 8, kResizeToMax = 16;
// hipLimit_t
constexpr int kLimitStack = 0, kLimitHeap = 2, kLimitRange = 4099;

Result limit_of(ContextState& context, int limit, std::size_t*& value) {
  HALYARD_GPU_REQUIRE(limit >= 0 && limit < kLimitRange, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(limit == kLimitStack || limit == kLimitHeap, kUnsupportedLimit);
  value = &context.limits[limit];
  return kSuccess;
}

bool is_cache_config(int config) { return config >= 0 && config <= 3; }

Result can_access_peer(int* can, int device, int peer) {
  HALYARD_GPU_REQUIRE(can != nullptr, gpu::kInvalidValue);
  // hip_peer.cpp: before the devices are checked
  if (device == peer) {
    *can = 0;
    return kSuccess;
  }
  HALYARD_GPU_REQUIRE(gpu::is_device(device) && gpu::is_device(peer), gpu::kInvalidDevice);
  *can = 1;
  return kSuccess;
}

}  // namespace

HALYARD_HIP_EXPORT Result hipInit(unsigned flags) {
  HALYARD_HIP_CALL(hipInit, gpu::kInitialized) {
    return flags == 0 ? kSuccess : gpu::kInvalidValue;
  };
}

HALYARD_HIP_EXPORT Result hipDriverGetVersion(int* version) {
  HALYARD_HIP_CALL(hipDriverGetVersion, gpu::kAnytime) {
    HALYARD_GPU_REQUIRE(version != nullptr, gpu::kInvalidValue);
    *version = hip_version();
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipRuntimeGetVersion(int* version) {
  HALYARD_HIP_CALL(hipRuntimeGetVersion, gpu::kAnytime) {
    HALYARD_GPU_REQUIRE(version != nullptr, gpu::kInvalidValue);
    *version = hip_version();
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipGetDeviceCount(int* count) {
  HALYARD_HIP_CALL(hipGetDeviceCount, gpu::kAnytime) {
    HALYARD_GPU_REQUIRE(count != nullptr, gpu::kInvalidValue);
    *count = static_cast<int>(state().devices.size());
    return *count != 0 ? kSuccess : gpu::kNoDevice;
  };
}

HALYARD_HIP_EXPORT Result hipGetDevice(int* device) {
  HALYARD_HIP_CALL(hipGetDevice, gpu::kInitialized | gpu::kUnlocked) {
    HALYARD_GPU_REQUIRE(device != nullptr, gpu::kInvalidValue);
    *device = current_device();
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipSetDevice(int device) {
  HALYARD_HIP_CALL(hipSetDevice, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(gpu::is_device(device), gpu::kInvalidDevice);
    set_device(device);
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceGet(DeviceId* device, int ordinal) {
  HALYARD_HIP_CALL(hipDeviceGet, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(device != nullptr, gpu::kInvalidValue);
    HALYARD_GPU_REQUIRE(gpu::is_device(ordinal), gpu::kInvalidDevice);
    *device = ordinal;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceGetName(char* name, int size, DeviceId device) {
  HALYARD_HIP_CALL(hipDeviceGetName, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(gpu::is_device(device), gpu::kInvalidDevice);
    HALYARD_GPU_REQUIRE(name != nullptr && size > 0, gpu::kInvalidValue);
    std::snprintf(name, static_cast<std::size_t>(size), "%s", properties_of(device).name);
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceGetUuid(Uuid* uuid, DeviceId device) {
  HALYARD_HIP_CALL(hipDeviceGetUuid, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(gpu::is_device(device), gpu::kInvalidDevice);
    HALYARD_GPU_REQUIRE(uuid != nullptr, gpu::kInvalidValue);
    *uuid = properties_of(device).uuid;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceTotalMem(std::size_t* bytes, DeviceId device) {
  HALYARD_HIP_CALL(hipDeviceTotalMem, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(gpu::is_device(device), gpu::kInvalidDevice);
    HALYARD_GPU_REQUIRE(bytes != nullptr, gpu::kInvalidValue);
    *bytes = gpu::options().memory_bytes;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceComputeCapability(int* major, int* minor, DeviceId device) {
  HALYARD_HIP_CALL(hipDeviceComputeCapability, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(gpu::is_device(device), gpu::kInvalidDevice);
    HALYARD_GPU_REQUIRE(major != nullptr && minor != nullptr, gpu::kInvalidValue);
    const Properties of = properties_of(device);
    *major = of.major;
    *minor = of.minor;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceGetPCIBusId(char* id, int size, int device) {
  HALYARD_HIP_CALL(hipDeviceGetPCIBusId, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(gpu::is_device(device), gpu::kInvalidDevice);
    HALYARD_GPU_REQUIRE(id != nullptr && size > 0, gpu::kInvalidValue);
    const Properties of = properties_of(device);
    std::snprintf(id, static_cast<std::size_t>(size), "%04x:%02x:%02x.0",
                  static_cast<unsigned>(of.pci_domain), static_cast<unsigned>(of.pci_bus),
                  static_cast<unsigned>(of.pci_device));
    return size > 12 ? kSuccess : gpu::kInvalidValue;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceGetByPCIBusId(int* device, const char* id) {
  HALYARD_HIP_CALL(hipDeviceGetByPCIBusId, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(device != nullptr && id != nullptr, gpu::kInvalidValue);
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    // hip_device_runtime.cpp: all four parts
    HALYARD_GPU_REQUIRE(
        std::sscanf(id, "%04x:%02x:%02x.%01x", &domain, &bus, &slot, &function) == 4,
        gpu::kInvalidValue);
    for (int i = 0; gpu::is_device(i); ++i) {
      const Properties of = properties_of(i);
      if (static_cast<unsigned>(of.pci_bus) == bus && slot == 0 && domain == 0 && function == 0) {
        *device = i;
        return kSuccess;
      }
    }
    return gpu::kInvalidValue;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceSynchronize() {
  HALYARD_HIP_CALL(hipDeviceSynchronize, gpu::kCurrent) {
    const Result refusal = refuse_in_any_capture(gpu::kCaptureUnsupported);
    if (refusal != kSuccess) return refusal;
    const WaitScope scope(call.context().device);
    const Result result = gpu::drain(call.lock(), call.context());
    clear_pools(call.context());
    return result;
  };
}

// hip_device.cpp, Device::Reset: destroys the streams, the pools and the memory of the device.
HALYARD_HIP_EXPORT Result hipDeviceReset() {
  HALYARD_HIP_CALL(hipDeviceReset, gpu::kCurrent) {
    const DeviceId device = current_device();
    gpu::DeviceState& of = state().devices[static_cast<std::size_t>(device)];
    const std::string where = "hipDeviceReset of device " + std::to_string(device);
    gpu::end_context(call.lock(), call.context(), where.c_str());
    of.primary = gpu::make_context(device, 0, true)->handle;
    set_device(device);
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipSetDeviceFlags(unsigned flags) {
  HALYARD_HIP_CALL(hipSetDeviceFlags, gpu::kCurrent) {
    const unsigned schedule = flags & kScheduleMask;
    HALYARD_GPU_REQUIRE((schedule & (schedule - 1)) == 0, gpu::kInvalidValue);
    HALYARD_GPU_REQUIRE((flags & ~(kScheduleMask | kMapHost | kResizeToMax)) == 0,
                        gpu::kInvalidValue);
    call.context().flags = schedule;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipGetDeviceFlags(unsigned* flags) {
  HALYARD_HIP_CALL(hipGetDeviceFlags, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(flags != nullptr, gpu::kInvalidValue);
    *flags = call.context().flags;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceGetLimit(std::size_t* value, int limit) {
  HALYARD_HIP_CALL(hipDeviceGetLimit, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(value != nullptr, gpu::kInvalidValue);
    std::size_t* at = nullptr;
    const Result result = limit_of(call.context(), limit, at);
    if (result == kSuccess) *value = *at;
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceSetLimit(int limit, std::size_t value) {
  HALYARD_HIP_CALL(hipDeviceSetLimit, gpu::kCurrent) {
    std::size_t* at = nullptr;
    const Result result = limit_of(call.context(), limit, at);
    if (result == kSuccess) *at = value;
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceGetCacheConfig(int* config) {
  HALYARD_HIP_CALL(hipDeviceGetCacheConfig, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(config != nullptr, gpu::kInvalidValue);
    *config = 0;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceSetCacheConfig(int config) {
  HALYARD_HIP_CALL(hipDeviceSetCacheConfig, gpu::kCurrent) {
    return is_cache_config(config) ? kSuccess : gpu::kInvalidValue;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceGetSharedMemConfig(int* config) {
  HALYARD_HIP_CALL(hipDeviceGetSharedMemConfig, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(config != nullptr, gpu::kInvalidValue);
    *config = 1;  // hipSharedMemBankSizeFourByte
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceSetSharedMemConfig(int config) {
  HALYARD_HIP_CALL(hipDeviceSetSharedMemConfig, gpu::kCurrent) {
    return config >= 0 && config <= 2 ? kSuccess : gpu::kInvalidValue;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  HALYARD_HIP_CALL(hipDeviceGetStreamPriorityRange, gpu::kInitialized) {
    if (least != nullptr) *least = 1;
    if (greatest != nullptr) *greatest = -1;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceCanAccessPeer(int* can, int device, int peer) {
  HALYARD_HIP_CALL(hipDeviceCanAccessPeer, gpu::kInitialized) {
    return can_access_peer(can, device, peer);
  };
}

// Applies to the current device. An impossible access is an invalid device; CUDA has a separate
// error for it.
HALYARD_HIP_EXPORT Result hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  HALYARD_HIP_CALL(hipDeviceEnablePeerAccess, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(flags == 0, gpu::kInvalidValue);
    HALYARD_GPU_REQUIRE(gpu::is_device(peer) && peer != current_device(), gpu::kInvalidDevice);
    HALYARD_GPU_REQUIRE(call.context().peers.insert(&context_of(peer)).second,
                        gpu::kPeerAccessAlreadyEnabled);
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceDisablePeerAccess(int peer) {
  HALYARD_HIP_CALL(hipDeviceDisablePeerAccess, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(gpu::is_device(peer) && peer != current_device(), gpu::kInvalidDevice);
    HALYARD_GPU_REQUIRE(call.context().peers.erase(&context_of(peer)) != 0,
                        gpu::kPeerAccessNotEnabled);
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceGetP2PAttribute(int* value, int which, int source, int target) {
  HALYARD_HIP_CALL(hipDeviceGetP2PAttribute, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(value != nullptr, gpu::kInvalidValue);
    HALYARD_GPU_REQUIRE(source != target && gpu::is_device(source) && gpu::is_device(target),
                        gpu::kInvalidDevice);
    HALYARD_GPU_REQUIRE(which >= 0 && which <= 3, gpu::kInvalidValue);
    // Performance rank: the type of the link, 2 is PCIe. No native atomics.
    constexpr int kValues[] = {2, 1, 0, 1};
    *value = kValues[which];
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipExtGetLinkTypeAndHopCount(int first, int second, std::uint32_t* type,
                                                       std::uint32_t* hops) {
  HALYARD_HIP_CALL(hipExtGetLinkTypeAndHopCount, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(
        type != nullptr && hops != nullptr && first != second && first >= 0 && second >= 0,
        gpu::kInvalidValue);
    HALYARD_GPU_REQUIRE(gpu::is_device(first) && gpu::is_device(second), gpu::kInvalidDevice);
    *type = 2;  // HSA_AMD_LINK_INFO_TYPE_PCIE
    *hops = 1;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipProfilerStart() {
  HALYARD_HIP_CALL(hipProfilerStart, gpu::kAnytime) {
    return gpu::kNotSupported;  // as in hip_profile.cpp
  };
}

HALYARD_HIP_EXPORT Result hipProfilerStop() {
  HALYARD_HIP_CALL(hipProfilerStop, gpu::kAnytime) { return gpu::kNotSupported; };
}

}  // namespace halyard::inline v0::sim::hip
