// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hip driver: AMD GPUs, through libamdhip64 (docs/drivers/hip.md).
//
// "hip://" names all devices, "hip://K" the device with ordinal K in HIP's order, and
// "hip://0000:03:00.0" the device with this PCI address. The options are listed in
// drivers/stream/options.h, except cache. The URI or the environment variable HALYARD_HIP_LIBRARY
// names the library; the default is libamdhip64.so.7, .so.6, .so.5 or .so.
#pragma once

#include "halyard/base/status.h"

namespace halyard::inline v0 {

namespace hal {
class DriverRegistry;
}

namespace hip {

Status register_hip_driver(hal::DriverRegistry& registry);

}  // namespace hip
}  // namespace halyard::inline v0
