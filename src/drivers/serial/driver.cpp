// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/serial/driver.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/number.h"
#include "drivers/serial/device.h"
#include "drivers/serial/lane.h"
#include "hal/device/host_device.h"
#include "hal/device/registry.h"

namespace halyard::inline v0::serial {
namespace {

struct Options {
  unsigned devices = 1;
  unsigned peers = 1;
};

// The wait and memory domain of a device.
const void* domain_of(unsigned ordinal, const Options& options) {
  static constexpr char kOfPeers = 0;
  static constexpr char kOwn[kMaxDevices] = {};
  return options.peers != 0 ? &kOfPeers : &kOwn[ordinal];
}

Result<Options> read_options(const hal::Uri& uri) {
  Options options;
  for (const auto& [name, value] : uri.options) {
    const struct {
      std::string_view name;
      unsigned least, most;
      unsigned& value;
    } known[] = {{"devices", 1, kMaxDevices, options.devices}, {"peers", 0, 1, options.peers}};
    const auto option =
        std::ranges::find_if(known, [&](const auto& it) { return it.name == name; });
    if (option == std::end(known)) {
      return error(StatusCode::kInvalidArgument,
                   "serial: unknown option '{}'; there are check, devices, hang_timeout and peers", name);
    }
    const auto number = base::parse_number(value, option->least, option->most);
    if (!number) {
      return error(StatusCode::kInvalidArgument, "serial: option {} is '{}', not {} to {}", name,
                   value, option->least, option->most);
    }
    option->value = *number;
  }
  return options;
}

hal::DeviceInfo describe(unsigned ordinal, const Options& options) {
  std::string query;
  if (options.devices != 1) base::append(query, "?devices={}", options.devices);
  if (options.peers == 0) base::append(query, "{}peers=0", query.empty() ? '?' : '&');
  hal::DeviceInfo info = hal::host_device_info("serial");
  info.uri = base::format("serial://{}{}", ordinal, query);
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

  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open(const hal::Uri& uri) override {
    HALYARD_ASSIGN_OR_RETURN(const Options options, read_options(uri));
    HALYARD_ASSIGN_OR_RETURN(const hal::Ordinals ordinals, hal::ordinals_of(uri, options.devices));
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
