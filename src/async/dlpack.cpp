// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/dlpack.h"

#include <array>
#include <new>

#include "async/device_state.h"
#include "base/format.h"

namespace halyard::inline v0::async::detail {
namespace {

// hal's tensor keeps the buffer; but its memory would go back to its pool with the storage.
template <class Managed>
struct Exported {
  Managed managed;
  Dlpack<Managed> of_buffer;
  Ref<Storage> storage;
};

// `make` is hal's.
template <class Managed>
Status give(Dlpack<Managed>& target, Exporting&& exporting,
            Result<Managed*> (*make)(const hal::BufferView& view)) {
  std::array<std::uint64_t, hal::kMaxTensorRank> sizes{};
  for (std::size_t d = 0; d < exporting.shape.rank(); ++d) sizes[d] = exporting.shape[d];
  HALYARD_ASSIGN_OR_RETURN(
      const hal::BufferView view,
      hal::BufferView::create(exporting.storage->buffer(), exporting.element,
                              {sizes.data(), exporting.shape.rank()}, exporting.offset));
  HALYARD_ASSIGN_OR_RETURN(Managed* const made, make(view));
  Dlpack<Managed> of_buffer(made);
  auto* const exported = new (std::nothrow)
      Exported<Managed>{*made, std::move(of_buffer), std::move(exporting.storage)};
  if (exported == nullptr) {
    return Status(StatusCode::kResourceExhausted, "to_dlpack: no memory for the tensor");
  }
  exported->managed.context = exported;
  exported->managed.deleter = [](Managed* self) {
    delete static_cast<Exported<Managed>*>(self->context);
  };
  target.reset(&exported->managed);
  return {};
}

}  // namespace

Status join_uses(Context& context, const Exporting& exporting) {
  if (!exporting.storage) {
    return Status(StatusCode::kInvalidArgument,
                  "to_dlpack: a tensor that was moved from, or a part or shape that its tensor "
                  "does not have");
  }
  return tracked(exporting.storage.get())
      ->join_to(context, exporting.read_only ? Use::kRead : Use::kWrite);
}

Status export_to(Dlpack<hal::dlpack::ManagedTensor>& target, Exporting exporting) {
  return give(target, std::move(exporting), &hal::to_dlpack);
}

Status export_to(Dlpack<hal::dlpack::ManagedTensorVersioned>& target, Exporting exporting) {
  const std::uint64_t flags = exporting.read_only ? hal::dlpack::kReadOnly : 0;
  HALYARD_RETURN_IF_ERROR(give(target, std::move(exporting), &hal::to_dlpack_versioned));
  target->flags |= flags;
  return {};
}

Result<Ref<Storage>> adopt(Context& context, const hal::BufferView& view,
                           kernel::ElementType element) {
  if (view.element() != element) {
    return error(StatusCode::kInvalidArgument, "from_dlpack: elements of {} for a tensor of {}",
                 to_string(view.element()), to_string(element));
  }
  if (view.rank() > hal::kMaxTensorRank) {
    return error(StatusCode::kInvalidArgument,
                 "from_dlpack: a tensor of {} dimensions; the most is {}", view.rank(),
                 hal::kMaxTensorRank);
  }
  const QueueRef& queue = context.queue();
  HALYARD_ASSIGN_OR_RETURN(Ref<TrackedStorage> storage,
                           queue.device().state()->adopt(*queue.state(), view.buffer()));
  return Ref<Storage>(std::move(storage));
}

}  // namespace halyard::inline v0::async::detail
