// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The serial driver: the smallest there is, to read and to copy (docs/add-a-driver.md). Work runs
// on the host, on one thread for each queue, in the order of its issue.
//
// "serial://" names all devices, "serial://K" the one of ordinal K. Options:
//
//   devices=N   how many devices there are: 1 to 64, default 1
//   peers=N     1, the default: devices wait on each other's lanes and use each other's memory, of
//               whatever open. 0: they do neither; each is a wait domain, of which a runtime has 15
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
