// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/driver.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/format.h"
#include "base/number.h"
#include "drivers/cpu/device.h"
#include "drivers/cpu/lane.h"
#include "drivers/cpu/ring_group.h"
#include "drivers/cpu/topology.h"
#include "drivers/cpu/workers.h"
#include "hal/device/host_device.h"
#include "hal/device/registry.h"

namespace halyard::inline v0::cpu {
namespace {

#ifdef NDEBUG
constexpr bool kStrictByDefault = false;
#else
constexpr bool kStrictByDefault = true;
#endif

struct Layout {
  unsigned devices = 1;
  unsigned workers = 0;  // 0: by default
  Affinity affinity = Affinity::kNone;
  bool strict = kStrictByDefault;
  std::string options;  // as they were given: "?devices=2"
};

Result<Layout> read_options(const hal::Uri& uri) {
  Layout layout;
  for (const auto& [name, value] : uri.options) {
    std::optional<unsigned> number;
    unsigned least = 1, most = 0;
    if (name == "affinity") {
      constexpr std::string_view kNames[] = {"none", "core", "node"};
      const auto* const known = std::ranges::find(kNames, value);
      if (known == std::end(kNames)) {
        return error(StatusCode::kInvalidArgument,
                     "cpu: option affinity is '{}', not none, core or node", value);
      }
      layout.affinity = static_cast<Affinity>(known - kNames);
      layout.options += base::format("{}affinity={}", layout.options.empty() ? "?" : "&", value);
      continue;
    }
    if (name == "devices") {
      most = kMaxDevices;
      number = base::parse_number(value, 1, most);
      layout.devices = number.value_or(1);
    } else if (name == "workers") {
      most = kMaxWorkers;
      number = base::parse_number(value, 1, most);
      layout.workers = number.value_or(1);
    } else if (name == "strict") {
      least = 0, most = 1;
      number = base::parse_number(value, least, most);
      layout.strict = number == 1u;
    } else {
      return error(
          StatusCode::kInvalidArgument,
          "cpu: unknown option '{}'; there are affinity, check, devices, hang_timeout, strict "
          "and workers",
          name);
    }
    if (!number) {
      return error(StatusCode::kInvalidArgument, "cpu: option {} is '{}', not {} to {}", name,
                   value, least, most);
    }
    layout.options += base::format("{}{}={}", layout.options.empty() ? "?" : "&", name, *number);
  }
  return layout;
}

hal::DeviceInfo describe(unsigned ordinal, const Layout& layout) {
  hal::DeviceInfo info = hal::host_device_info("cpu");
  info.uri = base::format("cpu://{}{}", ordinal, layout.options);
  info.limits.max_in_flight = kMaxInFlight;
  info.workers = layout.workers != 0 ? layout.workers
                                     : std::clamp(core_count() / layout.devices, 1u, kMaxWorkers);
  return info;
}

class CpuDriver final : public hal::Driver {
 public:
  std::string_view name() const noexcept override { return "cpu"; }

  Result<std::vector<hal::DeviceInfo>> enumerate() override {
    return std::vector<hal::DeviceInfo>{describe(0, {})};
  }

  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open(const hal::Uri& uri) override {
    HALYARD_ASSIGN_OR_RETURN(const Layout layout, read_options(uri));
    HALYARD_ASSIGN_OR_RETURN(const hal::Ordinals ordinals, hal::ordinals_of(uri, layout.devices));
    std::vector<std::unique_ptr<hal::DeviceImpl>> devices;
    for (unsigned ordinal = ordinals.first; ordinal < ordinals.end; ++ordinal) {
      hal::DeviceInfo info = describe(ordinal, layout);
      Placement placement;
      if (layout.affinity != Affinity::kNone) {
        HALYARD_ASSIGN_OR_RETURN(const Topology topology, Topology::here());
        HALYARD_ASSIGN_OR_RETURN(
            placement, place(topology, layout.affinity, ordinal, layout.devices, layout.workers));
        info.workers = std::min(placement.workers, kMaxWorkers);
      }
      HALYARD_ASSIGN_OR_RETURN(auto device,
                               Device::create(std::move(info), placement, layout.strict));
      devices.push_back(std::move(device));
    }
    return devices;
  }
};

}  // namespace

std::unique_ptr<hal::Driver> make_cpu_driver() { return std::make_unique<CpuDriver>(); }

Status register_cpu_driver(hal::DriverRegistry& registry) {
  return registry.add(make_cpu_driver());
}

}  // namespace halyard::inline v0::cpu
