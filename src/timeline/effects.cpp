// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/effects.h"

#include <cassert>

#include "timeline/engine.h"

namespace halyard::inline v0::timeline {

constinit thread_local WorkList* active_list = nullptr;

void EffectScope::run_list() noexcept {
  if (mode_ == Mode::kDefer || mode_ == Mode::kPost) {
    active_list = nullptr;
    engine_.post(base::Shell::kCompletion, list_);
    return;
  }
  // Items may add items; the list stays active until it is empty.
  while (WorkItem* item = list_.pop()) item->run(mode_ == Mode::kShell);
}

void EffectScope::add(WorkItem& item) noexcept {
  assert(active_list != nullptr);
  active_list->push(item);
}

}  // namespace halyard::inline v0::timeline
