// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/serial/driver.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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
                   "serial: unknown option '{}'; there are devices, peers", name);
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
  hal::DeviceInfo info;
  info.uri = base::format("serial://{}{}", ordinal, query);
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
    return std::vector<hal::DeviceInfo>{describe(0, {})};
  }

  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open(const hal::Uri& uri) override {
    HALYARD_ASSIGN_OR_RETURN(const Options options, read_options(uri));
    unsigned first = 0, end = options.devices;
    if (!uri.path.empty()) {
      const auto ordinal = base::parse_number(uri.path, 0, options.devices - 1);
      if (!ordinal) {
        return error(StatusCode::kNotFound, "serial: no device '{}'; there are {}, from 0",
                     uri.path, options.devices);
      }
      first = *ordinal;
      end = first + 1;
    }
    std::vector<std::unique_ptr<hal::DeviceImpl>> devices;
    for (unsigned ordinal = first; ordinal < end; ++ordinal) {
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
