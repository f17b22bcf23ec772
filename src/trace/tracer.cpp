// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/tracer.h"

#include <pthread.h>
#include <unistd.h>

#include <bit>
#include <cassert>
#include <limits>
#include <new>
#include <utility>

#include "base/format.h"
#include "base/thread_name.h"

namespace halyard::inline v0::trace {
namespace {

constexpr const char* kKnown[] = {"",           "barrier",    "execute",    "dispatch",  "fill",
                                  "update",     "copy",       "host call",  "read",      "write",
                                  "allocate",   "deallocate", "wait",       "wait_idle", "signal",
                                  "copy: read", "copy: host", "copy: write"};
static_assert(std::size(kKnown) == kKnownNames);

std::uint64_t next_serial() noexcept {
  static constinit base::Atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// Bytes of the UTF-8 sequence at the front; 0 if it is invalid (RFC 3629).
std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // An overlong form, a surrogate, or beyond U+10FFFF.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90)) {
    return 0;
  }
  return length;
}

// The inside of a JSON string; invalid UTF-8 becomes U+FFFD.
std::string as_json(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      out.append(1, '\\').append(1, c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += base::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string name_of_this_thread() {
  char name[16] = "thread";  // as long as the kernel's names
  (void)::pthread_getname_np(::pthread_self(), name, sizeof name);
  return base::format("{} {}", name, base::thread_number());
}

}  // namespace

// One thread writes, one thread drains.
struct Tracer::Ring final : RefCounted {
  Ring(std::size_t size, Track own_track) noexcept
      : records(static_cast<Record*>(::operator new(size * sizeof(Record), std::nothrow))),
        mask(size - 1),
        track(own_track) {}
  ~Ring() { ::operator delete(records); }

  Record* const records;  // initialised when written: 2 MiB are not touched before
  const std::uint64_t mask;
  const Track track;
  alignas(64) base::Atomic<std::uint64_t> written{0};
  std::uint64_t drained_seen = 0;  // owned by the writer
  alignas(64) base::Atomic<std::uint64_t> drained{0};
};

struct Tracer::ThisThread {
  std::uint64_t serial = 0;  // serial number of the tracer that owns `ring`
  Ref<Ring> ring;
  bool ended = false;  // later destructors of thread-local objects may still record
  ~ThisThread() {
    ended = true;
    ring = {};
  }
};
thread_local Tracer::ThisThread Tracer::this_thread_;

Tracer::Tracer(Clock& clock, std::size_t records_per_thread)
    : clock_(clock), ring_records_(records_per_thread), serial_(next_serial()) {
  assert(std::has_single_bit(records_per_thread));
  for (const char* const text : kKnown) (void)add_name(text);
}

Tracer::~Tracer() = default;

Name Tracer::add_name(std::string_view text) {
  std::string json = as_json(text);
  base::LockGuard lock(mutex_);
  const auto at = names_.find(json);
  if (at != names_.end()) return at->second;
  if (texts_.size() == kMostNames) return kNoName;
  const auto name = static_cast<Name>(texts_.size());
  texts_.push_back(json);
  names_.emplace(std::move(json), name);
  return name;
}

Track Tracer::add_track(std::string_view name, DeviceClock* clock) {
  TrackInfo info{.name = as_json(name), .clock = clock};
  if (clock != nullptr) {
    if (const Result<ClockPair> pair = clock->read(); pair.ok()) {
      info.mapped = true;
      info.first = *pair;
      info.map = ClockMap(*pair, *pair);
    } else {
      info.clock = nullptr;
    }
  }
  base::LockGuard lock(mutex_);
  tracks_.push_back(std::move(info));
  return static_cast<Track>(tracks_.size());
}

void Tracer::read_clocks() {
  base::LockGuard lock(mutex_);
  for (TrackInfo& track : tracks_) {
    if (track.clock == nullptr) continue;
    if (const Result<ClockPair> pair = track.clock->read(); pair.ok()) {
      track.map = ClockMap(track.first, *pair);
    }
  }
}

void Tracer::end_clock(const DeviceClock& clock) {
  read_clocks();
  base::LockGuard lock(mutex_);
  for (TrackInfo& track : tracks_) {
    if (track.clock == &clock) track.clock = nullptr;
  }
}

const std::string& Tracer::text(Name name) {
  base::LockGuard lock(mutex_);
  return texts_[name];  // whose address never changes
}

Tracer::TrackInfo Tracer::track(Track track) {
  base::LockGuard lock(mutex_);
  return tracks_[track - 1];
}

ClockMap Tracer::clock_map(Track track) {
  base::LockGuard lock(mutex_);
  return tracks_[track - 1].map;
}

Tracer::Ring* Tracer::ring() noexcept {
  ThisThread& thread = this_thread_;
  if (thread.serial == serial_) [[likely]]
    return thread.ring.get();
  return thread.ended ? nullptr : add_ring();
}

Tracer::Ring* Tracer::add_ring() {
  const Track track = add_track(name_of_this_thread());
  Ref<Ring> ring = Ref<Ring>::adopt(new (std::nothrow) Ring(ring_records_, track));
  if (!ring || ring->records == nullptr) return nullptr;
  {
    base::LockGuard lock(mutex_);
    tracks_[track - 1].is_thread = true;
    rings_.push_back(ring);
  }
  this_thread_.serial = serial_;
  this_thread_.ring = ring;
  return ring.get();
}

void Tracer::drain(Sink& sink, bool last) {
  // The cause of a record from before `until` was itself recorded before it. The rings are read
  // after `until`, so they contain that cause; later records stay for the next drain.
  const Nanoseconds until = last ? std::numeric_limits<Nanoseconds>::max() : now();
  read_clocks();
  std::vector<Ref<Ring>> rings;
  {
    base::LockGuard lock(mutex_);
    rings = rings_;
  }
  for (Ref<Ring>& ring : rings) {
    const std::uint64_t end = ring->written.load(std::memory_order_acquire);
    std::uint64_t at = ring->drained.load(std::memory_order_relaxed);
    for (; at != end && ring->records[at & ring->mask].at <= until; ++at) {
      sink.take(ring->track, ring->records[at & ring->mask]);
    }
    ring->drained.store(at, std::memory_order_release);
  }
  rings.clear();
  {
    // Removes the rings of threads that have ended.
    base::LockGuard lock(mutex_);
    std::erase_if(rings_, [](const Ref<Ring>& ring) {
      return ring->unique() && ring->written.load(std::memory_order_relaxed) ==
                                   ring->drained.load(std::memory_order_relaxed);
    });
  }
  sink.drained(dropped_.exchange(0, std::memory_order_relaxed));
}

Notes::Notes(Tracer& tracer) noexcept : tracer_(tracer), ring_(tracer.ring()) {
  if (ring_ != nullptr) end_ = ring_->written.load(std::memory_order_relaxed);
}

void Notes::add(const Record& record) noexcept {
  ++count_;
  if (ring_ == nullptr || full_) return;
  if (end_ - ring_->drained_seen > ring_->mask) {
    ring_->drained_seen = ring_->drained.load(std::memory_order_acquire);
    full_ = end_ - ring_->drained_seen > ring_->mask;
    if (full_) return;
  }
  ring_->records[end_ & ring_->mask] = record;
  ++end_;
}

Notes::~Notes() {
  if (ring_ == nullptr || full_) {
    tracer_.drop(count_);
    return;
  }
  const std::uint64_t before = ring_->written.load(std::memory_order_relaxed);
  ring_->written.store(end_, std::memory_order_release);
  const std::uint64_t half = (ring_->mask + 1) / 2;
  if (before / half != end_ / half && tracer_.notify_ != nullptr) tracer_.notify_->notify();
}

}  // namespace halyard::inline v0::trace
