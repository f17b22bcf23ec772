// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hip driver: AMD GPUs, through libamdhip64 (docs/drivers/hip.md).
//
// "hip://" names all devices, "hip://K" the one of ordinal K, in HIP's order, and
// "hip://0000:03:00.0" the one with this PCI address. The options are those of
// drivers/stream/options.h, without cache. The library is the file that HALYARD_HIP_LIBRARY names
// where the URI does not, else libamdhip64.so.7, .so.6, .so.5 or .so.
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
