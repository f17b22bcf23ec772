// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/serial/driver.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/machine.h"
#include "base/number.h"
#include "drivers/serial/device.h"
#include "drivers/serial/lane.h"
#include "hal/registry.h"
#include "kernel/cpu_image.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::serial {
namespace {

// Kernels have the limits of the .hyx format.
constexpr hal::DeviceLimits kLimits{
    .max_buffer_size = PTRDIFF_MAX - 4096,  // with its alignment still a size
    .max_groups = {0xffff'ffff, 0xffff, 0xffff},
    .max_workgroup_items = kernel::kMaxWorkgroupItems,
    .max_shared_bytes = kernel::kMaxSharedBytes,
    .max_bindings = kernel::kMaxBindings,
    .max_constants_bytes = kernel::kMaxConstantsBytes,
    .max_in_flight = kMaxInFlight,
};

hal::DeviceInfo describe(unsigned ordinal, unsigned devices) {
  hal::DeviceInfo info;
  info.uri = devices == 1 ? base::format("serial://{}", ordinal)
                          : base::format("serial://{}?devices={}", ordinal, devices);
  info.driver = "serial";
  info.name = base::processor_name();
  for (const std::string_view target : kernel::cpu_targets()) info.targets.emplace_back(target);
  info.memory_size = base::memory_size();
  info.limits = kLimits;
  info.workers = 1;
  return info;
}

class SerialDriver final : public hal::Driver {
 public:
  std::string_view name() const noexcept override { return "serial"; }

  Result<std::vector<hal::DeviceInfo>> enumerate() override {
    return std::vector<hal::DeviceInfo>{describe(0, 1)};
  }

  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open(const hal::Uri& uri) override {
    unsigned count = 1;
    for (const auto& [name, value] : uri.options) {
      if (name != "devices") {
        return error(StatusCode::kInvalidArgument, "serial: unknown option '{}'; there is devices",
                     name);
      }
      const auto number = base::parse_number(value, 1, kMaxDevices);
      if (!number) {
        return error(StatusCode::kInvalidArgument, "serial: option devices is '{}', not 1 to {}",
                     value, kMaxDevices);
      }
      count = *number;
    }
    unsigned first = 0, end = count;
    if (!uri.path.empty()) {
      const auto ordinal = base::parse_number(uri.path, 0, count - 1);
      if (!ordinal) {
        return error(StatusCode::kNotFound, "serial: no device '{}'; there are {}, from 0",
                     uri.path, count);
      }
      first = *ordinal;
      end = first + 1;
    }
    std::vector<std::unique_ptr<hal::DeviceImpl>> devices;
    for (unsigned ordinal = first; ordinal < end; ++ordinal) {
      devices.push_back(std::make_unique<Device>(describe(ordinal, count)));
    }
    return devices;
  }
};

}  // namespace

Status register_serial_driver(hal::DriverRegistry& registry) {
  return registry.add(std::make_unique<SerialDriver>());
}

}  // namespace halyard::inline v0::serial
