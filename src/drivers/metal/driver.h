// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The metal driver: GPUs of Apple's systems (docs/drivers/metal.md). It has run on a simulated
// Metal framework only.
//
// "metal://" names all devices, "metal://K" the one of ordinal K, in the order of Metal's list as
// this process first saw them. Options:
//
//   devices=N   how many devices there are: 1 to 64, by default as many as Metal has. Beyond that
//               ordinals begin again with the first one: two devices on one GPU
//   heaps=1     memory of the device up to 16 MiB comes from heaps of 64 MiB; 0 by default
//   page=N      imported memory is widened to pages of N bytes, a power of two from 4096 to 65536;
//               by default the system's, and 16384 for the simulated framework
//   poll_time=N a thread that waits polls for N microseconds before it sleeps, up to 1000000;
//               0: some 2. Default 2000 on Apple's systems, and 0 elsewhere: there the framework
//               is simulated, by threads of the same processors
//   split=N     a recording goes into command buffers of up to N commands, 1 to 4096; 64 by default
#pragma once

#include "halyard/base/status.h"

namespace halyard::inline v0 {

namespace hal {
class DriverRegistry;
}

namespace metal {

inline constexpr unsigned kMaxDevices = 64;

Status register_metal_driver(hal::DriverRegistry& registry);

}  // namespace metal
}  // namespace halyard::inline v0
