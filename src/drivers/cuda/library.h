// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library: one libcuda that is loaded and initialized, with its devices.
#pragma once

#include "drivers/cuda/api.h"
#include "drivers/stream/library.h"

namespace halyard::inline v0 {

extern template class stream::Library<cuda::CudaApi>;  // driver.cpp

namespace cuda {

using Library = stream::Library<CudaApi>;

}  // namespace cuda
}  // namespace halyard::inline v0
