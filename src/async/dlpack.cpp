// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/detail/dlpack.h"

#include <array>
#include <new>

#include "async/device_state.h"
#include "base/format.h"
#include "halyard/async/buffers.h"

namespace halyard::inline v0::async::detail {
namespace {

// Also keeps the storage alive: hal's tensor keeps the buffer, but the storage's end would return
// the memory to its pool.
template <class Managed>
struct ExportedTensor {
  Managed managed;
  DlpackOwner<Managed> of_buffer;
  Ref<Storage> storage;
};

// `make` is hal::to_dlpack() or hal::to_dlpack_versioned().
template <class Managed>
Status export_by(DlpackOwner<Managed>& target, ExportSource&& source,
                 Result<Managed*> (*make)(const hal::BufferView& view)) {
  std::array<std::uint64_t, hal::kMaxTensorRank> sizes{};
  for (std::size_t d = 0; d < source.shape.rank(); ++d) sizes[d] = source.shape[d];
  HALYARD_ASSIGN_OR_RETURN(
      const hal::BufferView view,
      hal::BufferView::create(source.storage->buffer(), source.element,
                              {sizes.data(), source.shape.rank()}, source.offset));
  HALYARD_ASSIGN_OR_RETURN(Managed* const made, make(view));
  DlpackOwner<Managed> of_buffer(made);
  auto* const exported = new (std::nothrow)
      ExportedTensor<Managed>{*made, std::move(of_buffer), std::move(source.storage)};
  if (exported == nullptr) {
    return Status(StatusCode::kResourceExhausted, "to_dlpack: no memory for the tensor");
  }
  exported->managed.context = exported;
  exported->managed.deleter = [](Managed* self) {
    delete static_cast<ExportedTensor<Managed>*>(self->context);
  };
  target.reset(&exported->managed);
  return {};
}

}  // namespace

Status join_uses(Context& context, const ExportSource& source) {
  if (!source.storage) {
    return Status(StatusCode::kInvalidArgument, "to_dlpack: a tensor that was moved from");
  }
  return tracked(source.storage.get())
      ->join_to(context, source.read_only ? Use::kRead : Use::kWrite);
}

Status export_to(DlpackOwner<hal::dlpack::ManagedTensor>& target, ExportSource source) {
  return export_by(target, std::move(source), &hal::to_dlpack);
}

Status export_to(DlpackOwner<hal::dlpack::ManagedTensorVersioned>& target, ExportSource source) {
  const std::uint64_t flags = source.read_only ? hal::dlpack::kReadOnly : 0;
  HALYARD_RETURN_IF_ERROR(export_by(target, std::move(source), &hal::to_dlpack_versioned));
  target->flags |= flags;
  return {};
}

Result<Ref<Storage>> adopt(Context& context, const hal::BufferView& view,
                           kernel::ElementType element) {
  return adopt_view(context.queue(), view, element, {}, "from_dlpack");
}

}  // namespace halyard::inline v0::async::detail
