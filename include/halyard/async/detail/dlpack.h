// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of dlpack.h.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/detail/storage.h"
#include "halyard/async/shape.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer_view.h"
#include "halyard/hal/dlpack.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::async::detail {

struct DeleteDlpack {
  template <class Managed>
  void operator()(Managed* managed) const {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};
template <class Managed>
using DlpackOwner = std::unique_ptr<Managed, DeleteDlpack>;

// An array that is to be exported.
struct ExportSource {
  Ref<Storage> storage;
  std::uint64_t offset;  // bytes
  Shape shape;
  kernel::ElementType element;
  bool read_only;
};
// Joins to `context` the uses that must be done before the host may use `source`.
HALYARD_EXPORT Status join_uses(Context& context, const ExportSource& source);
// Precondition: those uses are done.
HALYARD_EXPORT Status export_to(DlpackOwner<hal::dlpack::ManagedTensor>& target,
                                ExportSource source);
HALYARD_EXPORT Status export_to(DlpackOwner<hal::dlpack::ManagedTensorVersioned>& target,
                                ExportSource source);
// Makes a tensor's storage of imported memory. kInvalidArgument for other elements than `element`.
HALYARD_EXPORT Result<Ref<Storage>> adopt(Context& context, const hal::BufferView& view,
                                          kernel::ElementType element);

template <class Managed>
class DlpackExport {
 public:
  using Delivered = DlpackOwner<Managed>;
  explicit DlpackExport(ExportSource source) noexcept : source_(std::move(source)) {}
  Result<DlpackOwner<Managed>> deliver() && {
    DlpackOwner<Managed> target;
    if (Status status = export_to(target, std::move(source_)); !status.ok()) return status;
    return target;
  }

 private:
  ExportSource source_;
};

template <class Managed>
struct CallToDlpack {
  template <class Array>
  Result<DlpackExport<Managed>> operator()(Context& context, const Array& array) const {
    using T = typename Array::value_type;
    constexpr bool kOwned = std::is_same_v<Array, Tensor<T>>;
    const StorageRange memory = array.memory();
    ExportSource source{Ref<Storage>(memory.storage), memory.offset, array.shape(), kElementType<T>,
                        !kOwned};
    if (Status status = join_uses(context, source); !status.ok()) return status;
    return DlpackExport<Managed>(std::move(source));
  }
};

template <Element T, class Managed>
struct CallFromDlpack {
  Result<Tensor<T>> operator()(Context& context) && {
    if (!context.status().ok()) return context.status();
    const auto view = hal::from_dlpack(context.queue().device().hal(), given.get());
    if (!view.ok()) return view.status();
    (void)given.release();  // the buffer owns it now
    Result<Ref<Storage>> storage = adopt(context, *view, kElementType<T>);
    if (!storage.ok()) return storage.status();
    return Tensor<T>(*std::move(storage), hal::Extents(view->shape()));
  }
  DlpackOwner<Managed> given;
};

template <class T>
inline constexpr bool kExportable = false;
template <class T>
inline constexpr bool kExportable<Tensor<T>> = true;
template <class T>
inline constexpr bool kExportable<Shared<Tensor<T>>> = true;

}  // namespace halyard::inline v0::async::detail
