// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies and memsets. The State is locked.
#pragma once

#include "simulation/gpu/call.h"

namespace halyard::inline v0::sim::gpu {

// Checks the parameters of a copy, and fills in pitches that were left out, and the memory of
// arrays.
Result check_copy(Copy3D& copy);

// Whether a call returns before its copy has ended.
enum class Waits : std::uint8_t { kNever, kAlways };
Result copy_memory(Call& call, Copy3D copy, Stream handle, Waits waits);

// A copy of consecutive bytes. Addresses of type kHost are host addresses.
struct Linear {
  MemoryType dst_type;
  DevicePointer dst;
  MemoryType src_type;
  DevicePointer src;
  std::size_t size;
};
Result copy_memory(Call& call, const Linear& linear, Stream handle, Waits waits);
Copy3D from_linear(const Linear& linear);

// Copies between the memories of two contexts.
Result copy_peer(Call& call, DevicePointer dst, Context dst_context, DevicePointer src,
                 Context src_context, std::size_t size, Stream stream, Waits waits);

// A memset of `height` rows of `width` elements.
Result fill_memory(Call& call, const Fill& fill, Stream handle, Waits waits);

}  // namespace halyard::inline v0::sim::gpu
