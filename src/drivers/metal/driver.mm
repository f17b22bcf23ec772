// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/driver.h"

#ifdef __APPLE__
#include <unistd.h>
#endif

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/mutex.h"
#include "drivers/metal/device.h"
#include "drivers/metal/functions.h"
#include "drivers/metal/physical_device.h"
#include "hal/device/host_device.h"
#include "hal/device/registry.h"
#include "kernel/device_abi.h"

namespace halyard::inline v0::metal {
namespace {

constexpr hal::Option kOptions[] = {
    {.name = "devices", .least = 1, .most = kMaxDevices},
    {.name = "heaps", .most = 1},
    {.name = "managed", .most = 1},
    {.name = "page", .least = 4096, .most = 65536},
    {.name = "poll_time", .most = 1'000'000, .unit = " us"},
    {.name = "split", .least = 1, .most = 4096},
};

#ifdef __APPLE__
constexpr unsigned kPollMicroseconds = 2000;  // longer than threads take to wake
std::uint64_t page_size() noexcept { return static_cast<std::uint64_t>(getpagesize()); }
#else
constexpr unsigned kPollMicroseconds = 0;
// The page size of Apple silicon, which the simulated framework requires on every machine.
constexpr std::uint64_t page_size() noexcept { return 16384; }
#endif

// Commands in a buffer. Long commands then take tens of milliseconds; the system stops a buffer
// that holds up the display for seconds.
constexpr unsigned kSplitAfter = 64;

Result<DeviceOptions> read_options(const hal::OptionValues& values) {
  const std::uint64_t page = values.get("page", static_cast<unsigned>(page_size()));
  if (!std::has_single_bit(page)) {
    return error(StatusCode::kInvalidArgument, "metal: option page is {}, not a power of two",
                 page);
  }
  return DeviceOptions{.poll_time = Nanoseconds{values.get("poll_time", kPollMicroseconds)} * 1000,
                       .page = page,
                       .uses_heaps = values.get("heaps", 0) == 1,
                       .managed = values.get("managed", 0) == 1,
                       .split_after = values.get("split", kSplitAfter)};
}

hal::DeviceInfo describe(unsigned ordinal, const PhysicalDevice& physical, std::string_view query) {
  hal::DeviceInfo info;
  info.uri = base::format("metal://{}{}", ordinal, query);
  info.driver = "metal";
  info.name = physical.name();
  if (physical.lacks().empty()) {
    info.targets.emplace_back(kernel::kMetalTarget);
  } else {
    base::append(info.name, " (cannot be opened: it lacks {})", physical.lacks());
  }
  info.memory_size = physical.memory_size();
  info.workers = 1;
  info.limits = physical.limits();
  return info;
}

class MetalDriver final : public hal::Driver {
 public:
  std::string_view name() const noexcept override { return "metal"; }

  Result<std::vector<hal::DeviceInfo>> enumerate() override {
    const ScopedPool pool;
    base::LockGuard lock(mutex_);
    HALYARD_RETURN_IF_ERROR(find_devices());
    std::vector<hal::DeviceInfo> all;
    for (unsigned i = 0; i < devices_.size(); ++i) {
      all.push_back(describe(i, *devices_[i], ""));
    }
    return all;
  }

  std::span<const hal::Option> options() const noexcept override { return kOptions; }

  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open_devices(
      const hal::Uri& uri, const hal::OptionValues& values) override {
    const ScopedPool pool;
    HALYARD_ASSIGN_OR_RETURN(const DeviceOptions options, read_options(values));
    base::LockGuard lock(mutex_);
    HALYARD_RETURN_IF_ERROR(find_devices());
    const auto present = static_cast<unsigned>(devices_.size());
    if (present == 0) return error(StatusCode::kNotFound, "metal: there is no device");
    HALYARD_ASSIGN_OR_RETURN(const hal::Ordinals ordinals,
                             hal::ordinals_of(uri, values.get("devices", present)));
    if (!guard_) guard_ = Ref<timeline::EntryGuard>::adopt(new (std::nothrow) PoolGuard);
    if (!guard_) return error(StatusCode::kResourceExhausted, "metal: no memory for a device");
    const std::string query = values.query();
    std::vector<std::unique_ptr<hal::DeviceImpl>> devices;
    for (unsigned ordinal = ordinals.first; ordinal < ordinals.end; ++ordinal) {
      const unsigned at = ordinal % present;
      const Ref<PhysicalDevice>& physical = devices_[at];
      if (!physical->lacks().empty() || physical->gone()) {
        return error(StatusCode::kUnavailable, "metal: {} cannot be opened: {}{}", physical->name(),
                     physical->gone() ? "this process has lost it" : "it lacks ",
                     physical->lacks());
      }
      HALYARD_ASSIGN_OR_RETURN(auto device,
                               Device::create(describe(ordinal, *physical, query), physical, guard_,
                                              domains_of(at), options));
      devices.push_back(std::move(device));
    }
    return devices;
  }

 private:
  static Domains domains_of(unsigned device) noexcept {
    static constexpr char kWait = 0;
    static constexpr char kMemory[kMaxDevices] = {};
    return {&kWait, &kMemory[device % kMaxDevices]};
  }

  // Keeps every device that Metal has listed under its first ordinal, identified by its registry
  // ID. A removed device stays in the list but cannot be opened.
  Status find_devices() {
    const auto add = [this](id<MTLDevice> device) -> Status {
      const std::uint64_t registry_id = [device registryID];
      const auto is_it = [&](const auto& known) { return known->registry_id() == registry_id; };
      if (device == nil || std::ranges::any_of(devices_, is_it)) return {};
      HALYARD_ASSIGN_OR_RETURN(Ref<PhysicalDevice> physical,
                               PhysicalDevice::create(Retained<id<MTLDevice>>::share(device)));
      devices_.push_back(std::move(physical));
      return {};
    };
    // In some sessions the list is nil or empty, although there is a device.
    const Retained<NSArray<id<MTLDevice>>*> list = copy_all_devices();
    for (NSUInteger i = 0; i < [list.get() count]; ++i) {
      HALYARD_RETURN_IF_ERROR(add([list.get() objectAtIndex:i]));
    }
    if (!devices_.empty()) return {};
    const Retained<id<MTLDevice>> only = system_default_device();
    return only ? add(only.get()) : Status();
  }

  base::Mutex mutex_;  // guards the rest
  std::vector<Ref<PhysicalDevice>> devices_;
  Ref<timeline::EntryGuard> guard_;
};

}  // namespace

Status register_metal_driver(hal::DriverRegistry& registry) {
  return registry.add(std::make_unique<MetalDriver>());
}

}  // namespace halyard::inline v0::metal
