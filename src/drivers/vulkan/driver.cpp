// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/driver.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/mutex.h"
#include "base/number.h"
#include "drivers/vulkan/device.h"
#include "drivers/vulkan/executable.h"
#include "drivers/vulkan/library.h"
#include "drivers/vulkan/native_device.h"
#include "hal/device/host_device.h"
#include "hal/device/registry.h"

namespace halyard::inline v0::vulkan {
namespace {

// An option is absent, or is a number within its bounds.
struct Options {
  std::optional<unsigned> devices, cache, poll_time;
};

struct OptionName {
  std::string_view name;
  std::optional<unsigned> Options::*value;
  unsigned least, most;
};
constexpr OptionName kOptions[] = {{"devices", &Options::devices, 1, kMaxDevices},
                                   {"cache", &Options::cache, 0, 1},
                                   {"poll_time", &Options::poll_time, 0, 1'000'000}};

// For devices other than CPUs: longer than threads take to wake (docs/drivers/cuda.md, completion).
constexpr unsigned kPollMicroseconds = 2000;

Result<Options> read_options(const hal::Uri& uri) {
  Options options;
  for (const auto& [name, value] : uri.options) {
    const auto* const option = std::ranges::find(kOptions, name, &OptionName::name);
    if (option == std::end(kOptions)) {
      return error(
          StatusCode::kInvalidArgument,
          "vulkan: unknown option '{}'; there are cache, check, devices, hang_timeout and poll_time",
          name);
    }
    options.*option->value = base::parse_number(value, option->least, option->most);
    if (!(options.*option->value)) {
      return error(StatusCode::kInvalidArgument, "vulkan: option {} is '{}', not {} to {}", name,
                   value, option->least, option->most);
    }
  }
  return options;
}

// The part of a device's URI with the given options.
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
  info.uri = base::format("vulkan://{}{}", ordinal, query);
  info.driver = "vulkan";
  info.name = physical.name;
  if (physical.lacks.empty()) {
    info.targets.emplace_back(kTarget);
  } else {
    base::append(info.name, " (cannot be opened: it lacks {})", physical.lacks);
  }
  info.memory_size = physical.memory_size;
  info.workers = 1;
  info.limits = limits_of(physical);
  return info;
}

class VulkanDriver final : public hal::Driver {
 public:
  std::string_view name() const noexcept override { return "vulkan"; }

  Result<std::vector<hal::DeviceInfo>> enumerate() override {
    base::LockGuard lock(mutex_);
    std::vector<hal::DeviceInfo> all;
    const Status status = load();
    // No loader, no driver for it, or a loader that is too old.
    if (status.code() == StatusCode::kNotFound || status.code() == StatusCode::kUnavailable) {
      return all;
    }
    HALYARD_RETURN_IF_ERROR(status);
    for (unsigned i = 0; i < library_->devices().size(); ++i) {
      all.push_back(describe(i, library_->devices()[i], ""));
    }
    return all;
  }

  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open(const hal::Uri& uri) override {
    HALYARD_ASSIGN_OR_RETURN(const Options options, read_options(uri));
    base::LockGuard lock(mutex_);
    HALYARD_RETURN_IF_ERROR(load());
    const auto present = static_cast<unsigned>(library_->devices().size());
    if (present == 0) return error(StatusCode::kNotFound, "vulkan: there is no device");
    HALYARD_ASSIGN_OR_RETURN(const hal::Ordinals ordinals,
                             hal::ordinals_of(uri, options.devices.value_or(present)));
    const std::string query = query_of(options);
    std::vector<std::unique_ptr<hal::DeviceImpl>> devices;
    for (unsigned ordinal = ordinals.first; ordinal < ordinals.end; ++ordinal) {
      const unsigned physical = ordinal % present;
      const PhysicalDevice& its = library_->devices()[physical];
      const Nanoseconds microseconds =
          options.poll_time.value_or(its.is_cpu ? 0 : kPollMicroseconds);
      HALYARD_ASSIGN_OR_RETURN(HandleRef<NativeDevice> native, open_.get(library_, physical));
      HALYARD_ASSIGN_OR_RETURN(
          auto device,
          Device::create(describe(ordinal, its, query), std::move(native), domain_of(physical),
                         {.caches_pipelines = options.cache.value_or(1) == 1,
                          .poll_time = microseconds * 1000}));
      devices.push_back(std::move(device));
    }
    return devices;
  }

 private:
  static const void* domain_of(unsigned physical) noexcept {
    static constexpr char kDomains[kMaxDevices] = {};
    return &kDomains[physical % kMaxDevices];
  }

  Status load() {
    if (library_) return {};
    HALYARD_ASSIGN_OR_RETURN(library_, Library::open());
    return {};
  }

  base::Mutex mutex_;  // guards the following members
  Ref<Library> library_;
  OpenDevices open_;
};

}  // namespace

Status register_vulkan_driver(hal::DriverRegistry& registry) {
  return registry.add(std::make_unique<VulkanDriver>());
}

}  // namespace halyard::inline v0::vulkan
