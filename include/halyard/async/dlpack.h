// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DLPack: tensors to and from NumPy, PyTorch, JAX and others without a copy (halyard/hal/dlpack.h).
//
//   Dlpack<> x = co_await to_dlpack(std::move(tensor));      x.release() goes into a PyCapsule
//   Tensor<float> y = co_await from_dlpack<float>(Dlpack<>(theirs));
//
// Neither side waits for a device. The await of an export completes once the array is written and,
// for a Tensor, all its reads are done: the consumer may use it at once. An imported tensor must be
// finished, as DLPack requires of the producers of host memory; that of a CUDA device, too.
#pragma once

#include <type_traits>
#include <utility>

#include "halyard/async/detail/dlpack.h"
#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/tensor.h"
#include "halyard/hal/dlpack.h"

namespace halyard::inline v0::async {

// The owner of an exchanged tensor: a DLManagedTensorVersioned or, for libraries without that, a
// DLManagedTensor (hal::dlpack::ManagedTensor).
template <class Managed = hal::dlpack::ManagedTensorVersioned>
using Dlpack = detail::DlpackOwner<Managed>;

// Exports `array`: a Tensor or Shared, or an operation that returns one. Awaiting returns a Dlpack.
// It owns the memory, or a share of it. Any thread may drop it or call its deleter, which never
// blocks. A Shared is exported read-only. Only the versioned form can say so;
// receivers of the other form must not write. Memory of a cuda device is exported as such.
// kPermissionDenied if the host cannot access memory of another device; use to_host() instead.
template <class Managed = hal::dlpack::ManagedTensorVersioned, class Array>
auto to_dlpack(Array&& array) {
  constexpr bool kFit = detail::kExportable<typename detail::AsOperation<Array>::Output>;
  static_assert(kFit, "to_dlpack: a Tensor or a Shared, or an operation that returns one");
  if constexpr (kFit) {
    return detail::operation(detail::CallToDlpack<Managed>(), std::forward<Array>(array));
  } else {
    return detail::refused<Dlpack<Managed>>();
  }
}

// Imports the tensor of another library. Its deleter is called, by any thread, after the last use
// of its memory; soon, and perhaps after the error has been returned, if the import fails; and at
// once if the operation is never awaited. kInvalidArgument if its elements are no T or it has more
// than hal::kMaxTensorRank dimensions. Other errors as hal::from_dlpack, for memory of another
// device and for strided, misaligned or read-only memory.
template <Element T, class Managed>
auto from_dlpack(Dlpack<Managed> tensor) {
  return detail::operation(detail::CallFromDlpack<T, Managed>{std::move(tensor)});
}

}  // namespace halyard::inline v0::async
