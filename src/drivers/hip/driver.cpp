// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/hip/driver.h"

#include <memory>

#include "drivers/hip/device.h"
#include "drivers/stream/driver.h"
#include "hal/device/registry.h"

namespace halyard::inline v0 {

template class stream::Library<hip::HipApi>;
template class stream::Device<hip::HipApi>;

namespace hip {

Status register_hip_driver(hal::DriverRegistry& registry) {
  return registry.add(std::make_unique<stream::Driver<HipApi>>());
}

}  // namespace hip
}  // namespace halyard::inline v0
