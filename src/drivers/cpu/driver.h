// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cpu driver. "cpu://" names all devices, "cpu://K" the one of ordinal K. Options:
//
//   devices=N   how many devices there are: 1 to 64, default 1
//   workers=M   threads of each: 1 to 256, default processors / devices, at least 1
//   affinity=A  none   the system decides where threads run and memory lies; the default
//               core   each worker has a core of its own; default workers: cores / devices
//               node   device i is on NUMA node i modulo their number: its workers run on the
//                      node's processors, and its memory of a page or more, but kHostLocal, is the
//                      node's; default workers: the node's processors / its devices
//   strict=S    1   kDeviceLocal memory is hidden from the host, as on most GPUs; the default where
//                   Halyard was built without NDEBUG
//               0   it can be mapped
//
// Processors that the opening thread's affinity excludes are never used. Devices of different opens
// do not know of each other's cores.
//
// Devices share cores and memory; each has threads and queues of its own. All of them, also of
// different opens, are one domain.
#pragma once

#include <memory>

#include "hal/device/driver.h"

namespace halyard::inline v0 {

namespace hal {
class DriverRegistry;
}

namespace cpu {

inline constexpr unsigned kMaxDevices = 64;

std::unique_ptr<hal::Driver> make_cpu_driver();
Status register_cpu_driver(hal::DriverRegistry& registry);

}  // namespace cpu
}  // namespace halyard::inline v0
