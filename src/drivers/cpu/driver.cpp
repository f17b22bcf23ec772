// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/driver.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.h"
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

constexpr std::string_view kAffinities[] = {"none", "core", "node"};  // by Affinity
constexpr hal::Option kOptions[] = {
    {.name = "affinity", .choices = kAffinities},
    {.name = "devices", .least = 1, .most = kMaxDevices},
    {.name = "strict", .most = 1},
    {.name = "workers", .least = 1, .most = kMaxWorkers},
};

struct Layout {
  explicit Layout(const hal::OptionValues& values)
      : devices(values.get("devices", 1)),
        workers(values.get("workers", 0)),
        affinity(static_cast<Affinity>(values.get("affinity", 0))),
        strict(values.get("strict", kStrictByDefault) == 1),
        options(values.query()) {}

  unsigned devices;
  unsigned workers;  // 0: by default
  Affinity affinity;
  bool strict;
  std::string options;
};

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
    return std::vector<hal::DeviceInfo>{describe(0, Layout({}))};
  }

  std::span<const hal::Option> options() const noexcept override { return kOptions; }

  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open_devices(
      const hal::Uri& uri, const hal::OptionValues& values) override {
    const Layout layout(values);
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
