// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/device/host_device.h"

#include <cstdint>

#include "base/format.h"
#include "base/machine.h"
#include "base/number.h"
#include "kernel/cpu_image.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::hal {
namespace {

// Kernels have the limits of the .hyx format. The number of groups of a dispatch fits 64 bits.
constexpr DeviceLimits kLimits{
    .max_buffer_size = PTRDIFF_MAX - 4096,  // with its alignment still a size
    .max_groups = {0xffff'ffff, 0xffff, 0xffff},
    .max_workgroup_items = kernel::kMaxWorkgroupItems,
    .max_shared_bytes = kernel::kMaxSharedBytes,
    .max_bindings = kernel::kMaxBindings,
    .max_constants_bytes = kernel::kMaxConstantsBytes,
};

}  // namespace

DeviceInfo host_device_info(std::string_view driver) {
  DeviceInfo info;
  info.driver = driver;
  info.name = base::processor_name();
  for (const std::string_view target : kernel::cpu_targets()) info.targets.emplace_back(target);
  info.memory_size = base::memory_size();
  info.limits = kLimits;
  return info;
}

Result<Ordinals> ordinals_of(const Uri& uri, unsigned count) {
  if (uri.path.empty()) return Ordinals{0, count};
  const auto ordinal = base::parse_number(uri.path, 0, count - 1);
  if (ordinal) return Ordinals{*ordinal, *ordinal + 1};
  const std::string known =
      count == 1 ? "the only one is 0" : base::format("there are 0 to {}", count - 1);
  return error(StatusCode::kNotFound, "{}: no device '{}'; {}", uri.driver, uri.path, known);
}

}  // namespace halyard::inline v0::hal
