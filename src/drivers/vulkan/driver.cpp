// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/driver.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/mutex.h"
#include "drivers/vulkan/device.h"
#include "drivers/vulkan/executable.h"
#include "drivers/vulkan/library.h"
#include "drivers/vulkan/native_device.h"
#include "hal/device/host_device.h"
#include "hal/device/registry.h"

namespace halyard::inline v0::vulkan {
namespace {

constexpr hal::Option kOptions[] = {{.name = "cache", .most = 1},
                                    {.name = "devices", .least = 1, .most = kMaxDevices},
                                    {.name = "poll_time", .most = 1'000'000, .unit = " us"}};

// For devices other than CPUs: longer than threads take to wake (docs/drivers/cuda.md, completion).
constexpr unsigned kPollMicroseconds = 2000;

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

  std::span<const hal::Option> options() const noexcept override { return kOptions; }

  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open_devices(
      const hal::Uri& uri, const hal::OptionValues& options) override {
    base::LockGuard lock(mutex_);
    HALYARD_RETURN_IF_ERROR(load());
    const auto present = static_cast<unsigned>(library_->devices().size());
    if (present == 0) return error(StatusCode::kNotFound, "vulkan: there is no device");
    HALYARD_ASSIGN_OR_RETURN(const hal::Ordinals ordinals,
                             hal::ordinals_of(uri, options.get("devices", present)));
    const std::string query = options.query();
    std::vector<std::unique_ptr<hal::DeviceImpl>> devices;
    for (unsigned ordinal = ordinals.first; ordinal < ordinals.end; ++ordinal) {
      const unsigned physical = ordinal % present;
      const PhysicalDevice& its = library_->devices()[physical];
      const Nanoseconds microseconds = options.get("poll_time", its.is_cpu ? 0 : kPollMicroseconds);
      HALYARD_ASSIGN_OR_RETURN(HandleRef<NativeDevice> native, open_.get(library_, physical));
      HALYARD_ASSIGN_OR_RETURN(
          auto device,
          Device::create(describe(ordinal, its, query), std::move(native), domain_of(physical),
                         {.caches_pipelines = options.get("cache", 1) == 1,
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
