// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cpu driver. "cpu://" names all devices, "cpu://K" the device with ordinal K. Options:
// docs/drivers/cpu.md.
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
