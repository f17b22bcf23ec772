// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of a stream driver's URI:
//
//   devices=N            the number of devices, 1 to 64; by default as many as the library has.
//                        With more than that, several devices share a GPU: ordinals start over
//   library_path=FILE    the library to load, instead of the environment's or the driver's default
//   peers=0              devices do not use the memory of other GPUs, even if the library allows
//                        it; copies between them go through the host. Default 1
//   cache=0              compiled images are not cached on disk. Default 1. Only for drivers whose
//                        library compiles
//   host_visible=MODE    kHostVisible memory is pinned host memory (pinned, the default), or
//                        migrates between GPU and host (managed). managed applies if the host may
//                        touch it while the GPU works; otherwise the memory is pinned. Not with
//                        completion_mode=flag
//   async_allocations=1  kDeviceLocal memory comes from a memory pool of the library, so freeing
//                        it never waits for the GPU. kUnavailable without pools. Default 0
//   release_threshold=N  MiB of free memory that this pool keeps. Default: all
//   poll_time=N          a waiting thread polls for N microseconds before it sleeps, up to
//                        1000000; with 0 it polls for about 20. Default 2000
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

struct Options {
  unsigned devices = 0;  // 0: as many as there are
  DeviceOptions device;
  std::string library;  // empty: the default
  std::string text;     // as given: "?devices=2"
};

// Messages begin with `driver`. `compiles`: the option cache exists. Returns kInvalidArgument,
// which names the option, and kUnimplemented for two options that exclude each other.
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
