// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/physical_device.h"

#include <algorithm>

#include "base/format.h"
#include "drivers/cuda/error.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::cuda {
namespace {

// A cubin runs on devices with its major version and the same or a higher minor version. A fatbin
// holds several images, from which the driver picks:
// https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility
struct Cubin {
  std::string_view name;
  int capability;
};
constexpr Cubin kCubins[] = {
    {"cubin-sm_121", 121}, {"cubin-sm_120", 120}, {"cubin-sm_103", 103}, {"cubin-sm_100", 100},
    {"cubin-sm_90", 90},   {"cubin-sm_89", 89},   {"cubin-sm_87", 87},   {"cubin-sm_86", 86},
    {"cubin-sm_80", 80},   {"cubin-sm_75", 75},
};

// PTX runs on its architecture and later architectures. It needs a driver that knows its version of
// the PTX language, which is at least the version that introduced the architecture.
struct Target {
  std::string_view name;
  int capability;
  int driver;
};
constexpr Target kTargets[] = {
    {"ptx-sm_120", 120, 12080}, {"ptx-sm_100", 100, 12080}, {"ptx-sm_90", 90, 11080},
    {"ptx-sm_89", 89, 11080},   {"ptx-sm_87", 87, 11040},   {"ptx-sm_86", 86, 11010},
    {"ptx-sm_80", 80, 11000},   {"ptx-sm_75", 75, 11000},
};

std::string to_string(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    base::append(text, "{:02x}", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
  }
  return text;
}

// Reads attributes until one fails.
class Attributes {
 public:
  Attributes(const Functions& cuda, CUdevice device) noexcept : cuda_(cuda), device_(device) {}
  int operator()(CUdevice_attribute attribute) {
    int value = 0;
    if (status_.ok()) {
      status_ =
          to_status(cuda_.cuDeviceGetAttribute(&value, attribute, device_), "cuDeviceGetAttribute");
    }
    return value;
  }
  std::uint32_t count(CUdevice_attribute attribute) {
    return static_cast<std::uint32_t>(std::max(0, (*this)(attribute)));
  }
  const Status& status() const noexcept { return status_; }

 private:
  const Functions& cuda_;
  const CUdevice device_;
  Status status_;
};

Status describe(const Functions& cuda, int version, PhysicalDevice& device) {
  char name[256] = {};
  HALYARD_RETURN_IF_ERROR(
      to_status(cuda.cuDeviceGetName(name, static_cast<int>(sizeof name) - 1, device.handle),
                "cuDeviceGetName"));
  device.name = name;
  CUuuid uuid = {};
  HALYARD_RETURN_IF_ERROR(to_status(cuda.cuDeviceGetUuid(&uuid, device.handle), "cuDeviceGetUuid"));
  device.uuid = to_string(uuid);
  std::size_t memory = 0;
  HALYARD_RETURN_IF_ERROR(
      to_status(cuda.cuDeviceTotalMem(&memory, device.handle), "cuDeviceTotalMem"));
  device.memory_size = memory;

  Attributes read(cuda, device.handle);
  device.capability = read(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                      read(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  device.driver = version;
  device.multiprocessors = read.count(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  device.registers_memory = read(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED) != 0;
  // Reading an attribute fails in an older driver that does not know it, so the function is checked
  // first.
  device.writes_values = cuda.cuStreamWriteValue64.pointer != nullptr &&
                         read(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS) != 0;

  device.concurrent_managed = read(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) != 0;

  hal::DeviceLimits& limits = device.limits;
  limits.max_buffer_size = device.memory_size;
  limits.max_groups[0] = read.count(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  limits.max_groups[1] = read.count(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  limits.max_groups[2] = read.count(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  limits.max_workgroup_items =
      std::min<std::uint32_t>(read.count(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
                              static_cast<std::uint32_t>(kernel::kMaxWorkgroupItems));
  device.default_shared_bytes = read.count(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  limits.max_shared_bytes =
      std::max(device.default_shared_bytes,
               read.count(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  limits.max_bindings = static_cast<std::uint32_t>(kernel::kMaxBindings);
  limits.max_constants_bytes =
      kMaxParameterBytes - static_cast<std::uint32_t>(kernel::kMaxBindings * sizeof(CUdeviceptr));
  limits.max_in_flight = kMaxInFlight;
  limits.indirect_dispatch = false;  // no call of a stream reads its counts from memory

  device.targets = image_targets(device.capability, version);

  const auto lacks = [&](bool has, std::string_view what) {
    if (!has) base::append(device.lacks, "{}{}", device.lacks.empty() ? "" : ", ", what);
  };
  lacks(read(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) != 0, "unified addressing");
  lacks(read(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY) != 0, "mapped host memory");
  lacks(device.targets.back() != kFatbinTarget, "compute capability 7.5");
  return read.status();
}

}  // namespace

std::vector<std::string_view> image_targets(int capability, int driver) {
  std::vector<std::string_view> targets;
  for (const Cubin& cubin : kCubins) {
    if (cubin.capability / 10 == capability / 10 && cubin.capability <= capability) {
      targets.push_back(cubin.name);
    }
  }
  targets.push_back(kFatbinTarget);
  for (const Target& target : kTargets) {
    if (capability >= target.capability && driver >= target.driver) targets.push_back(target.name);
  }
  return targets;
}

Status start(const Functions& cuda, std::vector<PhysicalDevice>& devices) {
  if (const CUresult result = cuda.cuInit(0u); result != CUDA_SUCCESS) {
    const Status status = to_status(result, "cuInit");
    if (status.code() == StatusCode::kNotFound) return status;
    // Includes CUDA_ERROR_UNKNOWN, for example for a kernel module of another version, or a
    // container without devices.
    return Status(StatusCode::kUnavailable, status.message(), status.native_error());
  }
  int version = 0, count = 0;
  HALYARD_RETURN_IF_ERROR(to_status(cuda.cuDriverGetVersion(&version), "cuDriverGetVersion"));
  HALYARD_RETURN_IF_ERROR(to_status(cuda.cuDeviceGetCount(&count), "cuDeviceGetCount"));
  devices.resize(static_cast<std::size_t>(std::max(0, count)));
  for (int i = 0; i < count; ++i) {
    PhysicalDevice& device = devices[static_cast<std::size_t>(i)];
    HALYARD_RETURN_IF_ERROR(to_status(cuda.cuDeviceGet(&device.handle, i), "cuDeviceGet"));
    HALYARD_RETURN_IF_ERROR(describe(cuda, version, device));
  }
  return {};
}

}  // namespace halyard::inline v0::cuda
