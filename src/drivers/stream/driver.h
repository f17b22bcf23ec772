// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Driver: the devices of a native library by URI. "cuda://" names all devices, and "cuda://K" the
// device with ordinal K in the library's order. A path may also be the identity of a device.
// Options: options.h.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "drivers/stream/device.h"
#include "drivers/stream/device_api.h"
#include "drivers/stream/library.h"
#include "drivers/stream/options.h"
#include "hal/device/driver.h"
#include "hal/device/host_device.h"

namespace halyard::inline v0::stream {

template <DeviceApi Api>
class Driver final : public hal::Driver {
 public:
  std::string_view name() const noexcept override { return Api::kDriver; }

  Result<std::vector<hal::DeviceInfo>> enumerate() override {
    std::vector<hal::DeviceInfo> all;
    const Result<const ItsLibrary*> library = ItsLibrary::open({});
    // No library, no device, or a library that is too old.
    if (library.status().code() == StatusCode::kNotFound ||
        library.status().code() == StatusCode::kUnavailable) {
      return all;
    }
    HALYARD_RETURN_IF_ERROR(library.status());
    const auto& devices = (*library)->devices();
    for (unsigned i = 0; i < devices.size(); ++i) all.push_back(describe(i, devices[i], ""));
    return all;
  }

  std::span<const hal::Option> options() const noexcept override {
    const std::span<const hal::Option> all = kOptions;
    return CompilerApi<Api> ? all : all.first(all.size() - 1);  // the last one is "cache"
  }

  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open_devices(
      const hal::Uri& uri, const hal::OptionValues& values) override {
    HALYARD_ASSIGN_OR_RETURN(const DeviceOptions options, read_options(values, Api::kDriver));
    HALYARD_ASSIGN_OR_RETURN(const ItsLibrary* const library,
                             ItsLibrary::open(values.text("library_path")));
    const auto present = static_cast<unsigned>(library->devices().size());
    HALYARD_ASSIGN_OR_RETURN(const hal::Ordinals ordinals,
                             find_ordinals(uri, *library, values.get("devices", present)));
    std::vector<std::unique_ptr<hal::DeviceImpl>> devices;
    for (unsigned ordinal = ordinals.first; ordinal < ordinals.end; ++ordinal) {
      const unsigned physical = ordinal % present;
      HALYARD_ASSIGN_OR_RETURN(
          auto device,
          Device<Api>::create(describe(ordinal, library->devices()[physical], values.query()),
                              *library, physical, options));
      devices.push_back(std::move(device));
    }
    return devices;
  }

 private:
  using ItsLibrary = Library<Api>;

  static hal::DeviceInfo describe(unsigned ordinal, const PhysicalDevice& physical,
                                  std::string_view options) {
    hal::DeviceInfo info;
    info.uri = base::format("{}://{}{}", Api::kDriver, ordinal, options);
    info.driver = Api::kDriver;
    info.name = physical.name;
    if (physical.lacks.empty()) {
      for (const std::string_view target : physical.targets) info.targets.emplace_back(target);
    } else {
      base::append(info.name, " (cannot be opened: it lacks {})", physical.lacks);
    }
    info.memory_size = physical.memory_size;
    info.workers = physical.multiprocessors;
    info.limits = physical.limits;
    return info;
  }

  // A path may be an identity instead of an ordinal.
  static Result<hal::Ordinals> find_ordinals(const hal::Uri& uri, const ItsLibrary& library,
                                             unsigned count) {
    if (!Api::is_identity(uri.path)) return hal::ordinals_of(uri, count);
    for (unsigned i = 0; i < library.devices().size() && i < count; ++i) {
      if (Api::identity(library.devices()[i]) == uri.path) return hal::Ordinals{i, i + 1};
    }
    return error(StatusCode::kNotFound, "{}: there is no device {}", Api::kDriver, uri.path);
  }
};

}  // namespace halyard::inline v0::stream
