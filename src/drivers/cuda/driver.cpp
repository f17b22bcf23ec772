// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/driver.h"

#include <memory>

#include "drivers/cuda/device.h"
#include "drivers/cuda/library.h"
#include "drivers/stream/driver.h"
#include "hal/device/registry.h"

namespace halyard::inline v0 {

template class stream::Library<cuda::CudaApi>;
template class stream::Device<cuda::CudaApi>;

namespace cuda {

Status register_cuda_driver(hal::DriverRegistry& registry) {
  return registry.add(std::make_unique<stream::Driver<CudaApi>>());
}

}  // namespace cuda
}  // namespace halyard::inline v0
