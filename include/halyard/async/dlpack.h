// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DLPack: tensors to and from NumPy, PyTorch, JAX and others without a copy (halyard/hal/dlpack.h).
//
//   Dlpack<> x = co_await to_dlpack(std::move(tensor));      x.release() goes into a PyCapsule
//   Tensor<float> y = co_await from_dlpack<float>(Dlpack<>(theirs));
//
// Nobody has to wait for a device. What is exported is delivered when the work that writes it is
// done, and so are, if it was a Tensor, all reads of it: the consumer may use it at once. What is
// imported has to be finished: DLPack asks that of the producer of memory of the host.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"
#include "halyard/hal/dlpack.h"

namespace halyard::inline v0::async {

namespace detail {
struct DeleteDlpack {
  template <class Managed>
  void operator()(Managed* managed) const {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};
}  // namespace detail

// The owner of what consumers and producers exchange: a DLManagedTensorVersioned, or for those that
// know no other a DLManagedTensor, hal::dlpack::ManagedTensor.
template <class Managed = hal::dlpack::ManagedTensorVersioned>
using Dlpack = std::unique_ptr<Managed, detail::DeleteDlpack>;

namespace detail {

// An array's memory on its way out.
struct Exporting {
  Ref<Storage> storage;
  std::uint64_t offset;  // bytes
  Shape shape;
  kernel::ElementType element;
  bool read_only;
};
// Who awaits `context` awaits that the host may use `exporting`.
HALYARD_EXPORT Status join_uses(Context& context, const Exporting& exporting);
// Precondition: all that has been awaited.
HALYARD_EXPORT Status export_to(Dlpack<hal::dlpack::ManagedTensor>& target, Exporting exporting);
HALYARD_EXPORT Status export_to(Dlpack<hal::dlpack::ManagedTensorVersioned>& target,
                                Exporting exporting);
// Memory with elements of that type as a tensor's.
HALYARD_EXPORT Result<Ref<Storage>> adopt(Context& context, const hal::BufferView& view,
                                          kernel::ElementType element);

template <class Managed>
class Export {
 public:
  using Delivered = Dlpack<Managed>;
  explicit Export(Exporting exporting) noexcept : exporting_(std::move(exporting)) {}
  Result<Dlpack<Managed>> deliver() && {
    Dlpack<Managed> target;
    if (Status status = export_to(target, std::move(exporting_)); !status.ok()) return status;
    return target;
  }

 private:
  Exporting exporting_;
};

template <class Managed>
struct CallToDlpack {
  template <class Array>
  Result<Export<Managed>> operator()(Context& context, const Array& array) const {
    using T = typename Array::value_type;
    constexpr bool kOwned = std::is_same_v<Array, Tensor<T>>;
    const StorageRange memory = array.memory();
    Exporting exporting{Ref<Storage>(memory.storage), memory.offset, array.shape(), kElementType<T>,
                        !kOwned};
    if (Status status = join_uses(context, exporting); !status.ok()) return status;
    return Export<Managed>(std::move(exporting));
  }
};

template <Element T, class Managed>
struct CallFromDlpack {
  Result<Tensor<T>> operator()(Context& context) && {
    if (!context.status().ok()) return context.status();
    const auto view = hal::from_dlpack(context.queue().device().hal(), given.get());
    if (!view.ok()) return view.status();
    (void)given.release();  // it is the buffer's now
    Result<Ref<Storage>> storage = adopt(context, *view, kElementType<T>);
    if (!storage.ok()) return storage.status();
    return Tensor<T>(*std::move(storage), hal::Extents(view->shape()));
  }
  Dlpack<Managed> given;
};

template <class T>
inline constexpr bool kExportable = false;
template <class T>
inline constexpr bool kExportable<Tensor<T>> = true;
template <class T>
inline constexpr bool kExportable<Shared<Tensor<T>>> = true;

}  // namespace detail

// `array`, a Tensor or Shared or an operation that gives one, for others to use; only awaiting
// gives it. It owns the memory, or of a Shared a share, until it goes or its deleter is called, on
// any thread: that blocks for nothing. A Shared is marked read-only, which only the versioned form
// can say; whoever receives the other must not write it. kPermissionDenied where the host does not
// see the device's memory: to_host() copies it.
template <class Managed = hal::dlpack::ManagedTensorVersioned, class Array>
auto to_dlpack(Array&& array) {
  constexpr bool kFit = detail::kExportable<typename detail::AsOperation<Array>::Output>;
  static_assert(kFit, "to_dlpack: a Tensor or a Shared, or what gives one");
  if constexpr (kFit) {
    return detail::operation(detail::CallToDlpack<Managed>(), std::forward<Array>(array));
  }
}

// Somebody's tensor, whose deleter is called when the last use of its memory is done, or at once if
// it is refused or the operation is never awaited. kInvalidArgument: its elements are no T, or it
// has more than hal::kMaxTensorRank dimensions; others as hal::from_dlpack, where the memory is
// another device's, strided, misaligned or read-only.
template <Element T, class Managed>
auto from_dlpack(Dlpack<Managed> tensor) {
  return detail::operation(detail::CallFromDlpack<T, Managed>{std::move(tensor)});
}

}  // namespace halyard::inline v0::async
