// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/buffers.h"

#include <array>
#include <new>

#include "async/device_state.h"
#include "base/format.h"
#include "halyard/async/detail/submitter.h"

namespace halyard::inline v0::async::detail {
namespace {

// Returns a moment in the past if there is no semaphore.
Result<Moment> moment_of(const ReadyAt& ready, const hal::Queue& queue) {
  if (!ready) return Moment();
  auto timeline = Ref<TreeTimeline>::adopt(new (std::nothrow) TreeTimeline(ready.semaphore, queue));
  if (!timeline) return no_memory();
  return Moment(std::move(timeline), ready.value);
}

}  // namespace

Result<Ref<Storage>> adopt_view(const QueueRef& queue, const hal::BufferView& view,
                                kernel::ElementType element, const ReadyAt& ready,
                                const char* user) {
  HALYARD_RETURN_IF_ERROR(queue.status());
  if (!view.buffer()) return error(StatusCode::kInvalidArgument, "{}: an empty view", user);
  if (view.element() != element) {
    return error(StatusCode::kInvalidArgument, "{}: elements of {} for a tensor of {}", user,
                 to_string(view.element()), to_string(element));
  }
  if (view.rank() > hal::kMaxTensorRank) {
    return error(StatusCode::kInvalidArgument, "{}: a tensor of {} dimensions; the most is {}",
                 user, view.rank(), hal::kMaxTensorRank);
  }
  hal::Buffer buffer = view.buffer();
  if (view.offset() != 0) {
    HALYARD_ASSIGN_OR_RETURN(buffer, buffer.subspan(view.offset(), view.size()));
  }
  QueueState& state = *queue.state();
  HALYARD_ASSIGN_OR_RETURN(const Moment written, moment_of(ready, state.queue));
  HALYARD_ASSIGN_OR_RETURN(Ref<TrackedStorage> storage,
                           queue.device().state()->adopt(state, std::move(buffer)));
  storage->note_use(Use::kWrite, written);
  return Ref<Storage>(std::move(storage));
}

Result<LentMemory> lend(const StorageRange& memory, const Shape& shape, kernel::ElementType element,
                        bool for_writes) {
  if (memory.storage == nullptr) {
    return Status(StatusCode::kInvalidArgument, "lend_buffer: a tensor that was moved from");
  }
  TrackedStorage& storage = *tracked(memory.storage);
  if (storage.is_slot()) {
    return Status(StatusCode::kInvalidArgument,
                  "lend_buffer: an argument of a function that was recorded");
  }
  std::array<std::uint64_t, hal::kMaxTensorRank> sizes{};
  for (std::size_t d = 0; d < shape.rank(); ++d) sizes[d] = shape[d];
  LentMemory lent;
  HALYARD_ASSIGN_OR_RETURN(
      lent.view, hal::BufferView::create(storage.buffer(), element, {sizes.data(), shape.rank()},
                                         memory.offset));
  Submitter context(storage.last_queue());
  HALYARD_RETURN_IF_ERROR(storage.join_to(context, for_writes ? Use::kWrite : Use::kRead));
  HALYARD_ASSIGN_OR_RETURN(const Moment end, context.end());
  if (end) lent.ready = {end.semaphore(), end.value()};
  return lent;
}

Status give_back(Storage& storage, const ReadyAt& done, bool for_writes) {
  TrackedStorage& own = *tracked(&storage);
  if (!done) return {};
  HALYARD_ASSIGN_OR_RETURN(const Moment moment, moment_of(done, own.last_queue().state()->queue));
  own.note_use(for_writes ? Use::kWrite : Use::kRead, moment);
  return {};
}

}  // namespace halyard::inline v0::async::detail
