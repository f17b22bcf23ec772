// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MarkerTable: the markers of one lane. A marker is an event of a native library that is recorded
// after one sequence.
//
//     take()            add(m, n)            pass(n)                 release(m)
//     free ────> recorded natively ────> live ────> passed, and not held ────> free
//                                           hold(n) ... release(m)
//
// A thread that passes a marker's event to a native call holds the marker until that call has
// returned. A marker is recorded again only when no thread holds it and the lane has passed its
// sequence. The reason: a native wait takes the latest record of the event at the time of the call.
// If the event had been recorded again, the wait would be for later work, perhaps for work that
// depends on the waiter.
//
// Markers are made as they are needed and used again; in the steady state nothing is allocated.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/format.h"
#include "base/mutex.h"
#include "drivers/stream/api.h"
#include "drivers/stream/context.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::stream {

template <StreamApi Api>
class MarkerTable {
 public:
  class Marker {
   public:
    typename Api::Event event() const noexcept { return event_; }
    // Precondition: live or held.
    std::uint64_t sequence() const noexcept { return sequence_; }
    // For the host function of a notification, which gets nothing but the marker.
    void* user = nullptr;

   private:
    friend class MarkerTable;
    typename Api::Event event_{};
    std::uint64_t sequence_ = 0;
    std::uint32_t holders_ = 0;
    bool live_ = false;
    Marker* next_free_ = nullptr;
    Marker* next_made_ = nullptr;
  };

  // Holds at most `capacity` live markers.
  MarkerTable(const Api& api, std::uint32_t capacity) noexcept : api_(api), capacity_(capacity) {}
  // Precondition: no native call uses one of its events. Needs the context of its events.
  ~MarkerTable() {
    while (made_ != nullptr) {
      const std::unique_ptr<Marker> marker(std::exchange(made_, made_->next_made_));
      api_.destroy(marker->event_);
    }
  }
  MarkerTable(const MarkerTable&) = delete;
  MarkerTable& operator=(const MarkerTable&) = delete;

  // Called once. Makes the first marker: a lane that has one can always be marked again, once that
  // marker is passed. Returns kResourceExhausted without memory.
  Status open() {
    live_.reset(new (std::nothrow) Marker*[capacity_]);
    if (live_ == nullptr) return no_memory();
    HALYARD_ASSIGN_OR_RETURN(Marker* const first, make());
    give_back(*first);
    return {};
  }

  // --- by the issuer
  // ------------------------------------------------------------------------------

  // Returns a marker to record, or kResourceExhausted if none is available now.
  Result<Marker*> take() {
    {
      base::LockGuard lock(mutex_);
      if (count_ == capacity_) {
        return error(StatusCode::kResourceExhausted, "{}: all {} markers of the lane are live",
                     Api::kDriver, capacity_);
      }
      if (Marker* const marker = free_) {
        free_ = marker->next_free_;
        return marker;
      }
    }
    return make();
  }
  // Returns a marker that could not be recorded.
  void give_back(Marker& marker) noexcept {
    base::LockGuard lock(mutex_);
    put_free(marker);
  }
  // Adds a marker that was recorded after `sequence`. Sequences increase from call to call.
  void add(Marker& marker, std::uint64_t sequence) noexcept {
    base::LockGuard lock(mutex_);
    assert(sequence > newest_ && count_ < capacity_);
    marker.sequence_ = newest_ = sequence;
    marker.live_ = true;
    at(count_++) = &marker;
  }
  // The sequence of the latest marker; 0 before the first.
  std::uint64_t newest() const noexcept { return newest_; }

  // --- by the poller
  // ------------------------------------------------------------------------------

  // The live marker at `place`, counted from the oldest, which is 1. If there are fewer, returns
  // the newest and sets `place` to its place. Null if none is live. The marker stays live until
  // pass().
  Marker* live(std::uint32_t& place) noexcept {
    base::LockGuard lock(mutex_);
    if (count_ == 0) return nullptr;
    place = std::min(place, count_);
    return at(place - 1);
  }
  // The lane has passed `sequence`, which is larger than in any earlier call.
  void pass(std::uint64_t sequence) noexcept {
    base::LockGuard lock(mutex_);
    passed_.store(sequence, std::memory_order_seq_cst);
    while (count_ != 0 && at(0)->sequence_ <= sequence) {
      Marker& marker = *at(0);
      first_ = first_ + 1 == capacity_ ? 0 : first_ + 1;
      --count_;
      marker.live_ = false;
      if (marker.holders_ == 0) put_free(marker);
    }
  }

  // --- by any thread
  // ------------------------------------------------------------------------------

  // The latest sequence that the lane is known to have passed.
  std::uint64_t passed() const noexcept { return passed_.load(std::memory_order_seq_cst); }

  // Holds and returns the marker of exactly `sequence`; null if the lane has passed it.
  Marker* hold(std::uint64_t sequence) noexcept {
    Marker* const marker = hold_from(sequence);
    if (marker == nullptr || marker->sequence_ == sequence) return marker;
    release(*marker);
    return nullptr;
  }
  // Holds and returns the first live marker of `sequence` or later; null if there is none.
  Marker* hold_from(std::uint64_t sequence) noexcept {
    base::LockGuard lock(mutex_);
    std::uint32_t low = 0, high = count_;
    while (low != high) {
      const std::uint32_t middle = (low + high) / 2;
      if (at(middle)->sequence_ < sequence) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == count_) return nullptr;
    Marker* const marker = at(low);
    ++marker->holders_;
    return marker;
  }
  void release(Marker& marker) noexcept {
    base::LockGuard lock(mutex_);
    assert(marker.holders_ != 0);
    if (--marker.holders_ == 0 && !marker.live_) put_free(marker);
  }

 private:
  Result<Marker*> make() {
    std::unique_ptr<Marker> marker(new (std::nothrow) Marker);
    if (marker == nullptr) return no_memory();
    const ScopedCaptureMode relaxed(api_);
    HALYARD_RETURN_IF_ERROR(api_.create_event(marker->event_));
    marker->next_made_ = made_;
    return made_ = marker.release();
  }
  Marker*& at(std::uint32_t index) noexcept {
    const std::uint32_t place = first_ + index;
    return live_[place < capacity_ ? place : place - capacity_];
  }
  void put_free(Marker& marker) noexcept {
    marker.next_free_ = free_;
    free_ = &marker;
  }
  static Status no_memory() {
    return error(StatusCode::kResourceExhausted, "{}: no memory for markers", Api::kDriver);
  }

  const Api api_;
  const std::uint32_t capacity_;
  Marker* made_ = nullptr;    // the issuer's: all markers
  std::uint64_t newest_ = 0;  // the issuer's
  base::Atomic<std::uint64_t> passed_{0};

  base::Mutex mutex_;  // guards the following members and the markers
  Marker* free_ = nullptr;
  std::unique_ptr<Marker*[]> live_;  // a ring, by sequence
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace halyard::inline v0::stream
