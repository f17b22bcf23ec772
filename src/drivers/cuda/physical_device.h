// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PhysicalDevice: what one device of CUDA has, and what it lacks to be a device of Halyard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/cuda/functions.h"
#include "halyard/base/result.h"
#include "halyard/hal/limits.h"

namespace halyard::inline v0::cuda {

inline constexpr std::uint32_t kMaxInFlight = 256;  // native commands in a lane
// What cuLaunchKernel takes on every device: 4096 bytes of parameters, of which each binding is 8.
inline constexpr std::uint32_t kMaxParameterBytes = 4096;

// Images that begin with "cubin-", and this one, are machine code; those of "ptx-" are compiled.
inline constexpr std::string_view kFatbinTarget = "fatbin";

struct PhysicalDevice {
  CUdevice handle = 0;
  std::string name;
  std::string uuid;    // as nvidia-smi -L writes it: "GPU-" and 32 hexadecimal digits in groups
  std::string lacks;   // in words; empty: it can be opened
  int capability = 0;  // 80 for 8.0
  int driver = 0;      // its version, such as 12040
  std::vector<std::string_view> targets;  // images that it runs, best first
  std::uint64_t memory_size = 0;
  std::uint32_t multiprocessors = 0;
  bool registers_memory = false;           // of the host
  bool concurrent_managed = false;         // the host may touch managed memory while it works
  bool writes_values = false;              // of 64 bits, by its streams
  std::uint32_t default_shared_bytes = 0;  // of a block that has not asked for more
  hal::DeviceLimits limits;
};

// The images that a device runs, best first: machine code, kFatbinTarget, PTX. `driver` is the
// version, such as 12040, of the library that compiles PTX.
std::vector<std::string_view> image_targets(int capability, int driver);

// All devices of an initialized driver of that version, such as 12040.
Result<std::vector<PhysicalDevice>> find_physical_devices(const Functions& cuda, int version);

}  // namespace halyard::inline v0::cuda
