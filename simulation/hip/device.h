// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Properties of devices. The figures are those of a Radeon RX 7900 XTX, with fewer compute units
// and less memory.
#pragma once

#include <string>
#include <vector>

#include "simulation/hip/call.h"

namespace halyard::inline v0::sim::hip {

// The devices, of `count`, that the process sees, in order: ROCR_VISIBLE_DEVICES selects first,
// then HIP_VISIBLE_DEVICES selects among those, or CUDA_VISIBLE_DEVICES if that is not set. Read at
// the first call.
std::vector<int> visible_devices(int count);

// The device's unique id, of 16 hexadecimal digits. `index` counts all devices, including invisible
// ones.
std::string unique_id(int index);

// True if the bug was asked for by name or, in adversarial mode, chosen by the seed.
bool has_bug(Bug bug);

// Precondition: gpu::is_device. The State is locked.
Properties properties_of(DeviceId device);

inline constexpr int kWarpSize = 32;
inline constexpr int kLdsBytes = 65536;  // of a workgroup, and of a compute unit
inline constexpr int kMaxThreads = 1024;
inline constexpr unsigned kMaxGridX = 2147483647, kMaxGridYZ = 65536;
inline constexpr int kThreadsPerMultiprocessor = 2048;
inline constexpr int kVectorRegisters = 1536;  // of a SIMD lane, RDNA3

}  // namespace halyard::inline v0::sim::hip
