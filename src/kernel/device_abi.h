// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calling conventions of images for GPUs. Of all: workgroups have the size that the reflection
// says, and bindings and constants its order.
#pragma once

#include <string_view>

namespace halyard::inline v0::kernel {

// PTX and AMD code objects. An entry has the kernel's name. A launch gives it one packed buffer:
// the device address of each binding, 8 bytes each, then the struct of constants at their offsets;
// nothing behind it. This is how CUDA (CU_LAUNCH_PARAM_BUFFER_POINTER) and the HSA kernel argument
// segment lay out a C parameter list of pointers and then scalars, so kernels of nvcc and hipcc
// that have such a list are of this convention too.
inline constexpr std::string_view kKernargConvention = "hy-kernarg-1";

}  // namespace halyard::inline v0::kernel
