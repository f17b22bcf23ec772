// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA arrays: memory that copies address by coordinates. Their layout is opaque; here it is
// linear.
#pragma once

#include "simulation/gpu/call.h"

namespace halyard::inline v0::sim::gpu {

struct ArrayState {
  static constexpr Kind kKind = Kind::kArray;
  static constexpr const char* kName = "array";

  Array3D shape{};
  std::size_t element_bytes = 0;
  DevicePointer address = 0;
  ContextState* context = nullptr;

  std::size_t row_bytes() const { return shape.width * element_bytes; }
  std::size_t rows() const { return shape.height != 0 ? shape.height : 1; }
  std::size_t slices() const { return shape.depth != 0 ? shape.depth : 1; }
};

// Replaces arrays in a copy by their memory, after a check of the extent. The State is locked.
Result resolve_arrays(Copy3D& copy);
// Restores the copy as the program described it.
Copy3D with_arrays(Copy3D copy);

// Creates an array in the call's context.
Result create_array(Call& call, Array* array, const Array3D& shape);
Result destroy_array(Call& call, Array handle);

}  // namespace halyard::inline v0::sim::gpu
