// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX as the code of a module.
#pragma once

#include <memory>

#include "simulation/cuda/ptx/ptx.h"
#include "simulation/gpu/code.h"

namespace halyard::inline v0::sim::cuda {

std::shared_ptr<const gpu::Code> make_code(std::shared_ptr<const ptx::Module> module);

}  // namespace halyard::inline v0::sim::cuda
