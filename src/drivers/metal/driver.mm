// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/driver.h"

#ifdef __APPLE__
#include <unistd.h>
#endif

#include <algorithm>
#include <bit>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/mutex.h"
#include "base/number.h"
#include "drivers/metal/device.h"
#include "drivers/metal/functions.h"
#include "drivers/metal/physical_device.h"
#include "hal/device/host_device.h"
#include "hal/device/registry.h"
#include "kernel/device_abi.h"

namespace halyard::inline v0::metal {
namespace {

// Numbers within their bounds; empty if the URI does not have the option.
struct Options {
  std::optional<unsigned> devices, heaps, managed, page, poll_time, split;
};

struct OptionName {
  std::string_view name;
  std::optional<unsigned> Options::* value;
  unsigned least, most;
};
constexpr OptionName kOptions[] = {{"devices", &Options::devices, 1, kMaxDevices},
                                   {"heaps", &Options::heaps, 0, 1},
                                   {"managed", &Options::managed, 0, 1},
                                   {"page", &Options::page, 4096, 65536},
                                   {"poll_time", &Options::poll_time, 0, 1'000'000},
                                   {"split", &Options::split, 1, 4096}};

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

Result<Options> read_options(const hal::Uri& uri) {
  Options options;
  for (const auto& [name, value] : uri.options) {
    const auto* const option = std::ranges::find(kOptions, name, &OptionName::name);
    if (option == std::end(kOptions)) {
      return error(StatusCode::kInvalidArgument,
                   "metal: unknown option '{}'; there are cache, check, devices, hang_timeout, "
                   "heaps, managed, page, poll_time and split",
                   name);
    }
    options.*option->value = base::parse_number(value, option->least, option->most);
    if (!(options.*option->value)) {
      return error(StatusCode::kInvalidArgument, "metal: option {} is '{}', not {} to {}", name,
                   value, option->least, option->most);
    }
  }
  if (options.page && !std::has_single_bit(*options.page)) {
    return error(StatusCode::kInvalidArgument, "metal: option page is {}, not a power of two",
                 *options.page);
  }
  return options;
}

// The query of a device's URI: the options that were given.
std::string query_of(const Options& options) {
  std::string query;
  for (const OptionName& option : kOptions) {
    if (const auto& value = options.*option.value) {
      base::append(query, "{}{}={}", query.empty() ? "?" : "&", option.name, *value);
    }
  }
  return query;
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

  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open(const hal::Uri& uri) override {
    const ScopedPool pool;
    HALYARD_ASSIGN_OR_RETURN(const Options options, read_options(uri));
    base::LockGuard lock(mutex_);
    HALYARD_RETURN_IF_ERROR(find_devices());
    const auto present = static_cast<unsigned>(devices_.size());
    if (present == 0) return error(StatusCode::kNotFound, "metal: there is no device");
    HALYARD_ASSIGN_OR_RETURN(const hal::Ordinals ordinals,
                             hal::ordinals_of(uri, options.devices.value_or(present)));
    if (!guard_) guard_ = Ref<timeline::EntryGuard>::adopt(new (std::nothrow) PoolGuard);
    if (!guard_) return error(StatusCode::kResourceExhausted, "metal: no memory for a device");
    const std::string query = query_of(options);
    const DeviceOptions chosen = {
        .poll_time = Nanoseconds{options.poll_time.value_or(kPollMicroseconds)} * 1000,
        .page = options.page ? *options.page : page_size(),
        .uses_heaps = options.heaps.value_or(0) == 1,
        .managed = options.managed.value_or(0) == 1,
        .split_after = options.split.value_or(kSplitAfter)};
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
                                              domains_of(at), chosen));
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
