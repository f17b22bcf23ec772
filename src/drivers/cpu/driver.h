// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cpu driver. "cpu://" names all devices, "cpu://K" the one of ordinal K. Options:
//
//   devices=N   how many devices there are: 1 to 64, default 1
//   workers=M   threads of each: 1 to 256, default cores / devices, at least 1
//
// Devices share cores and memory; each has threads and queues of its own. All of them, also of
// different opens, are one domain.
#pragma once

#include <memory>

#include "hal/driver.h"

namespace halyard::inline v0::cpu {

inline constexpr unsigned kMaxDevices = 64;

std::unique_ptr<hal::Driver> make_cpu_driver();

}  // namespace halyard::inline v0::cpu
