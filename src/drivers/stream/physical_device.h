// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PhysicalDevice: properties of one device of a native library, and the requirements of Halyard
// that it lacks. Each driver derives its own type from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/stream/completion.h"
#include "halyard/hal/limits.h"

namespace halyard::inline v0::stream {

struct PhysicalDevice {
  int handle = 0;  // the library's ordinal
  std::string name;
  std::string lacks;                      // in words; empty: it can be opened
  std::vector<std::string_view> targets;  // of images that it runs, best first
  std::uint64_t memory_size = 0;
  std::uint32_t multiprocessors = 0;
  bool registers_memory = false;    // of the host (register_host)
  bool concurrent_managed = false;  // the host may touch managed memory while it works
  bool writes_values = false;       // of 64 bits, by its streams
  CompletionMode completion = CompletionMode::kHostCallback;  // the default of the URI
  hal::DeviceLimits limits;
};

}  // namespace halyard::inline v0::stream
