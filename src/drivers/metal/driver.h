// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The metal driver: GPUs of Apple's systems (docs/drivers/metal.md). So far it has run only on a
// simulated Metal framework.
//
// "metal://" opens all devices and "metal://K" the device of ordinal K, in the order in which this
// process first saw them in Metal's list. Options:
//
//   devices=N   the number of devices, 1 to 64; by default as many as Metal lists. With a greater
//               number, further ordinals open Metal's devices once more, from the first on
//   heaps=1     device memory up to 16 MiB comes from heaps of 64 MiB; default 0
//   managed=1   kHostVisible memory is Managed (managed.h) on devices with memory of their own;
//               default 0
//   page=N      imported memory is widened to pages of N bytes, a power of two from 4096 to 65536;
//               default: the system's page size, and 16384 for the simulated framework
//   poll_time=N a waiting thread polls for N microseconds, up to 1000000, before it sleeps; 0 means
//               about 2. Default 2000 on Apple's systems, and 0 elsewhere, where the framework is
//               simulated by threads on the same processors
//   split=N     a recording is split into command buffers of up to N commands, 1 to 4096;
//               default 64
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
