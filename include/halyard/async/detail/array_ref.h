// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ArrayRef: a view of a Tensor, Shared or Partition whose element type is a value.
#pragma once

#include "halyard/async/detail/storage.h"
#include "halyard/async/shape.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::async::detail {

struct ArrayRef {
  ArrayRef() noexcept = default;
  template <class Array>
    requires requires(const Array& array) { array.memory(); }
  ArrayRef(const Array& array) noexcept
      : memory(array.memory()),
        shape(array.shape()),
        type(kElementType<typename Array::value_type>) {}
  StorageRange memory;
  Shape shape;
  kernel::ElementType type{};
};

}  // namespace halyard::inline v0::async::detail
