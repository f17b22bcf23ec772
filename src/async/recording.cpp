// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/recording.h"

#include <algorithm>
#include <new>

#include "async/shape.h"
#include "base/format.h"
#include "halyard/async/recorded.h"

namespace halyard::inline v0::async::detail {

Result<Ref<Storage>> Recording::add_slot(const hal::Extents& shape, std::uint64_t size) {
  HALYARD_ASSIGN_OR_RETURN(Ref<TrackedStorage> storage, device_->create_slot());
  if (!slots_.make_room(1) || !histories_.push_back({.storage = storage})) return no_memory();
  (void)slots_.push_back({shape, size});
  return Ref<Storage>(std::move(storage));
}

std::size_t Recording::slot_of(const Storage* storage) const noexcept {
  std::size_t i = 0;
  while (i < slots_.size() && histories_[i].storage.get() != storage) ++i;
  return i;
}

hal::BindingRef Recording::binding(const StorageRange& memory) const {
  const std::size_t i = slot_of(memory.storage);
  if (i == slots_.size()) return memory.of_buffer();
  const std::uint64_t rest = slots_[i].size - memory.offset;
  return hal::slot(static_cast<std::uint32_t>(i), memory.offset,
                   memory.length == hal::kWholeSize ? rest : memory.length);
}

Recording::History* Recording::history_of(const Storage* storage) const noexcept {
  const auto found = std::ranges::find_if(
      histories_, [&](const History& history) { return history.storage.get() == storage; });
  return found != histories_.end() ? found : nullptr;
}

bool Recording::add_order(Storage* storage, Use use) {
  History* history = history_of(storage);
  if (history == nullptr) {
    if (!histories_.push_back(History{.storage = Ref<Storage>(storage)})) return false;
    history = &histories_.back();
  }
  if (history->is_written && !after_.push_back(history->written)) return false;
  if (use == Use::kRead) return history->reads.make_room(1);
  return std::ranges::all_of(history->reads,
                             [&](hal::CommandId read) { return after_.push_back(read); });
}

void Recording::note(History& history, Use use, hal::CommandId command) {
  if (use == Use::kWrite) {
    history.is_written = true;
    history.written = command;
    history.reads.shrink(0);
  } else if (history.reads.empty() || history.reads.back() != command) {  // it may read it twice
    (void)history.reads.push_back(command);
  }
}

Status Recording::finish() {
  HALYARD_ASSIGN_OR_RETURN(commands_, recorder_.finish());
  return {};
}

Status Recording::check(hal::View<ArrayRef> slots) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots[i].shape != slots_[i].shape) {
      return error(StatusCode::kInvalidArgument, "replay: argument {} is {}; {} was recorded", i,
                   text_of(slots[i].shape), text_of(slots_[i].shape));
    }
    // Its commands are ordered by the storages that they were recorded with.
    const auto conflict = [&](const History& other) {
      return other.storage.get() == slots[i].memory.storage &&
             (other.is_written || histories_[i].is_written);
    };
    if (std::ranges::any_of(histories_, conflict)) {
      return error(StatusCode::kInvalidArgument,
                   "replay: argument {} is memory that the recording has already", i);
    }
  }
  return {};
}

Result<Ref<RefCounted>> start_recording(const Context& context) {
  HALYARD_RETURN_IF_ERROR(context.queue().status());
  auto* const recording =
      new (std::nothrow) Recording(Ref<DeviceState>(context.queue().device().state()));
  if (recording == nullptr) return no_memory();
  return Ref<RefCounted>::adopt(recording);
}

Result<Ref<Storage>> add_slot(RefCounted& recording, const Shape& shape, kernel::ElementType type) {
  HALYARD_ASSIGN_OR_RETURN(const std::uint64_t size, byte_size(shape, type));
  return static_cast<Recording&>(recording).add_slot(shape, size);
}

Status finish_recording(RefCounted& recording) {
  return static_cast<Recording&>(recording).finish();
}

}  // namespace halyard::inline v0::async::detail
