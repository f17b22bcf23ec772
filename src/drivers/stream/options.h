// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a URI chooses of a driver on streams. Options:
//
//   devices=N            how many devices there are: 1 to 64, by default as many as the library
//                        has. Beyond that ordinals begin again with the first: two devices on one
//                        GPU
//   library_path=FILE    the library, instead of the one that the environment or the driver names
//   peers=0              devices do not use the memory of other GPUs, also where the library lets
//                        them; copies between them go through the host. Default 1
//   cache=0              what the library compiles is not kept on disk. Default 1. Only of a driver
//                        whose library compiles
//   host_visible=MODE    memory of kHostVisible is pinned memory of the host (pinned, the default),
//                        or moves between GPU and host (managed), where the host may touch it while
//                        the GPU works; elsewhere it stays pinned. Not with completion_mode=flag
//   async_allocations=1  memory of kDeviceLocal is of a memory pool of the library, and freeing it
//                        never waits for the GPU. kUnavailable where there are no pools. Default 0
//   release_threshold=N  MiB that this pool keeps when they are free. Default: all
//   poll_time=N          a thread that waits polls for N microseconds before it sleeps, up to
//                        1000000; 0: some 20. Default 2000
//   completion_mode=MODE event, flag or host_callback (completion.h). The default is the driver's
//   command_buffer_mode=MODE auto, graph or stream (graph.h). Default auto
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "base/format.h"
#include "base/number.h"
#include "drivers/stream/completion.h"
#include "drivers/stream/peers.h"
#include "drivers/stream/recording.h"
#include "hal/device/uri.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::stream {

// Of a device.
struct DeviceOptions {
  bool peers = true;                         // it uses the memory of the other GPUs that let it
  std::optional<CompletionMode> completion;  // none: as PhysicalDevice says
  bool cache = true;                         // what the library compiles is kept on disk
  bool managed = false;            // kHostVisible memory, where the host may touch it at any time
  bool async_allocations = false;  // kDeviceLocal memory is of a MemoryPool
  std::uint64_t release_threshold = ~std::uint64_t{0};  // of it
  CommandBufferMode recordings = CommandBufferMode::kAuto;
  // By default longer than most submissions take. CUDA's own waits poll without limit where there
  // are processors for it, and a sleeping thread of an H200's host was woken 20 to 130 us late.
  Nanoseconds poll_time = 2'000'000;
};

struct Options {
  unsigned devices = 0;  // 0: as many as there are
  DeviceOptions device;
  std::string library;  // empty: the default
  std::string text;     // as they were given: "?devices=2"
};

// `driver` begins messages. `compiles`: there is the option cache. Errors: kInvalidArgument, naming
// the option; kUnimplemented: two that exclude each other.
inline Result<Options> read_options(const hal::Uri& uri, std::string_view driver, bool compiles) {
  struct ModeName {
    std::string_view name;
    CompletionMode mode;
  };
  static constexpr ModeName kCompletionModes[] = {
      {"event", CompletionMode::kEvent},
      {"flag", CompletionMode::kFlag},
      {"host_callback", CompletionMode::kHostCallback},
  };
  constexpr unsigned kMostMebibytes = 1u << 20;
  constexpr unsigned kMostMicroseconds = 1'000'000;  // of polling

  Options choice;
  for (const auto& [name, value] : uri.options) {
    if (name == "library_path") {
      choice.library = value;
    } else if (name == "devices") {
      const auto number = base::parse_number(value, 1, kMaxDevices);
      if (!number) {
        return error(StatusCode::kInvalidArgument, "{}: option devices is '{}', not 1 to {}",
                     driver, value, kMaxDevices);
      }
      choice.devices = *number;
    } else if (name == "peers" || (compiles && name == "cache") || name == "async_allocations") {
      const auto number = base::parse_number(value, 0, 1);
      if (!number) {
        return error(StatusCode::kInvalidArgument, "{}: option {} is '{}', not 0 or 1", driver,
                     name, value);
      }
      (name == "peers"   ? choice.device.peers
       : name == "cache" ? choice.device.cache
                         : choice.device.async_allocations) = *number == 1;
    } else if (name == "release_threshold") {
      const auto mebibytes = base::parse_number(value, 0, kMostMebibytes);
      if (!mebibytes) {
        return error(StatusCode::kInvalidArgument,
                     "{}: option release_threshold is '{}', not 0 to {} MiB", driver, value,
                     kMostMebibytes);
      }
      choice.device.release_threshold = std::uint64_t{*mebibytes} << 20;
    } else if (name == "poll_time") {
      const auto microseconds = base::parse_number(value, 0, kMostMicroseconds);
      if (!microseconds) {
        return error(StatusCode::kInvalidArgument, "{}: option poll_time is '{}', not 0 to {} us",
                     driver, value, kMostMicroseconds);
      }
      choice.device.poll_time = Nanoseconds{*microseconds} * 1000;
    } else if (name == "host_visible") {
      if (value != "managed" && value != "pinned") {
        return error(StatusCode::kInvalidArgument,
                     "{}: option host_visible is '{}', not managed or pinned", driver, value);
      }
      choice.device.managed = value == "managed";
    } else if (name == "completion_mode") {
      const auto* const mode = std::ranges::find(kCompletionModes, value, &ModeName::name);
      if (mode == std::end(kCompletionModes)) {
        return error(StatusCode::kInvalidArgument,
                     "{}: option completion_mode is '{}', not event, flag or host_callback", driver,
                     value);
      }
      choice.device.completion = mode->mode;
    } else if (name == "command_buffer_mode") {
      HALYARD_ASSIGN_OR_RETURN(choice.device.recordings, parse_command_buffer_mode(value, driver));
    } else {
      return error(StatusCode::kInvalidArgument,
                   "{}: unknown option '{}'; there are async_allocations, {}check, "
                   "command_buffer_mode, completion_mode, devices, hang_timeout, host_visible, "
                   "library_path, peers, poll_time and release_threshold",
                   driver, name, compiles ? "cache, " : "");
    }
    base::append(choice.text, "{}{}={}", choice.text.empty() ? "?" : "&", name, value);
  }
  if (choice.device.managed && choice.device.completion == CompletionMode::kFlag) {
    return error(StatusCode::kUnimplemented,
                 "{}: host_visible=managed with completion_mode=flag: a word that a stream has "
                 "written orders no managed memory for the host",
                 driver);
  }
  return choice;
}

}  // namespace halyard::inline v0::stream
