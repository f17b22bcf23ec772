// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Effects: the consequences of a signal (queues to drain, failures to pass on, callbacks to run) go
// to a list of the thread. The outermost call runs them, never nested, so a chain of a million
// submissions needs constant stack (timelines.md, rule 17).
#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "halyard/base/clock.h"

namespace halyard::inline v0::timeline {

class Engine;

// Something to run later. Its owner puts it on at most one list at a time.
class WorkItem {
 public:
  // `shell` is true on a thread of the runtime, which may take as long as it likes.
  virtual void run(bool shell) noexcept = 0;

 protected:
  virtual ~WorkItem() = default;

 private:
  friend class WorkList;
  WorkItem* next_item_ = nullptr;
};

// A first-in-first-out list of work items. Not thread-safe.
class WorkList {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  void push(WorkItem& item) noexcept {
    item.next_item_ = nullptr;
    (head_ == nullptr ? head_ : tail_->next_item_) = &item;
    tail_ = &item;
  }
  WorkItem* pop() noexcept {
    WorkItem* item = head_;
    if (item != nullptr) head_ = item->next_item_;
    return item;
  }
  // Appends everything of `other`.
  void splice(WorkList& other) noexcept {
    if (other.empty()) return;
    (head_ == nullptr ? head_ : tail_->next_item_) = other.head_;
    tail_ = other.tail_;
    other.head_ = nullptr;
  }

 private:
  WorkItem* head_ = nullptr;
  WorkItem* tail_ = nullptr;
};

// The list of this thread's outermost scope. It decides only where effects run, never which.
extern constinit thread_local WorkList* active_list;

// Whether a wait until `until` may block this thread.
enum class MayBlock : std::uint8_t {
  kYes,
  kPassed,      // there is no time to wait: the caller looks once
  kInCallback,  // this thread's effects run after the callback, and it might wait for one of them
};
inline MayBlock may_block(Nanoseconds until) noexcept {
  if (until == Deadline::kPassedTime) return MayBlock::kPassed;
  return active_list != nullptr ? MayBlock::kInCallback : MayBlock::kYes;
}

// Opened by every entry into the engine. The outermost scope of a thread drains the list at its
// end; inner scopes add to it, except a scope that posts.
class EffectScope {
 public:
  enum class Mode {
    kRun,    // signal, fail, submit, cancel: the caller runs what follows
    kDefer,  // query, wait, dropping a handle: it goes to the completion shell (rule 18)
    kPost,   // the same, also within another scope: its thread may be in a native callback
    kShell,  // on a shell
  };
  EffectScope(Engine& engine, Mode mode) noexcept
      : engine_(engine), mode_(mode), outer_(active_list) {
    if (outer_ == nullptr || mode == Mode::kPost) active_list = &list_;
  }
  ~EffectScope() {
    if (!list_.empty()) [[unlikely]]  // so it is the outermost one, or posts
      run_list();
    active_list = outer_;
  }
  EffectScope(const EffectScope&) = delete;
  EffectScope& operator=(const EffectScope&) = delete;

  // Adds to the list of this thread's outermost scope. Precondition: there is one.
  static void add(WorkItem& item) noexcept;

 private:
  void run_list() noexcept;

  Engine& engine_;
  const Mode mode_;
  WorkList* const outer_;  // null: this is the outermost scope
  WorkList list_;
};

}  // namespace halyard::inline v0::timeline
