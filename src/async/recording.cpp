// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/recording.h"

#include <algorithm>

#include "base/format.h"
#include "halyard/async/recorded.h"

namespace halyard::inline v0::async::detail {

Recording::History& Recording::history_of(Storage* storage) {
  const auto found = std::ranges::find_if(
      histories_, [&](const History& history) { return history.storage.get() == storage; });
  if (found != histories_.end()) return *found;
  return histories_.emplace_back(History{.storage = Ref<Storage>(storage)});
}

void Recording::add_order(const History& history, Use use) {
  if (history.is_written) after_.push_back(history.written);
  if (use == Use::kWrite) after_.insert(after_.end(), history.reads.begin(), history.reads.end());
}

void Recording::note(History& history, Use use, hal::CommandId command) {
  if (use == Use::kRead) {
    history.reads.push_back(command);
  } else {
    history.is_written = true;
    history.written = command;
    history.reads.clear();
  }
}

Status Recording::finish() {
  HALYARD_ASSIGN_OR_RETURN(commands_, recorder_.finish());
  return {};
}

Result<Ref<RefCounted>> start_recording(const Context& context) {
  HALYARD_RETURN_IF_ERROR(context.queue().status());
  return Ref<RefCounted>::adopt(new Recording(context.queue().device().hal()));
}

Status finish_recording(RefCounted& recording) {
  return static_cast<Recording&>(recording).finish();
}

}  // namespace halyard::inline v0::async::detail
