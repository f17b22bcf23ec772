// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The serial driver: the smallest driver, an example to read and to copy (docs/add-a-driver.md).
// Work runs on the host, on one thread for each queue, in the order of its issue.
//
// "serial://" names all devices, "serial://K" the device with ordinal K. Options:
// docs/drivers/cpu.md. With peers=0 each device is a wait domain of its own, of which a runtime has
// at most 15.
#pragma once

#include "halyard/base/status.h"

namespace halyard::inline v0 {

namespace hal {
class DriverRegistry;
}

namespace serial {

inline constexpr unsigned kMaxDevices = 64;

Status register_serial_driver(hal::DriverRegistry& registry);

}  // namespace serial
}  // namespace halyard::inline v0
