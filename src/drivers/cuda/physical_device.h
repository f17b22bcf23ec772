// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PhysicalDevice: properties of one CUDA device, and the requirements of Halyard that it lacks.
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
// Every device takes 4096 bytes of parameters in cuLaunchKernel; each binding takes 8 of them.
inline constexpr std::uint32_t kMaxParameterBytes = 4096;

// Targets that begin with "cubin-", and this one, are machine code; "ptx-" targets are compiled.
inline constexpr std::string_view kFatbinTarget = "fatbin";

struct PhysicalDevice : stream::PhysicalDevice {
  std::string uuid;    // as nvidia-smi -L writes it: "GPU-" and 32 hexadecimal digits in groups
  int capability = 0;  // 80 for 8.0
  int driver = 0;      // its version, such as 12040
  std::uint32_t default_shared_bytes = 0;  // of a block without a larger limit
};

// The images that a device runs, best first: machine code, kFatbinTarget, PTX. `driver` is the
// version, such as 12040, of the library that compiles PTX.
std::vector<std::string_view> image_targets(int capability, int driver);

// Initializes a driver, and lists its devices. Returns kNotFound if there are none, and
// kUnavailable for any other failure of cuInit.
Status start(const Functions& cuda, std::vector<PhysicalDevice>& devices);

}  // namespace halyard::inline v0::cuda
