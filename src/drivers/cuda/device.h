// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device: the primary context of one device of CUDA, and lanes in it.
#pragma once

#include "drivers/cuda/library.h"
#include "drivers/stream/device.h"

namespace halyard::inline v0 {

extern template class stream::Device<cuda::CudaApi>;  // driver.cpp

namespace cuda {

using Device = stream::Device<CudaApi>;
using stream::DeviceOptions;

}  // namespace cuda
}  // namespace halyard::inline v0
