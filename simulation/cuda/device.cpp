// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Initialisation, and the properties of devices. The figures are those of a small fictitious GPU of
// the compute capability.
#include "simulation/cuda/device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "simulation/cuda/abi.h"
#include "simulation/gpu/call.h"
#include "simulation/gpu/options.h"

namespace halyard::inline v0::sim::cuda {
namespace {

bool is_discrete_feature_newer(int major) { return options().capability_major >= major; }

// CU_DEVICE_ATTRIBUTE_*: value of each that is not 0.
const std::map<int, int>& attributes() {
  static const auto* const table = new std::map<int, int>{
      {1, 1024},         // MAX_THREADS_PER_BLOCK
      {2, 1024},         // MAX_BLOCK_DIM_X
      {3, 1024},         // MAX_BLOCK_DIM_Y
      {4, 64},           // MAX_BLOCK_DIM_Z
      {5, 2147483647},   // MAX_GRID_DIM_X
      {6, 65535},        // MAX_GRID_DIM_Y
      {7, 65535},        // MAX_GRID_DIM_Z
      {8, 49152},        // MAX_SHARED_MEMORY_PER_BLOCK
      {9, 65536},        // TOTAL_CONSTANT_MEMORY
      {10, 32},          // WARP_SIZE
      {11, 2147483647},  // MAX_PITCH
      {12, 65536},       // MAX_REGISTERS_PER_BLOCK
      {13, 1410000},     // CLOCK_RATE, kHz
      {14, 512},         // TEXTURE_ALIGNMENT
      {15, 1},           // GPU_OVERLAP
      {16, 8},           // MULTIPROCESSOR_COUNT
      {19, 1},           // CAN_MAP_HOST_MEMORY
      {30, 512},         // SURFACE_ALIGNMENT
      {31, 1},           // CONCURRENT_KERNELS
      {36, 1215000},     // MEMORY_CLOCK_RATE, kHz
      {37, 5120},        // GLOBAL_MEMORY_BUS_WIDTH
      {38, 41943040},    // L2_CACHE_SIZE
      {39, 2048},        // MAX_THREADS_PER_MULTIPROCESSOR
      {40, 3},           // ASYNC_ENGINE_COUNT
      {41, 1},           // UNIFIED_ADDRESSING
      {51, 32},          // TEXTURE_PITCH_ALIGNMENT
      {78, 1},           // STREAM_PRIORITIES_SUPPORTED
      {79, 1},           // GLOBAL_L1_CACHE_SUPPORTED
      {80, 1},           // LOCAL_L1_CACHE_SUPPORTED
      {81, 167936},      // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
      {82, 65536},       // MAX_REGISTERS_PER_MULTIPROCESSOR
      {83, 1},           // MANAGED_MEMORY
      {87, 2},           // SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO
      {89, 1},           // CONCURRENT_MANAGED_ACCESS; 0 in adversarial mode
      {90, 1},           // COMPUTE_PREEMPTION_SUPPORTED
      {92, 1},           // CAN_USE_STREAM_MEM_OPS
      {93, 1},           // CAN_USE_64_BIT_STREAM_MEM_OPS of version 1
      {94, 1},           // CAN_USE_STREAM_WAIT_VALUE_NOR of version 1
      {95, 1},           // COOPERATIVE_LAUNCH
      {97, 101376},      // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
      {99, 1},           // HOST_REGISTER_SUPPORTED
      {102, 1},          // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
      {106, 32},         // MAX_BLOCKS_PER_MULTIPROCESSOR
      {111, 1024},       // RESERVED_SHARED_MEMORY_PER_BLOCK
      {115, 1},          // MEMORY_POOLS_SUPPORTED
      {122, 1},          // CAN_USE_64_BIT_STREAM_MEM_OPS
      {123, 1},          // CAN_USE_STREAM_WAIT_VALUE_NOR
      {126, 1},          // MEM_SYNC_DOMAIN_COUNT
      {134, -1},         // HOST_NUMA_ID
  };
  return *table;
}
constexpr int kLastAttribute = 147;

Result attribute(int* value, int which, DeviceId device) {
  HALYARD_GPU_REQUIRE(value != nullptr && which > 0 && which <= kLastAttribute, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  switch (which) {
    case 33:  // PCI_BUS_ID
      *value = device + 1;
      return kSuccess;
    case 75:
      *value = options().capability_major;
      return kSuccess;
    case 76:
      *value = options().capability_minor;
      return kSuccess;
    case 89:
    case 91:  // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
      *value = options().adversarial ? 0 : 1;
      return kSuccess;
    case 126:
      *value = is_discrete_feature_newer(9) ? 4 : 1;
      return kSuccess;
    default: {
      const auto at = attributes().find(which);
      *value = at != attributes().end() ? at->second : 0;
      return kSuccess;
    }
  }
}

int index_of(DeviceId device) { return state().devices[static_cast<std::size_t>(device)].index; }

void write_uuid(int index, Uuid& id) {
  std::memcpy(id.bytes, "halyard-sim-cuda", 16);
  id.bytes[15] = static_cast<std::uint8_t>(index);
}

Result uuid(Uuid* id, DeviceId device) {
  HALYARD_GPU_REQUIRE(id != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  write_uuid(index_of(device), *id);
  return kSuccess;
}

}  // namespace

std::string uuid_text(int device) {
  Uuid id{};
  write_uuid(device, id);
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof id.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(
                                                      static_cast<std::uint8_t>(id.bytes[i])));
    text += digits;
  }
  return text;
}

HALYARD_GPU_EXPORT Result cuInit(unsigned flags) {
  HALYARD_GPU_CALL(cuInit, kAnytime);
  HALYARD_GPU_REQUIRE(flags == 0, kInvalidValue);
  return initialize();
}

HALYARD_GPU_EXPORT Result cuDriverGetVersion(int* version) {
  HALYARD_GPU_CALL(cuDriverGetVersion, kAnytime);
  HALYARD_GPU_REQUIRE(version != nullptr, kInvalidValue);
  *version = options().driver_version;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuDeviceGetCount(int* count) {
  HALYARD_GPU_CALL(cuDeviceGetCount, kInitialized);
  HALYARD_GPU_REQUIRE(count != nullptr, kInvalidValue);
  *count = static_cast<int>(state().devices.size());
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuDeviceGet(DeviceId* device, int ordinal) {
  HALYARD_GPU_CALL(cuDeviceGet, kInitialized);
  HALYARD_GPU_REQUIRE(device != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(ordinal), kInvalidDevice);
  *device = ordinal;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuDeviceGetName(char* name, int size, DeviceId device) {
  HALYARD_GPU_CALL(cuDeviceGetName, kInitialized);
  HALYARD_GPU_REQUIRE(name != nullptr && size > 0, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  std::snprintf(name, static_cast<std::size_t>(size), "Halyard simulated GPU %d", index_of(device));
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuDeviceGetUuid(Uuid* id, DeviceId device) {
  HALYARD_GPU_CALL(cuDeviceGetUuid, kInitialized);
  return uuid(id, device);
}

HALYARD_GPU_EXPORT Result cuDeviceGetUuid_v2(Uuid* id, DeviceId device) {
  HALYARD_GPU_CALL(cuDeviceGetUuid_v2, kInitialized);
  return uuid(id, device);
}

HALYARD_GPU_EXPORT Result cuDeviceTotalMem_v2(std::size_t* bytes, DeviceId device) {
  HALYARD_GPU_CALL(cuDeviceTotalMem_v2, kInitialized);
  HALYARD_GPU_REQUIRE(bytes != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  *bytes = options().memory_bytes;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuDeviceGetAttribute(int* value, int which, DeviceId device) {
  HALYARD_GPU_CALL(cuDeviceGetAttribute, kInitialized);
  return attribute(value, which, device);
}

HALYARD_GPU_EXPORT Result cuDeviceComputeCapability(int* major, int* minor, DeviceId device) {
  HALYARD_GPU_CALL(cuDeviceComputeCapability, kInitialized);
  HALYARD_GPU_REQUIRE(major != nullptr && minor != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  *major = options().capability_major;
  *minor = options().capability_minor;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuDeviceGetProperties(DeviceProperties* properties, DeviceId device) {
  HALYARD_GPU_CALL(cuDeviceGetProperties, kInitialized);
  HALYARD_GPU_REQUIRE(properties != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  *properties = {1024,
                 {1024, 1024, 64},
                 {2147483647, 65535, 65535},
                 49152,
                 65536,
                 32,
                 2147483647,
                 65536,
                 1410000,
                 512};
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuDeviceGetPCIBusId(char* id, int size, DeviceId device) {
  HALYARD_GPU_CALL(cuDeviceGetPCIBusId, kInitialized);
  HALYARD_GPU_REQUIRE(id != nullptr && size > 0, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  std::snprintf(id, static_cast<std::size_t>(size), "0000:%02X:00.0", index_of(device) + 1);
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuDeviceGetByPCIBusId(DeviceId* device, const char* id) {
  HALYARD_GPU_CALL(cuDeviceGetByPCIBusId, kInitialized);
  HALYARD_GPU_REQUIRE(device != nullptr && id != nullptr, kInvalidValue);
  unsigned bus = 0;
  const char* const text = std::strlen(id) > 8 ? std::strchr(id, ':') + 1 : id;
  HALYARD_GPU_REQUIRE(std::sscanf(text, "%x", &bus) == 1, kInvalidValue);
  const auto& devices = state().devices;
  const auto found = std::ranges::find(devices, static_cast<int>(bus) - 1, &DeviceState::index);
  HALYARD_GPU_REQUIRE(found != devices.end(), kInvalidDevice);
  *device = static_cast<DeviceId>(found - devices.begin());
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuDeviceCanAccessPeer(int* can, DeviceId device, DeviceId peer) {
  HALYARD_GPU_CALL(cuDeviceCanAccessPeer, kInitialized);
  HALYARD_GPU_REQUIRE(can != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(device) && is_device(peer), kInvalidDevice);
  *can = device != peer ? 1 : 0;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuDeviceGetP2PAttribute(int* value, int which, DeviceId source,
                                                  DeviceId destination) {
  HALYARD_GPU_CALL(cuDeviceGetP2PAttribute, kInitialized);
  HALYARD_GPU_REQUIRE(value != nullptr && which >= 1 && which <= 5, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(source) && is_device(destination), kInvalidDevice);
  HALYARD_GPU_REQUIRE(source != destination, kInvalidDevice);
  *value = which == 2 ? 1 : 0;
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::cuda
