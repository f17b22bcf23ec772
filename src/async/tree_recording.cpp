// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/tree_recording.h"

#include <algorithm>
#include <new>

#include "async/shape.h"
#include "base/format.h"
#include "halyard/async/detail/record.h"
#include "halyard/async/number.h"

namespace halyard::inline v0::async::detail {

Result<Ref<Storage>> TreeRecording::add_slot(const hal::Extents& shape, std::uint64_t size,
                                             std::size_t parameter) {
  HALYARD_ASSIGN_OR_RETURN(Ref<TrackedStorage> storage, device_->create_slot());
  if (!slots_.make_room(1) || !histories_.push_back({.storage = storage})) return no_memory();
  (void)slots_.push_back({shape, size, parameter});
  return Ref<Storage>(std::move(storage));
}

std::size_t TreeRecording::slot_of(const Storage* storage) const noexcept {
  std::size_t i = 0;
  while (i < slots_.size() && histories_[i].storage.get() != storage) ++i;
  return i;
}

hal::BindingRef TreeRecording::binding(const StorageRange& memory) const {
  const std::size_t i = slot_of(memory.storage);
  if (i == slots_.size()) return memory.of_buffer();
  const std::uint64_t rest = slots_[i].size - memory.offset;
  return hal::slot(static_cast<std::uint32_t>(i), memory.offset,
                   memory.length == hal::kWholeSize ? rest : memory.length);
}

TreeRecording::History* TreeRecording::history_of(const Storage* storage) const noexcept {
  const auto found = std::ranges::find_if(
      histories_, [&](const History& history) { return history.storage.get() == storage; });
  return found != histories_.end() ? found : nullptr;
}

bool TreeRecording::add_dependencies(Storage* storage, Use use) {
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

void TreeRecording::note_use(History& history, Use use, hal::CommandId command) {
  if (use == Use::kWrite) {
    history.is_written = true;
    history.written = command;
    history.reads.shrink(0);
  } else if (history.reads.empty() ||
             history.reads.back() != command) {  // a command may read it twice
    (void)history.reads.push_back(command);
  }
}

Status TreeRecording::finish() {
  context_.reset();
  HALYARD_ASSIGN_OR_RETURN(commands_, recorder_.finish());
  return {};
}

Status TreeRecording::check(hal::View<ArrayRef> slots) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots[i].shape != slots_[i].shape) {
      return error(StatusCode::kInvalidArgument, "replay: argument {} is {}; {} was recorded",
                   slots_[i].parameter, text_of(slots[i].shape), text_of(slots_[i].shape));
    }
    // The order of the commands holds only for the storages that they were recorded with.
    const auto conflict = [&](const History& other) {
      return other.storage.get() == slots[i].memory.storage &&
             (other.is_written || histories_[i].is_written);
    };
    if (std::ranges::any_of(histories_, conflict)) {
      return error(StatusCode::kInvalidArgument,
                   "replay: argument {} is memory that the recording already uses",
                   slots_[i].parameter);
    }
  }
  return {};
}

Result<Ref<RefCounted>> start_recording(Context& whole) {
  HALYARD_RETURN_IF_ERROR(whole.queue().status());
  auto* const recording = new (std::nothrow) TreeRecording(whole);
  if (recording == nullptr) return no_memory();
  return Ref<RefCounted>::adopt(recording);
}

Result<Ref<Storage>> add_slot(RefCounted& recording, const Shape& shape, kernel::ElementType type,
                              std::size_t parameter) {
  HALYARD_ASSIGN_OR_RETURN(const std::uint64_t size, byte_size(shape, type));
  return static_cast<TreeRecording&>(recording).add_slot(shape, size, parameter);
}

std::size_t slot_of(const RefCounted& recording, const Storage* storage) noexcept {
  return static_cast<const TreeRecording&>(recording).slot_of(storage);
}

Result<hal::Constant> number_of(const Context& context, const char* user,
                                const RefCounted* recording, std::uint32_t slot) {
  if (recording != nullptr && context.recording() == recording) {
    return hal::Constant(hal::constant_slot(slot));
  }
  return error(StatusCode::kInvalidArgument,
               "{}: a Number of a function that was recorded, outside of that recording", user);
}

Context& recorder_of(RefCounted& recording) noexcept {
  return static_cast<TreeRecording&>(recording).context();
}
Status finish_recording(RefCounted& recording) {
  return static_cast<TreeRecording&>(recording).finish();
}

}  // namespace halyard::inline v0::async::detail
