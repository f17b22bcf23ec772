// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/serial/driver.h"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "drivers/serial/device.h"
#include "drivers/serial/lane.h"
#include "hal/device/host_device.h"
#include "hal/device/registry.h"

namespace halyard::inline v0::serial {
namespace {

constexpr hal::Option kOptions[] = {{.name = "devices", .least = 1, .most = kMaxDevices},
                                    {.name = "peers", .most = 1}};

// The wait and memory domain of a device.
const void* domain_of(unsigned ordinal, const hal::OptionValues& options) {
  static constexpr char kOfPeers = 0;
  static constexpr char kOwn[kMaxDevices] = {};
  return options.get("peers", 1) != 0 ? &kOfPeers : &kOwn[ordinal];
}

hal::DeviceInfo describe(unsigned ordinal, const hal::OptionValues& options) {
  hal::DeviceInfo info = hal::host_device_info("serial");
  info.uri = base::format("serial://{}{}", ordinal, options.query());
  info.workers = 1;
  info.limits.max_in_flight = kMaxInFlight;
  return info;
}

class SerialDriver final : public hal::Driver {
 public:
  std::string_view name() const noexcept override { return "serial"; }

  Result<std::vector<hal::DeviceInfo>> enumerate() override {
    return std::vector<hal::DeviceInfo>{describe(0, {})};
  }

  std::span<const hal::Option> options() const noexcept override { return kOptions; }

  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open_devices(
      const hal::Uri& uri, const hal::OptionValues& options) override {
    HALYARD_ASSIGN_OR_RETURN(const hal::Ordinals ordinals,
                             hal::ordinals_of(uri, options.get("devices", 1)));
    std::vector<std::unique_ptr<hal::DeviceImpl>> devices;
    for (unsigned ordinal = ordinals.first; ordinal < ordinals.end; ++ordinal) {
      devices.push_back(
          std::make_unique<Device>(describe(ordinal, options), domain_of(ordinal, options)));
    }
    return devices;
  }
};

}  // namespace

Status register_serial_driver(hal::DriverRegistry& registry) {
  return registry.add(std::make_unique<SerialDriver>());
}

}  // namespace halyard::inline v0::serial
