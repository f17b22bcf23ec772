// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recording: what a tree would submit, as one command buffer, and the storage that it uses. Between
// its commands the order comes from the data too: a command runs after the last write of what it
// uses, and, if it writes it, after the reads since. Others may overlap.
//
// Slot: a storage of the recording without memory, which each replay brings.
#pragma once

#include <cstddef>
#include <utility>

#include "async/device_state.h"
#include "async/storage.h"
#include "base/array.h"
#include "halyard/async/context.h"
#include "halyard/async/tensor.h"
#include "halyard/hal/command_buffer.h"

namespace halyard::inline v0::async::detail {

class Recording final : public RefCounted {
 public:
  explicit Recording(Ref<DeviceState> device)
      : device_(std::move(device)), recorder_(device_->device()) {}

  // Before the first command. Stands for an array of that shape, of so many bytes.
  Result<Ref<Storage>> add_slot(const hal::Extents& shape, std::uint64_t size);
  bool has_slot(const Storage* storage) const noexcept { return slot_of(storage) < slots_.size(); }
  // As a command refers to it. Precondition: a slot is one of this recording.
  hal::BindingRef binding(const StorageRange& memory) const;

  // As Context::submit. An error of the recorder is finish()'s.
  template <class Uses, class F>
  Status add(Uses&& uses, F&& record) {
    after_.shrink(0);
    bool has_room = true;
    uses([&](Storage* storage, Use use) { has_room = has_room && add_order(storage, use); });
    if (!has_room) return no_memory();
    recorder_.after({after_.data(), after_.size()});
    record(recorder_);
    const hal::CommandId command = recorder_.last();
    uses([&](Storage* storage, Use use) { note(*history_of(storage), use, command); });
    return {};
  }
  Status finish();

  // Once it is finished.
  const hal::CommandBuffer& commands() const noexcept { return commands_; }
  // That a replay may have these arrays in its slots.
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
  };
  // Of one storage within the recording.
  struct History {
    bool is_used() const noexcept { return is_written || !reads.empty(); }

    Ref<Storage> storage;
    bool is_written = false;
    hal::CommandId written{};
    base::Array<hal::CommandId> reads{};
  };
  // slots_.size() if it is none.
  std::size_t slot_of(const Storage* storage) const noexcept;
  History* history_of(const Storage* storage) const noexcept;  // null: it has none yet
  // And makes the room that note() needs. False: no memory.
  bool add_order(Storage* storage, Use use);
  static void note(History& history, Use use, hal::CommandId command);

  const Ref<DeviceState> device_;
  hal::Recorder recorder_;
  hal::CommandBuffer commands_;
  base::Array<Slot> slots_;
  base::Array<History> histories_;  // those of the slots first
  base::Array<hal::CommandId> after_;
};

}  // namespace halyard::inline v0::async::detail
