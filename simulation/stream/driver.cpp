// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/stream/driver.h"

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "drivers/stream/options.h"
#include "hal/device/host_device.h"
#include "hal/device/registry.h"
#include "simulation/stream/device.h"

namespace halyard::inline v0::stream {
namespace {

constexpr hal::Option kTable[] = {
    {.name = "command_buffer_mode", .choices = kCommandBufferModes},
    {.name = "devices", .least = 1, .most = fake::kMaxDevices},
    {.name = "unstoppable", .most = 1},
};

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

  std::span<const hal::Option> options() const noexcept override { return kTable; }

  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open_devices(
      const hal::Uri& uri, const hal::OptionValues& values) override {
    FakeApi api;
    api.unstoppable = values.get("unstoppable", 0) == 1;
    const auto mode = static_cast<CommandBufferMode>(values.get("command_buffer_mode", 0));
    HALYARD_ASSIGN_OR_RETURN(const hal::Ordinals ordinals,
                             hal::ordinals_of(uri, values.get("devices", 1)));
    std::vector<std::unique_ptr<hal::DeviceImpl>> devices;
    for (unsigned ordinal = ordinals.first; ordinal < ordinals.end; ++ordinal) {
      HALYARD_ASSIGN_OR_RETURN(
          auto device, FakeDevice::create(describe(ordinal, values.query()), ordinal, api, mode));
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
