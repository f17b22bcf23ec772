// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notifier: wakes the waiters that sleep on a lane. A marker wakes no thread. So a second stream
// waits for the lane's markers, one by one, up to the highest armed sequence, and runs a host
// function after each:
//
//     lane's stream     work  work  marker 2  work  work  work  marker 5
//     notifier's                    wait(2) notify          wait(5) notify
//
// The host function only notifies: it may not call the native library. Its argument is the marker
// that it follows, which is held for it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/atomic.h"
#include "base/mutex.h"
#include "base/parker.h"
#include "drivers/stream/api.h"
#include "drivers/stream/marker_table.h"
#include "timeline/notify_list.h"

namespace halyard::inline v0::stream {

template <StreamApi Api>
class Notifier {
 public:
  Notifier(const Api& api, MarkerTable<Api>& markers) noexcept : api_(api), markers_(markers) {}
  // Its stream has stopped, if it was opened.
  ~Notifier() {
    if (open_) api_.destroy(stream_);
  }
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Once.
  Status open() {
    Status status = api_.create_stream(stream_);
    open_ = status.ok();
    return status;
  }

  // NativeQueue::arm. If a notification cannot be issued now, `notify` is called at once: early is
  // allowed, late is not.
  Status arm(std::uint64_t sequence, base::Notify& notify) noexcept {
    // What the caller has seen pass is notified first: an older sequence for which `notify` is
    // still armed must not hide this one.
    list_.advance(markers_.passed());
    list_.arm(sequence, notify);
    if (markers_.passed() >= sequence) return {};
    raise(sequence);
    const Status status = follow();
    // The poller may have passed the marker before follow() searched for it: then no host function
    // follows it.
    list_.advance(markers_.passed());
    if (status.code() != StatusCode::kResourceExhausted) return status;
    notify.notify();
    return {};
  }

  // The issuer calls this after it has added a marker: a waiter may have armed for it before. A
  // loss of the device that this finds is reported by the next poll.
  void marker_added() noexcept {
    if (wanted_.load(std::memory_order_seq_cst) <= followed_.load(std::memory_order_relaxed))
      return;
    if (!follow().ok()) list_.advance(markers_.newest());  // early
  }

  // Issues nothing any more. True: no host function runs or will run. The issuer has ended.
  bool stop() noexcept {
    {
      base::LockGuard lock(follow_mutex_);
      stopped_ = true;
    }
    if (!open_) return true;
    if (markers_.passed() == markers_.newest()) api_.finish(stream_);
    return api_.stop(stream_);
  }

 private:
  using Marker = typename MarkerTable<Api>::Marker;

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
    for (;;) {
      const std::uint64_t followed = followed_.load(std::memory_order_relaxed);
      if (stopped_ || followed >= wanted_.load(std::memory_order_seq_cst)) return {};
      Marker* const marker = markers_.hold_from(followed + 1);
      if (marker == nullptr) return {};  // marker_added() goes on
      marker->user = this;
      Status status = api_.wait(stream_, marker->event());
      if (status.ok()) status = api_.call_host(stream_, &reached, marker);
      if (!status.ok()) return markers_.release(*marker), status;
      followed_.store(marker->sequence(), std::memory_order_relaxed);
    }
  }

  // The host function. What the library does not call after a fault stays held, until the lane
  // ends.
  static void reached(void* argument) {
    Marker& marker = *static_cast<Marker*>(argument);
    Notifier& self = *static_cast<Notifier*>(marker.user);
    const std::uint64_t sequence = marker.sequence();
    self.markers_.release(marker);
    self.list_.advance(sequence);
  }

  const Api api_;
  MarkerTable<Api>& markers_;
  timeline::NotifyList list_;
  typename Api::Stream stream_{};
  bool open_ = false;
  base::Atomic<std::uint64_t> wanted_{0};  // the highest armed sequence

  // Held over native calls, so the host function does not take it.
  base::Mutex follow_mutex_;
  base::Atomic<std::uint64_t> followed_{0};  // written under it: the last marker that is followed
  bool stopped_ = false;                     // under it
};

}  // namespace halyard::inline v0::stream
