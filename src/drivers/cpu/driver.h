// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cpu driver. "cpu://" names all devices, "cpu://K" the device with ordinal K. Options:
//
//   devices=N   the number of devices, 1 to 64; default 1
//   workers=M   threads of each device, 1 to 256; default processors / devices, at least 1
//   affinity=A  none   the system decides where threads run and memory lies; the default
//               core   each worker has a core of its own; default workers: cores / devices
//               node   device i is on NUMA node i modulo the number of nodes: its workers run on
//                      the node's processors. Its memory is on the node, except kHostLocal memory
//                      and less than a page; default workers: the node's processors / its devices
//   strict=S    1   kDeviceLocal memory is hidden from the host, as on most GPUs; the default if
//                   Halyard was built without NDEBUG
//               0   it can be mapped
//
// Processors that the opening thread's affinity excludes are never used. Devices of different opens
// do not avoid each other's cores.
//
// Devices share cores and memory; each has its own threads and queues. All devices, even of
// different opens, form one domain.
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
