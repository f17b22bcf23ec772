// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reclaimer: frees a device's native objects on a thread that may do so. A native free may
// synchronize with the device (cuMemFree) and needs its entry guard, but the last reference to an
// object may be dropped on any thread, even in a callback or while a lane is retired.
//
//     last reference dropped ──> frees may block?  yes: posted to the reclaim thread ──> freed
//                                                  no:  freed here
//     device closed          ──> freed here, in either case
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/mutex.h"
#include "base/parker.h"
#include "halyard/base/ref.h"
#include "halyard/base/status.h"
#include "timeline/effects.h"
#include "timeline/engine.h"
#include "timeline/entry_guard.h"

namespace halyard::inline v0::hal {

class Reclaimed;

// Counts the pending frees of a runtime's reclaim thread, over all devices: memory of a device that
// closes is memory of the same hardware.
class PendingFrees {
 public:
  void posted() noexcept;
  void freed() noexcept;
  // Calls `get`. If it finds no memory but frees are pending or were done meanwhile, waits for them
  // and calls it once more. Must not be called on the reclaim thread.
  template <class Get>
  auto retry_once(Get&& get) {
    const std::uint64_t before = count();
    auto result = get();
    if (result.status().code() == StatusCode::kResourceExhausted && wait(before)) result = get();
    return result;
  }
  // How many have been freed so far.
  std::uint64_t count() noexcept;
  // Waits until everything posted before the call is freed, but at most a second: a free may block,
  // and the reclaim thread may be waiting for the caller. Returns false if nothing was freed since
  // count() returned `before` and nothing is pending.
  bool wait(std::uint64_t before) noexcept;

 private:
  base::Mutex mutex_;  // guards the counts
  std::uint64_t posted_ = 0;
  std::uint64_t freed_ = 0;
  base::Parker one_freed_;
};

// One for each device whose frees may block or that has an entry guard. Lives as long as the last
// of its objects, so it may outlive its device.
class Reclaimer final : public RefCounted {
 public:
  // `pending` lives as long as the engine.
  Reclaimer(timeline::Engine& engine, PendingFrees& pending, Ref<timeline::EntryGuard> guard,
            bool frees_may_block) noexcept
      : guard_(std::move(guard)), pending_(pending), engine_(frees_may_block ? &engine : nullptr) {}

  // Called by the reclaim thread before the device is closed. False: posted objects are not freed
  // yet.
  bool close() noexcept;

 private:
  friend class Reclaimed;
  // True if `object` was posted; otherwise the caller frees it.
  bool post(timeline::WorkItem& object) noexcept;
  void posted_one_is_freed() noexcept;

  const Ref<timeline::EntryGuard> guard_;
  PendingFrees& pending_;
  base::Mutex mutex_;         // guards the rest
  timeline::Engine* engine_;  // null: objects are freed where they are dropped
  std::size_t posted_ = 0;
};

// Base of the objects that a driver creates and whose destructor frees native resources: memory,
// executables and recordings.
class Reclaimed : public RefCounted, private timeline::WorkItem {
 public:
  // Called once, before the object is shared. Null: the thread that drops the last reference frees
  // the object.
  void reclaim_by(Ref<Reclaimer> reclaimer) noexcept { reclaimer_ = std::move(reclaimer); }

 protected:
  Reclaimed() noexcept = default;
  ~Reclaimed() override = default;

 private:
  // Called by the thread that drops the last reference, before the object is posted or freed.
  virtual void dropped() noexcept {}
  void destroy() noexcept override {
    dropped();
    if (reclaimer_ && reclaimer_->post(*this)) return;
    free();
  }
  // On the reclaim thread.
  void run(bool) noexcept override {
    const Ref<Reclaimer> reclaimer = reclaimer_;
    free();
    reclaimer->posted_one_is_freed();
  }
  void free() noexcept {
    const Ref<Reclaimer> reclaimer = std::move(reclaimer_);
    const timeline::Entered entered(*this, reclaimer ? reclaimer->guard_.get() : nullptr);
    delete this;
  }

  Ref<Reclaimer> reclaimer_;
};

}  // namespace halyard::inline v0::hal
