// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/stream/driver.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/number.h"
#include "hal/device/host_device.h"
#include "hal/device/registry.h"
#include "simulation/stream/device.h"

namespace halyard::inline v0::stream {
namespace {

struct Layout {
  unsigned devices = 1;
  FakeApi api;
  CommandBufferMode mode = CommandBufferMode::kAuto;
  std::string options;  // as they were given: "?devices=2"
};

Result<Layout> read_options(const hal::Uri& uri) {
  Layout layout;
  for (const auto& [name, value] : uri.options) {
    if (name == "command_buffer_mode") {
      HALYARD_ASSIGN_OR_RETURN(layout.mode, parse_command_buffer_mode(value, FakeApi::kDriver));
      base::append(layout.options, "{}{}={}", layout.options.empty() ? "?" : "&", name, value);
      continue;
    }
    std::optional<unsigned> number;
    if (name == "devices") {
      number = base::parse_number(value, 1, fake::kMaxDevices);
      layout.devices = number.value_or(1);
    } else if (name == "unstoppable") {
      number = base::parse_number(value, 0, 1);
      layout.api.unstoppable = number.value_or(0) == 1;
    } else {
      return error(StatusCode::kInvalidArgument,
                   "stream: unknown option '{}'; there are check, command_buffer_mode, devices, "
                   "hang_timeout and unstoppable",
                   name);
    }
    if (!number) {
      return error(StatusCode::kInvalidArgument, "stream: option {} is '{}', not {}", name, value,
                   name == "devices" ? "1 to 64" : "0 or 1");
    }
    base::append(layout.options, "{}{}={}", layout.options.empty() ? "?" : "&", name, *number);
  }
  return layout;
}

hal::DeviceInfo describe(unsigned ordinal, std::string_view options) {
  hal::DeviceInfo info = hal::host_device_info("stream");
  info.uri = base::format("stream://{}{}", ordinal, options);
  info.workers = 1;
  info.limits.max_in_flight = kMaxInFlight;
  return info;
}

class StreamDriver final : public hal::Driver {
 public:
  std::string_view name() const noexcept override { return "stream"; }

  Result<std::vector<hal::DeviceInfo>> enumerate() override {
    return std::vector<hal::DeviceInfo>{describe(0, "")};
  }

  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open(const hal::Uri& uri) override {
    HALYARD_ASSIGN_OR_RETURN(const Layout layout, read_options(uri));
    HALYARD_ASSIGN_OR_RETURN(const hal::Ordinals ordinals, hal::ordinals_of(uri, layout.devices));
    std::vector<std::unique_ptr<hal::DeviceImpl>> devices;
    for (unsigned ordinal = ordinals.first; ordinal < ordinals.end; ++ordinal) {
      HALYARD_ASSIGN_OR_RETURN(auto device, FakeDevice::create(describe(ordinal, layout.options),
                                                               ordinal, layout.api, layout.mode));
      devices.push_back(std::move(device));
    }
    return devices;
  }
};

}  // namespace

Status register_stream_driver(hal::DriverRegistry& registry) {
  return registry.add(std::make_unique<StreamDriver>());
}

}  // namespace halyard::inline v0::stream
