// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tracer: records events with little disturbance of the program.
//
//     any thread ── Notes ──> its own ring of records ──┐
//     any thread ── Notes ──> its own ring of records ──┼── drain() ──> Sink
//                                full? dropped, counted ┘
//
// A thread writes to its own ring: no lock, no read-modify-write. An object that is not traced has
// a null Tracer pointer, and pays only for testing it. A tracer outlives all objects that hold a
// pointer to it, and the memory of their devices.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic.h"
#include "base/mutex.h"
#include "base/parker.h"
#include "halyard/base/clock.h"
#include "halyard/base/ref.h"
#include "trace/clock_map.h"
#include "trace/record.h"

namespace halyard::inline v0::trace {

// Receives the records. The thread that drains calls it.
class Sink {
 public:
  // `thread`: the track of the thread that recorded it. Batches arrive whole and in their order.
  virtual void take(Track thread, const Record& record) = 0;
  // Ends a drain; `dropped` more records are lost.
  virtual void drained(std::uint64_t dropped) = 0;

 protected:
  ~Sink() = default;
};

// Finds work that has ended but is not recorded yet.
class Source {
 public:
  // Records it. Called by a thread of the trace before it drains. `patient`: a thread waits for
  // that drain, or it is the last. Does not block on a device.
  virtual void note_ended(bool patient) noexcept = 0;

 protected:
  ~Source() = default;
};

class Tracer {
 public:
  static constexpr std::size_t kRecords = std::size_t{1} << 15;  // 2 MiB for each thread

  // `records_per_thread`: a power of two. `clock` outlives this.
  explicit Tracer(Clock& clock, std::size_t records_per_thread = kRecords);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  Nanoseconds now() noexcept { return clock_.now(); }
  std::uint64_t next_id() noexcept { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  // The number of ids returned so far: one for each submission, kHostWait and kHostSignal.
  std::uint64_t ids() const noexcept { return next_id_.load(std::memory_order_relaxed) - 1; }

  // Creates this thread's ring, which its first record would create otherwise. For threads that are
  // about to read a clock, so that construction is not measured.
  void prepare_thread() noexcept { (void)ring(); }

  // Equal texts have equal names. At most kMostNames; further texts get kNoName.
  static constexpr std::size_t kMostNames = std::size_t{1} << 16;
  Name add_name(std::string_view text);
  // Adds a row of the trace. Its times are of `clock` until end_clock(); of the tracer's clock if
  // null.
  Track add_track(std::string_view name, DeviceClock* clock = nullptr);
  void end_clock(const DeviceClock& clock);

  // Passes the records made before this call to `sink`. A record never arrives in an earlier drain
  // than its cause. `last`: passes all records. One thread at a time.
  void drain(Sink& sink, bool last = false);

  // Sets the receiver of a notification when a ring is half full.
  void set_notify(base::Notify* notify) noexcept { notify_ = notify; }

  // ---- For sinks.
  struct TrackInfo {
    std::string name;  // as add_name stores it
    bool is_thread = false;
    DeviceClock* clock = nullptr;
    bool mapped = false;  // by `map`: it has or had a clock
    ClockPair first{};
    ClockMap map{};
  };
  const std::string& text(Name name);  // as in JSON between the quotes
  TrackInfo track(Track track);
  ClockMap clock_map(Track track);

 private:
  friend class Notes;
  struct Ring;
  struct ThisThread;

  Ring* ring() noexcept;
  Ring* add_ring();
  void drop(std::size_t records) noexcept {
    dropped_.fetch_add(records, std::memory_order_relaxed);
  }
  void read_clocks();
  static thread_local ThisThread this_thread_;

  Clock& clock_;
  const std::size_t ring_records_;
  const std::uint64_t serial_;  // unique among all tracers of the process
  base::Notify* notify_ = nullptr;
  base::Atomic<std::uint64_t> next_id_{1};
  base::Atomic<std::uint64_t> dropped_{0};

  base::Mutex mutex_;  // guards the members below
  std::vector<Ref<Ring>> rings_;
  std::map<std::string, Name, std::less<>> names_;
  std::deque<std::string> texts_;  // [name]
  std::deque<TrackInfo> tracks_;   // [track - 1]
};

// A batch of records: records all of them, or none if the thread's ring is full. Not nested.
class Notes {
 public:
  explicit Notes(Tracer& tracer) noexcept;
  ~Notes();
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;

  void add(const Record& record) noexcept;

 private:
  Tracer& tracer_;
  Tracer::Ring* const ring_;
  std::uint64_t end_ = 0;
  std::size_t count_ = 0;
  bool full_ = false;
};

inline void note(Tracer& tracer, const Record& record) noexcept { Notes(tracer).add(record); }

// A driver's timestamps for one submission, in its device's clock. Lives as long as the
// submission's operation.
struct Stamps {
  Tracer* tracer = nullptr;
  Track track = 0;
  std::uint64_t id = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t command_begin = 0;  // for the driver's own use
};

}  // namespace halyard::inline v0::trace
