// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/serial/driver.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/number.h"
#include "drivers/serial/device.h"
#include "drivers/serial/queue.h"
#include "hal/host_device.h"
#include "hal/registry.h"

namespace halyard::inline v0::serial {
namespace {

hal::DeviceInfo describe(unsigned ordinal, unsigned devices) {
  hal::DeviceInfo info = hal::host_device_info("serial");
  info.uri = devices == 1 ? base::format("serial://{}", ordinal)
                          : base::format("serial://{}?devices={}", ordinal, devices);
  info.workers = 1;
  info.limits.max_in_flight = kMaxInFlight;
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
    HALYARD_ASSIGN_OR_RETURN(const hal::Ordinals ordinals, hal::ordinals_of(uri, count));
    std::vector<std::unique_ptr<hal::DeviceImpl>> devices;
    for (unsigned ordinal = ordinals.first; ordinal < ordinals.end; ++ordinal) {
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
