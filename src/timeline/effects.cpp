// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/effects.h"

#include <cassert>

#include "timeline/engine.h"

namespace halyard::inline v0::timeline {
namespace {

// The list of this thread's outermost scope. It decides where effects run, never what they are.
constinit thread_local WorkList* active_list = nullptr;

}  // namespace

EffectScope::EffectScope(Engine& engine, Mode mode) noexcept
    : engine_(engine), mode_(mode), outermost_(active_list == nullptr) {
  if (outermost_) active_list = &list_;
}

EffectScope::~EffectScope() {
  if (!outermost_) return;
  if (mode_ != Mode::kDefer) {
    // Items may add items; the list stays active until it is empty.
    while (WorkItem* item = list_.pop()) item->run(mode_ == Mode::kShell);
  }
  active_list = nullptr;
  if (!list_.empty()) engine_.post(base::Shell::kCompletion, list_);
}

void EffectScope::add(WorkItem& item) noexcept {
  assert(active_list != nullptr);
  active_list->push(item);
}

}  // namespace halyard::inline v0::timeline
