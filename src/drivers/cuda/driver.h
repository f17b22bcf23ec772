// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cuda driver: NVIDIA GPUs, through the driver API of libcuda (docs/drivers/cuda.md).
//
// "cuda://" names all devices, "cuda://K" the one of ordinal K, in CUDA's order, and
// "cuda://GPU-<uuid>" the one that nvidia-smi -L lists so. The options are those of
// drivers/stream/options.h, of which cache is of what CUDA compiles from PTX. The library is the
// file that HALYARD_CUDA_LIBRARY names where the URI does not, else libcuda.so.1.
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
