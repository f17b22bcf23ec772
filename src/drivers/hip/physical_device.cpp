// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/hip/physical_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/format.h"
#include "drivers/hip/error.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::hip {
namespace {

// At exit the library's static destructors tear down its runtime, and later calls crash
// (ROCm/AMDMIGraphX#4792, ROCm/clr#272).
constinit base::Atomic<bool> ended{false};

// The offset of gcnArchName in hipDeviceProp_t, in HIP 6 and before (hip_runtime_api.h), and room
// for members that later versions append.
constexpr std::size_t kArchitecture = 1160, kOldArchitecture = 396, kArchitectureSize = 256;
constexpr std::size_t kPropertiesSize = 4096;

// Processors that run the images of a generic target:
// https://llvm.org/docs/AMDGPUUsage.html#amdgpu-generic-processor-table
struct Generic {
  std::string_view first, last;  // of equal length
  std::string_view target;
};
constexpr Generic kGenerics[] = {
    {"gfx900", "gfx90c", "gfx9-generic"},      {"gfx942", "gfx950", "gfx9-4-generic"},
    {"gfx1010", "gfx1013", "gfx10-1-generic"}, {"gfx1030", "gfx1036", "gfx10-3-generic"},
    {"gfx1100", "gfx1103", "gfx11-generic"},   {"gfx1150", "gfx1153", "gfx11-generic"},
    {"gfx1200", "gfx1201", "gfx12-generic"},
};
// Accelerators within the first range that do not run its generic target.
constexpr std::string_view kWithoutGeneric[] = {"gfx908", "gfx90a"};

// Reads attributes until one fails.
class Attributes {
 public:
  Attributes(const Functions& hip, int device) noexcept : hip_(hip), device_(device) {}
  int operator()(hipDeviceAttribute_t attribute) {
    int value = 0;
    if (status_.ok()) {
      status_ = to_status(hip_.hipDeviceGetAttribute(&value, attribute, device_),
                          "hipDeviceGetAttribute");
    }
    return value;
  }
  std::uint32_t count(hipDeviceAttribute_t attribute) {
    return static_cast<std::uint32_t>(std::max(0, (*this)(attribute)));
  }
  const Status& status() const noexcept { return status_; }

 private:
  const Functions& hip_;
  const int device_;
  Status status_;
};

Status read_architecture(const Functions& hip, PhysicalDevice& device) {
  alignas(8) char properties[kPropertiesSize] = {};
  const bool is_new = hip.hipGetDevicePropertiesR0600.pointer != nullptr;
  if (!is_new && hip.hipGetDeviceProperties.pointer == nullptr) return {};
  void* const data = static_cast<void*>(&properties[0]);
  HALYARD_RETURN_IF_ERROR(
      to_status(is_new ? hip.hipGetDevicePropertiesR0600(data, device.handle)
                       : hip.hipGetDeviceProperties(data, device.handle),
                is_new ? "hipGetDevicePropertiesR0600" : "hipGetDeviceProperties"));
  const char* const name = properties + (is_new ? kArchitecture : kOldArchitecture);
  device.architecture.assign(name, ::strnlen(name, kArchitectureSize));
  return {};
}

Status describe(const Functions& hip, PhysicalDevice& device) {
  char text[256] = {};
  constexpr int kTextSize = static_cast<int>(sizeof text) - 1;
  HALYARD_RETURN_IF_ERROR(
      to_status(hip.hipDeviceGetName(&text[0], kTextSize, device.handle), "hipDeviceGetName"));
  device.name = text;
  HALYARD_RETURN_IF_ERROR(to_status(hip.hipDeviceGetPCIBusId(&text[0], kTextSize, device.handle),
                                    "hipDeviceGetPCIBusId"));
  device.address = text;
  std::size_t memory = 0;
  HALYARD_RETURN_IF_ERROR(
      to_status(hip.hipDeviceTotalMem(&memory, device.handle), "hipDeviceTotalMem"));
  device.memory_size = memory;
  HALYARD_RETURN_IF_ERROR(read_architecture(hip, device));

  Attributes read(hip, device.handle);
  device.multiprocessors = read.count(hipDeviceAttributeMultiprocessorCount);
  device.registers_memory = hip.version < kNewMemoryTypes ||  // which does not know the attribute
                            read(hipDeviceAttributeHostRegisterSupported) != 0;
  device.concurrent_managed = read(hipDeviceAttributeConcurrentManagedAccess) != 0;
  device.writes_values = hip.hipStreamWriteValue64.pointer != nullptr &&
                         read(hipDeviceAttributeCanUseStreamWaitValue) != 0;
  // After its first host callback a thread of ROCr may poll for ever (ROCm/TheRock#7051). So a
  // waiting thread polls a word instead, and the lane's own thread sleeps on events.
  device.completion =
      device.writes_values ? stream::CompletionMode::kFlag : stream::CompletionMode::kEvent;

  hal::DeviceLimits& limits = device.limits;
  limits.max_buffer_size = device.memory_size;
  // hip_module.cpp of ROCm/clr: y and z up to 65536, even if the attributes are larger.
  limits.max_groups[0] = read.count(hipDeviceAttributeMaxGridDimX);
  limits.max_groups[1] = std::min(read.count(hipDeviceAttributeMaxGridDimY), 65536u);
  limits.max_groups[2] = std::min(read.count(hipDeviceAttributeMaxGridDimZ), 65536u);
  limits.max_workgroup_items =
      std::min<std::uint32_t>(read.count(hipDeviceAttributeMaxThreadsPerBlock),
                              static_cast<std::uint32_t>(kernel::kMaxWorkgroupItems));
  limits.max_shared_bytes = read.count(hipDeviceAttributeMaxSharedMemoryPerBlock);
  limits.max_bindings = static_cast<std::uint32_t>(kernel::kMaxBindings);
  limits.max_constants_bytes = static_cast<std::uint32_t>(kernel::kMaxConstantsBytes);
  limits.max_in_flight = kMaxInFlight;
  limits.indirect_dispatch = false;  // no call of a stream reads its counts from memory

  device.target_names = image_targets(device.architecture);
  device.targets.assign(device.target_names.begin(), device.target_names.end());
  const auto lacks = [&](bool has, std::string_view what) {
    if (!has) base::append(device.lacks, "{}{}", device.lacks.empty() ? "" : ", ", what);
  };
  lacks(read(hipDeviceAttributeCanMapHostMemory) != 0, "mapped host memory");
  lacks(device.architecture.starts_with("gfx"), "a name of its architecture");
  return read.status();
}

}  // namespace

std::vector<std::string> image_targets(std::string_view architecture) {
  std::vector<std::string> targets;
  const std::string_view processor = architecture.substr(0, architecture.find(':'));
  // "gfx942:sramecc+:xnack-", "gfx942:sramecc+", "gfx942:xnack-", "gfx942"
  if (processor != architecture) targets.push_back(base::format("hsaco-{}", architecture));
  const std::string_view features = architecture.substr(processor.size());
  if (const std::size_t second = features.find(':', 1); second != features.npos) {
    for (const std::string_view feature : {features.substr(0, second), features.substr(second)}) {
      targets.push_back(base::format("hsaco-{}{}", processor, feature));
    }
  }
  targets.push_back(base::format("hsaco-{}", processor));
  if (std::ranges::find(kWithoutGeneric, processor) != std::end(kWithoutGeneric)) return targets;
  for (const Generic& generic : kGenerics) {
    if (processor.size() == generic.first.size() && generic.first <= processor &&
        processor <= generic.last) {
      targets.push_back(base::format("hsaco-{}", generic.target));
    }
  }
  return targets;
}

Status start(Functions& hip, std::vector<PhysicalDevice>& devices) {
  if (const hipError_t result = hip.hipInit(0u); result != hipSuccess) {
    const Status status = to_status(result, "hipInit");
    if (status.code() == StatusCode::kNotFound) return status;
    return Status(StatusCode::kUnavailable, status.message(), status.native_error());
  }
  int count = 0;
  HALYARD_RETURN_IF_ERROR(
      to_status(hip.hipRuntimeGetVersion(&hip.version), "hipRuntimeGetVersion"));
  HALYARD_RETURN_IF_ERROR(to_status(hip.hipGetDeviceCount(&count), "hipGetDeviceCount"));
  devices.resize(static_cast<std::size_t>(std::max(0, count)));
  for (int i = 0; i < count; ++i) {
    PhysicalDevice& device = devices[static_cast<std::size_t>(i)];
    device.handle = i;
    HALYARD_RETURN_IF_ERROR(describe(hip, device));
  }
  // Registered after hipInit(), so that it runs before HIP's own exit functions.
  static const int registered = std::atexit([] { ended.store(true, std::memory_order_seq_cst); });
  (void)registered;
  return {};
}

bool has_ended() noexcept { return ended.load(std::memory_order_relaxed); }

}  // namespace halyard::inline v0::hip
