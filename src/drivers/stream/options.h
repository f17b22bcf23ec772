// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options in the URIs of stream drivers (docs/drivers/cuda.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/format.h"
#include "drivers/stream/completion.h"
#include "drivers/stream/peers.h"
#include "drivers/stream/recording.h"
#include "hal/device/options.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::stream {

// Options of one device.
struct DeviceOptions {
  bool peers = true;                         // it uses the memory of the other GPUs that let it
  std::optional<CompletionMode> completion;  // default: PhysicalDevice's
  bool cache = true;                         // compiled images are cached on disk
  bool managed = false;            // kHostVisible memory, if the host may touch it at any time
  bool async_allocations = false;  // kDeviceLocal memory comes from a MemoryPool
  std::uint64_t release_threshold = ~std::uint64_t{0};  // of the pool
  CommandBufferMode recordings = CommandBufferMode::kAuto;
  // The default is longer than most submissions take. CUDA's own waits poll without limit if there
  // are enough processors, and a sleeping thread on an H200 host was woken 20 to 130 us late.
  Nanoseconds poll_time = 2'000'000;
};

// The choices have the order of the enumerations.
inline constexpr std::string_view kCommandBufferModes[] = {"auto", "graph", "stream"};
inline constexpr std::string_view kCompletionModes[] = {"host_callback", "event", "flag"};
inline constexpr std::string_view kHostVisibleModes[] = {"pinned", "managed"};
inline constexpr unsigned kMostMebibytes = 1u << 20;
inline constexpr hal::Option kOptions[] = {
    {.name = "async_allocations", .most = 1},
    {.name = "command_buffer_mode", .choices = kCommandBufferModes},
    {.name = "completion_mode", .choices = kCompletionModes},
    {.name = "devices", .least = 1, .most = kMaxDevices},
    {.name = "host_visible", .choices = kHostVisibleModes},
    {.name = "library_path", .is_text = true},
    {.name = "peers", .most = 1},
    {.name = "poll_time", .most = 1'000'000, .unit = " us"},
    {.name = "release_threshold", .most = kMostMebibytes, .unit = " MiB"},
    {.name = "cache", .most = 1},  // of a library that compiles
};

// Messages begin with `driver`. Returns kUnimplemented for two options that exclude each other.
inline Result<DeviceOptions> read_options(const hal::OptionValues& values,
                                          std::string_view driver) {
  DeviceOptions options;
  const auto flag = [&](std::string_view name, bool& option) {
    option = values.get(name, option) == 1;
  };
  flag("async_allocations", options.async_allocations);
  flag("cache", options.cache);
  flag("peers", options.peers);
  flag("host_visible", options.managed);
  options.recordings = static_cast<CommandBufferMode>(values.get("command_buffer_mode", 0));
  if (const auto mode = values.find("completion_mode")) {
    options.completion = static_cast<CompletionMode>(*mode);
  }
  if (const auto microseconds = values.find("poll_time")) {
    options.poll_time = Nanoseconds{*microseconds} * 1000;
  }
  if (const auto mebibytes = values.find("release_threshold")) {
    options.release_threshold = std::uint64_t{*mebibytes} << 20;
  }
  if (options.managed && options.completion == CompletionMode::kFlag) {
    return error(StatusCode::kUnimplemented,
                 "{}: host_visible=managed with completion_mode=flag: a word that a stream has "
                 "written orders no managed memory for the host",
                 driver);
  }
  return options;
}

}  // namespace halyard::inline v0::stream
