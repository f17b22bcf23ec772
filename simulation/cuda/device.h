// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The identities of devices.
#pragma once

#include <string>

#include "simulation/cuda/abi.h"

namespace halyard::inline v0::sim::cuda {

// "GPU-" and the digits of the UUID, as nvidia-smi prints it.
std::string uuid_text(int device);

}  // namespace halyard::inline v0::sim::cuda
