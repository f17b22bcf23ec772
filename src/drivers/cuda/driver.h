// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cuda driver: NVIDIA GPUs, through the driver API of libcuda (docs/drivers/cuda.md).
//
// "cuda://" names all devices, "cuda://K" the one of ordinal K, in CUDA's order, and
// "cuda://GPU-<uuid>" the one that nvidia-smi -L lists so. Options:
//
//   devices=N            how many devices there are: 1 to 64, by default as many as CUDA has.
//                        Beyond that ordinals begin again with the first: two devices on one GPU
//   library_path=FILE    the library; by default the file that HALYARD_CUDA_LIBRARY names, else
//                        libcuda.so.1
//   peers=0              devices do not use the memory of other GPUs, also where CUDA lets them;
//                        copies between them go through the host. Default 1
//   cache=0              what CUDA compiles from PTX is not kept on disk. Default 1
//   host_visible=MODE    memory of kHostVisible is pinned memory of the host (pinned, the default),
//                        or moves between GPU and host (managed), where the host may touch it while
//                        the GPU works; elsewhere it stays pinned. Not with completion_mode=flag
//   async_allocations=1  memory of kDeviceLocal is of a memory pool of CUDA, and freeing it never
//                        waits for the GPU. kUnavailable where CUDA has no pools. Default 0
//   release_threshold=N  MiB that this pool keeps when they are free. Default: all
//   poll_time=N          a thread that waits polls for N microseconds before it sleeps, up to
//                        1000000; 0: some 20. Default 2000
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
