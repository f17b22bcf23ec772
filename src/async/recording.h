// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recording: what a tree would submit, as one command buffer, and the storage that it uses. Between
// its commands the order comes from the data too: a command runs after the last write of what it
// uses, and, if it writes it, after the reads since. Others may overlap.
#pragma once

#include <utility>
#include <vector>

#include "async/storage.h"
#include "halyard/async/context.h"
#include "halyard/hal/command_buffer.h"

namespace halyard::inline v0::async::detail {

class Recording final : public RefCounted {
 public:
  explicit Recording(const hal::Device& device) : recorder_(device) {}

  // As Context::submit. An error of the recorder is finish()'s.
  template <class Uses, class F>
  Status add(Uses&& uses, F&& record) {
    after_.clear();
    uses([&](Storage* storage, Use use) { add_order(history_of(storage), use); });
    recorder_.after(after_);
    record(recorder_);
    const hal::CommandId command = recorder_.last();
    uses([&](Storage* storage, Use use) { note(history_of(storage), use, command); });
    return {};
  }
  Status finish();

  // Once it is finished.
  const hal::CommandBuffer& commands() const noexcept { return commands_; }
  template <class F>
  void for_each_use(F&& call) const {
    for (const History& history : histories_) {
      call(history.storage.get(), history.is_written ? Use::kWrite : Use::kRead);
    }
  }

 private:
  // Of one storage within the recording.
  struct History {
    Ref<Storage> storage;
    bool is_written = false;
    hal::CommandId written{};
    std::vector<hal::CommandId> reads{};
  };
  History& history_of(Storage* storage);
  void add_order(const History& history, Use use);
  static void note(History& history, Use use, hal::CommandId command);

  hal::Recorder recorder_;
  hal::CommandBuffer commands_;
  std::vector<History> histories_;
  std::vector<hal::CommandId> after_;
};

}  // namespace halyard::inline v0::async::detail
