// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notifier: wakes the waiters that sleep on a lane. Markers alone do not wake threads. So a second
// stream waits for the lane's markers, one by one, up to the highest armed sequence, and runs a
// host function after each:
//
//     lane's stream     work  work  marker 2  work  work  work  marker 5
//     notifier's                    wait(2) notify          wait(5) notify
//
// The host function only notifies: it may not call the native library. Its argument is the marker
// that it follows, which is held for it.
//
// In the other modes (completion.h) a thread replaces the second stream. It starts with the first
// arm(), follows the same markers, and sleeps on the event of each.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/atomic.h"
#include "base/format.h"
#include "base/mutex.h"
#include "base/parker.h"
#include "base/thread.h"
#include "drivers/stream/api.h"
#include "drivers/stream/completion.h"
#include "drivers/stream/marker_table.h"
#include "timeline/entry_guard.h"
#include "timeline/native_queue.h"
#include "timeline/notify_list.h"

namespace halyard::inline v0::stream {

template <StreamApi Api>
class Notifier {
 public:
  // `guard` sets the context of the markers; may be null. It outlives the notifier.
  Notifier(const Api& api, MarkerTable<Api>& markers, CompletionMode mode,
           timeline::EntryGuard* guard, int priority = 0) noexcept
      : api_(api), markers_(markers), guard_(guard), mode_(mode), priority_(priority) {}
  // Precondition: stopped, if it was opened.
  ~Notifier() {
    if (open_ && !has_thread()) api_.destroy(stream_);
    if (parker_ != nullptr) base::ParkerPool::release(*parker_);
  }
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Called once.
  Status open() {
    if (has_thread()) parker_ = &base::ParkerPool::acquire();
    Status status = has_thread() ? Status() : api_.create_stream(stream_, priority_);
    open_ = status.ok();
    return status;
  }

  // NativeQueue::arm. If a notification cannot be issued now, `notify` is called at once: early is
  // allowed, late is not.
  Status arm(std::uint64_t sequence, base::Notify& notify) noexcept {
    // Sequences that the caller has seen pass are notified first: an older sequence for which
    // `notify` is still armed must not hide this one.
    list_.advance(markers_.passed());
    list_.arm(sequence, notify);
    if (markers_.passed() >= sequence) return {};
    raise(sequence);
    const Status status = follow();
    // If the poller passed the marker before follow() searched for it, no host function follows it.
    list_.advance(markers_.passed());
    if (status.code() != StatusCode::kResourceExhausted) return status;
    notify.notify();
    return {};
  }

  // The issuer calls this after it has added a marker, since a waiter may have armed for it before.
  // If this finds that the device is lost, the next poll reports it.
  void marker_added() noexcept {
    if (wanted_.load(std::memory_order_seq_cst) <= followed_.load(std::memory_order_relaxed))
      return;
    if (!follow().ok()) list_.advance(markers_.newest());  // early
  }

  // Ends all issuing and notifying. Returns kStopped once no host function runs or will run, and
  // the thread has ended. Precondition: the issuer has ended. `markers` is the state of the stream
  // that holds the markers. Until that stream has stopped, the thread may sleep on one of its
  // markers, perhaps for ever. May be called again.
  timeline::Abandoned stop(timeline::Abandoned markers) noexcept {
    {
      base::LockGuard lock(follow_mutex_);
      stopped_.store(true, std::memory_order_seq_cst);
    }
    list_.close();  // a host function may run when the engine is gone
    if (!open_) return timeline::Abandoned::kStopped;
    if (has_thread()) parker_->wake();
    if (markers != timeline::Abandoned::kStopped) return markers;
    if (has_thread()) {
      if (thread_.started()) thread_.join();
      return timeline::Abandoned::kStopped;
    }
    if (markers_.passed() == markers_.newest()) (void)api_.finish(stream_);
    return api_.stop(stream_);
  }

  // Whether a sleep on an event has failed, and so notified early. The device may have a fault.
  bool failed() const noexcept { return failed_.load(std::memory_order_seq_cst); }

 private:
  using Marker = typename MarkerTable<Api>::Marker;

  bool has_thread() const noexcept { return mode_ != CompletionMode::kHostCallback; }

  void raise(std::uint64_t sequence) noexcept {
    std::uint64_t known = wanted_.load(std::memory_order_relaxed);
    while (known < sequence &&
           !wanted_.compare_exchange_weak(known, sequence, std::memory_order_seq_cst)) {
    }
  }

  // Follows the markers in their order, whatever the order of arming: a notification for a later
  // marker must not precede that for an earlier one.
  Status follow() noexcept {
    base::LockGuard lock(follow_mutex_);
    if (has_thread()) return wake_thread();
    for (;;) {
      const std::uint64_t followed = followed_.load(std::memory_order_relaxed);
      if (stopped_.load(std::memory_order_relaxed)) return {};
      if (followed >= wanted_.load(std::memory_order_seq_cst)) return {};
      Marker* const marker = markers_.hold_from(followed + 1);
      if (marker == nullptr) return {};  // marker_added() continues
      // The host function releases the marker, perhaps before call_host() returns. By then the
      // marker may be recorded after another sequence.
      const std::uint64_t sequence = marker->sequence();
      marker->user = this;
      Status status = api_.wait(stream_, marker->event());
      if (status.ok()) status = api_.call_host(stream_, &reached, marker);
      if (!status.ok()) return markers_.release(*marker), status;
      followed_.store(sequence, std::memory_order_relaxed);
    }
  }

  // Under follow_mutex_.
  Status wake_thread() noexcept {
    if (stopped_.load(std::memory_order_relaxed)) return {};
    if (!thread_.started()) {
      const auto body = [](void* self) { static_cast<Notifier*>(self)->serve(); };
      if (thread_.start("hy-stream-wait", body, this) != 0) {
        return error(StatusCode::kResourceExhausted, "{}: no thread to wait with", Api::kDriver);
      }
    }
    parker_->wake();
    return {};
  }
  void serve() noexcept {
    timeline::EntryGuard::Saved saved;
    if (guard_ != nullptr) guard_->enter(saved, timeline::Calls::kAny);
    for (;;) {
      const std::uint32_t epoch = parker_->prepare();
      if (stopped_.load(std::memory_order_seq_cst)) break;
      const std::uint64_t followed = followed_.load(std::memory_order_relaxed);
      Marker* const marker = followed < wanted_.load(std::memory_order_seq_cst)
                                 ? markers_.hold_from(followed + 1)
                                 : nullptr;
      // The poller may have passed markers before they were searched for.
      list_.advance(markers_.passed());
      if (marker == nullptr) {
        (void)parker_->park(epoch, Deadline::kForeverTime);
        continue;
      }
      const std::uint64_t sequence = marker->sequence();
      if constexpr (CompletionApi<Api>) {
        if (!api_.synchronize(marker->event()).ok()) failed_.store(true, std::memory_order_seq_cst);
      }
      markers_.release(*marker);
      followed_.store(sequence, std::memory_order_relaxed);
      list_.advance(sequence);
    }
    if (guard_ != nullptr) guard_->leave(saved);
  }

  // The host function. If the library does not call it after a fault, the marker stays held until
  // the lane ends.
  static void reached(void* argument) {
    Marker& marker = *static_cast<Marker*>(argument);
    Notifier& self = *static_cast<Notifier*>(marker.user);
    const std::uint64_t sequence = marker.sequence();
    self.markers_.release(marker);
    self.list_.advance(sequence);
  }

  const Api api_;
  MarkerTable<Api>& markers_;
  timeline::EntryGuard* const guard_;
  const CompletionMode mode_;
  const int priority_;  // of its stream
  timeline::NotifyList list_;
  typename Api::Stream stream_{};
  bool open_ = false;
  base::Atomic<std::uint64_t> wanted_{0};  // the highest armed sequence

  // Held over native calls, so the host function does not take it.
  base::Mutex follow_mutex_;
  // The sequence of the last marker that was followed. Written under follow_mutex_, or by the
  // thread.
  base::Atomic<std::uint64_t> followed_{0};
  base::Atomic<bool> stopped_{false};  // written under follow_mutex_
  base::Atomic<bool> failed_{false};
  base::Parker* parker_ = nullptr;  // the thread's
  base::Thread thread_;             // started under follow_mutex_
};

}  // namespace halyard::inline v0::stream
