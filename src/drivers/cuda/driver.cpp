// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/driver.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/number.h"
#include "drivers/cuda/device.h"
#include "drivers/cuda/library.h"
#include "hal/host_device.h"
#include "hal/registry.h"

namespace halyard::inline v0::cuda {
namespace {

struct Choice {
  unsigned devices = 0;  // 0: as many as there are
  DeviceOptions device;
  std::string library;  // empty: the default
  std::string options;  // as they were given: "?devices=2"
};

struct ModeName {
  std::string_view name;
  stream::CompletionMode mode;
};
constexpr ModeName kCompletionModes[] = {
    {"event", stream::CompletionMode::kEvent},
    {"flag", stream::CompletionMode::kFlag},
    {"host_callback", stream::CompletionMode::kHostCallback},
};

constexpr unsigned kMostMebibytes = 1u << 20;
constexpr unsigned kMostMicroseconds = 1'000'000;  // of polling

Result<Choice> read_options(const hal::Uri& uri) {
  Choice choice;
  for (const auto& [name, value] : uri.options) {
    if (name == "library_path") {
      choice.library = value;
    } else if (name == "devices") {
      const auto number = base::parse_number(value, 1, kMaxDevices);
      if (!number) {
        return error(StatusCode::kInvalidArgument, "cuda: option devices is '{}', not 1 to {}",
                     value, kMaxDevices);
      }
      choice.devices = *number;
    } else if (name == "peers" || name == "cache" || name == "async_allocations") {
      const auto number = base::parse_number(value, 0, 1);
      if (!number) {
        return error(StatusCode::kInvalidArgument, "cuda: option {} is '{}', not 0 or 1", name,
                     value);
      }
      (name == "peers"   ? choice.device.peers
       : name == "cache" ? choice.device.cache
                         : choice.device.async_allocations) = *number == 1;
    } else if (name == "release_threshold") {
      const auto mebibytes = base::parse_number(value, 0, kMostMebibytes);
      if (!mebibytes) {
        return error(StatusCode::kInvalidArgument,
                     "cuda: option release_threshold is '{}', not 0 to {} MiB", value,
                     kMostMebibytes);
      }
      choice.device.release_threshold = std::uint64_t{*mebibytes} << 20;
    } else if (name == "poll_time") {
      const auto microseconds = base::parse_number(value, 0, kMostMicroseconds);
      if (!microseconds) {
        return error(StatusCode::kInvalidArgument, "cuda: option poll_time is '{}', not 0 to {} us",
                     value, kMostMicroseconds);
      }
      choice.device.poll_time = Nanoseconds{*microseconds} * 1000;
    } else if (name == "host_visible") {
      if (value != "managed" && value != "pinned") {
        return error(StatusCode::kInvalidArgument,
                     "cuda: option host_visible is '{}', not managed or pinned", value);
      }
      choice.device.managed = value == "managed";
    } else if (name == "completion_mode") {
      const auto* const mode = std::ranges::find(kCompletionModes, value, &ModeName::name);
      if (mode == std::end(kCompletionModes)) {
        return error(StatusCode::kInvalidArgument,
                     "cuda: option completion_mode is '{}', not event, flag or host_callback",
                     value);
      }
      choice.device.completion = mode->mode;
    } else if (name == "command_buffer_mode") {
      HALYARD_ASSIGN_OR_RETURN(choice.device.recordings,
                               stream::parse_command_buffer_mode(value, CudaApi::kDriver));
    } else {
      return error(StatusCode::kInvalidArgument,
                   "cuda: unknown option '{}'; there are async_allocations, cache, check, "
                   "command_buffer_mode, completion_mode, devices, hang_timeout, host_visible, "
                   "library_path, peers, poll_time and release_threshold",
                   name);
    }
    base::append(choice.options, "{}{}={}", choice.options.empty() ? "?" : "&", name, value);
  }
  if (choice.device.managed && choice.device.completion == stream::CompletionMode::kFlag) {
    return Status(StatusCode::kUnimplemented,
                  "cuda: host_visible=managed with completion_mode=flag: a word that a stream has "
                  "written orders no managed memory for the host");
  }
  return choice;
}

hal::DeviceInfo describe(unsigned ordinal, const PhysicalDevice& physical,
                         std::string_view options) {
  hal::DeviceInfo info;
  info.uri = base::format("cuda://{}{}", ordinal, options);
  info.driver = "cuda";
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

// A path may be a UUID instead of an ordinal.
Result<hal::Ordinals> find_ordinals(const hal::Uri& uri, const Library& library, unsigned count) {
  if (!uri.path.starts_with("GPU-")) return hal::ordinals_of(uri, count);
  for (unsigned i = 0; i < library.devices().size() && i < count; ++i) {
    if (library.devices()[i].uuid == uri.path) return hal::Ordinals{i, i + 1};
  }
  return error(StatusCode::kNotFound, "cuda: there is no device {}", uri.path);
}

class CudaDriver final : public hal::Driver {
 public:
  std::string_view name() const noexcept override { return "cuda"; }

  Result<std::vector<hal::DeviceInfo>> enumerate() override {
    std::vector<hal::DeviceInfo> all;
    const Result<const Library*> library = Library::open({});
    // No library, no device, or a driver that is too old.
    if (library.status().code() == StatusCode::kNotFound ||
        library.status().code() == StatusCode::kUnavailable) {
      return all;
    }
    HALYARD_RETURN_IF_ERROR(library.status());
    const auto& devices = (*library)->devices();
    for (unsigned i = 0; i < devices.size(); ++i) all.push_back(describe(i, devices[i], ""));
    return all;
  }

  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open(const hal::Uri& uri) override {
    HALYARD_ASSIGN_OR_RETURN(const Choice choice, read_options(uri));
    HALYARD_ASSIGN_OR_RETURN(const Library* const library, Library::open(choice.library));
    const auto present = static_cast<unsigned>(library->devices().size());
    HALYARD_ASSIGN_OR_RETURN(
        const hal::Ordinals ordinals,
        find_ordinals(uri, *library, choice.devices != 0 ? choice.devices : present));
    std::vector<std::unique_ptr<hal::DeviceImpl>> devices;
    for (unsigned ordinal = ordinals.first; ordinal < ordinals.end; ++ordinal) {
      const unsigned physical = ordinal % present;
      HALYARD_ASSIGN_OR_RETURN(
          auto device,
          Device::create(describe(ordinal, library->devices()[physical], choice.options), *library,
                         physical, choice.device));
      devices.push_back(std::move(device));
    }
    return devices;
  }
};

}  // namespace

Status register_cuda_driver(hal::DriverRegistry& registry) {
  return registry.add(std::make_unique<CudaDriver>());
}

}  // namespace halyard::inline v0::cuda
