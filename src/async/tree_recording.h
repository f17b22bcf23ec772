// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TreeRecording: the commands of a tree as a command buffer, and the storage that they use.
//
// Only data dependencies order the commands: a command runs after the last write of each storage
// that it uses and, if it writes the storage, also after the reads since. Other commands may
// overlap.
//
// A slot is a storage of the recording without memory, for an array of each replay.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "async/device_state.h"
#include "async/recorder.h"
#include "async/storage.h"
#include "base/array.h"
#include "halyard/async/context.h"
#include "halyard/async/detail/array_ref.h"
#include "halyard/hal/command_buffer.h"

namespace halyard::inline v0::async::detail {

class TreeRecording final : public RefCounted {
 public:
  // The tree `whole` executes it until finish().
  explicit TreeRecording(Context& whole)
      : device_(whole.queue().device().state()),
        recorder_(device_->device()),
        context_(std::in_place, whole, *this) {}

  Context& context() noexcept { return *context_; }

  // Adds a slot for arrays of this shape and size in bytes, for the function's parameter with this
  // index. Called before the first command.
  Result<Ref<Storage>> add_slot(const hal::Extents& shape, std::uint64_t size,
                                std::size_t parameter);
  // The index of the slot; the number of slots if `storage` is not a slot.
  std::size_t slot_of(const Storage* storage) const noexcept;
  bool has_slot(const Storage* storage) const noexcept { return slot_of(storage) < slots_.size(); }
  // The binding for a command. Precondition: a slot belongs to this recording.
  hal::BindingRef binding(const StorageRange& memory) const;

  // Records a command in the same way as Context::submit() submits it. finish() returns the
  // recorder's errors.
  template <class Uses, class F>
  Status add(Uses&& uses, F&& record) {
    after_.shrink(0);
    bool has_room = true;
    uses([&](Storage* storage, Use use) { has_room = has_room && add_dependencies(storage, use); });
    if (!has_room) return no_memory();
    recorder_.after({after_.data(), after_.size()});
    record(recorder_);
    const hal::CommandId command = recorder_.last();
    uses([&](Storage* storage, Use use) { note_use(*history_of(storage), use, command); });
    return {};
  }
  Status finish();

  // The rest may be called after finish().
  const hal::CommandBuffer& commands() const noexcept { return commands_; }
  // Returns an error unless a replay may have these arrays in its slots.
  Status check(hal::View<ArrayRef> slots) const;
  template <class F>
  void for_each_use(hal::View<ArrayRef> slots, F&& call) const {
    for (std::size_t i = 0; i < histories_.size(); ++i) {
      const History& history = histories_[i];
      if (!history.is_used()) continue;
      call(i < slots.size() ? slots[i].memory.storage : history.storage.get(),
           history.is_written ? Use::kWrite : Use::kRead);
    }
  }

 private:
  struct Slot {
    hal::Extents shape;
    std::uint64_t size;
    std::size_t parameter;
  };
  // How the commands use a storage.
  struct History {
    bool is_used() const noexcept { return is_written || !reads.empty(); }

    Ref<Storage> storage;
    bool is_written = false;
    hal::CommandId written{};
    base::Array<hal::CommandId> reads{};
  };
  History* history_of(const Storage* storage) const noexcept;  // null before its first use
  // Adds to after_ the commands that a use must follow, and makes room for note_use(). Returns
  // false without memory.
  bool add_dependencies(Storage* storage, Use use);
  static void note_use(History& history, Use use, hal::CommandId command);

  const Ref<DeviceState> device_;
  hal::Recorder recorder_;
  std::optional<Recorder> context_;
  hal::CommandBuffer commands_;
  base::Array<Slot> slots_;
  base::Array<History> histories_;     // first those of the slots, in their order
  base::Array<hal::CommandId> after_;  // dependencies of the command that is being recorded
};

}  // namespace halyard::inline v0::async::detail
