// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device, Library: those of the stream driver, over HIP.
#pragma once

#include "drivers/hip/api.h"
#include "drivers/stream/device.h"
#include "drivers/stream/library.h"

namespace halyard::inline v0 {

extern template class stream::Library<hip::HipApi>;  // driver.cpp
extern template class stream::Device<hip::HipApi>;

namespace hip {

using Device = stream::Device<HipApi>;
using Library = stream::Library<HipApi>;
using stream::DeviceOptions;

}  // namespace hip
}  // namespace halyard::inline v0
