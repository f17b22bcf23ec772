// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PhysicalDevice: what one device of CUDA has, and what it lacks to be a device of Halyard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/cuda/functions.h"
#include "drivers/stream/physical_device.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::cuda {

inline constexpr std::uint32_t kMaxInFlight = 256;  // native commands in a lane
// What cuLaunchKernel takes on every device: 4096 bytes of parameters, of which each binding is 8.
inline constexpr std::uint32_t kMaxParameterBytes = 4096;

// Images that begin with "cubin-", and this one, are machine code; those of "ptx-" are compiled.
inline constexpr std::string_view kFatbinTarget = "fatbin";

struct PhysicalDevice : stream::PhysicalDevice {
  std::string uuid;    // as nvidia-smi -L writes it: "GPU-" and 32 hexadecimal digits in groups
  int capability = 0;  // 80 for 8.0
  int driver = 0;      // its version, such as 12040
  std::uint32_t default_shared_bytes = 0;  // of a block that has not asked for more
};

// The images that a device runs, best first: machine code, kFatbinTarget, PTX. `driver` is the
// version, such as 12040, of the library that compiles PTX.
std::vector<std::string_view> image_targets(int capability, int driver);

// Initializes a driver, and lists its devices. kNotFound: there are none; kUnavailable: another
// failure of cuInit.
Status start(const Functions& cuda, std::vector<PhysicalDevice>& devices);

}  // namespace halyard::inline v0::cuda
