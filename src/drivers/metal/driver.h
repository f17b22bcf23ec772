// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The metal driver: GPUs of Apple's systems (docs/drivers/metal.md). So far it has run only on a
// simulated Metal framework.
//
// "metal://" opens all devices and "metal://K" the device of ordinal K, in the order in which this
// process first saw them in Metal's list.
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
