// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies as HIP describes them, for calls and for nodes of graphs. The State is locked.
#pragma once

#include "simulation/gpu/types.h"
#include "simulation/hip/call.h"

namespace halyard::inline v0::sim::hip {

bool is_copy_kind(int kind);

// Copies consecutive bytes; with `waits`, the call returns at the end of the copy.
Result copy_linear(Call& call, void* dst, const void* src, std::size_t size, int kind,
                   Stream stream, bool waits);

// Converts hipMemcpy3DParms, or HIP_MEMCPY3D in the layout of the version. Returns kNotSupported
// for arrays.
Result convert(const Copy3D& from, gpu::Copy3D& to);
Result convert_driver_copy(const void* from, gpu::Copy3D& to);

}  // namespace halyard::inline v0::sim::hip
