// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cuda driver: NVIDIA GPUs, through the driver API of libcuda (docs/drivers/cuda.md).
//
// "cuda://" names all devices, "cuda://K" the device with ordinal K in CUDA's order, and
// "cuda://GPU-<uuid>" the device with that name in the output of nvidia-smi -L. The options are
// listed in drivers/stream/options.h; cache applies to code that CUDA compiles from PTX. The URI,
// the environment variable HALYARD_CUDA_LIBRARY, or the default libcuda.so.1 names the library, in
// this order.
#pragma once

#include "halyard/base/status.h"

namespace halyard::inline v0 {

namespace hal {
class DriverRegistry;
}

namespace cuda {

Status register_cuda_driver(hal::DriverRegistry& registry);

}  // namespace cuda
}  // namespace halyard::inline v0
