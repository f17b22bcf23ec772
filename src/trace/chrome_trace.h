// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ChromeTrace: writes records as Chrome trace events in JSON, which ui.perfetto.dev and
// chrome://tracing open ("Trace Event Format", Google, 2016). One event a line, in an array. Both
// viewers accept an array without its end, so the text is valid at the end of each line.
//
//     row (tid) of a queue     X: a submission while it runs on the device; in it its commands
//     row of a host thread     X: waits, host calls, signals, ends of file transfers
//     async span (b, e)        a submission from submit() until its end was seen: parked, issued
//     flow (s, f)              from a signal to a wait for it
//     counter (C)              memory of a device
//
// An arrow comes from the submission or host signal with the smallest sufficient value.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/tracer.h"

namespace halyard::inline v0::trace {

class ChromeTrace final : public Sink {
 public:
  // Appends to `out`, which the caller empties after each drain; both outlive this. At `limit`
  // bytes the text ends with a note: later events are counted, but not written.
  ChromeTrace(Tracer& tracer, std::string& out, std::uint64_t limit = kNoLimit);
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  void take(Track thread, const Record& record) override;
  void drained(std::uint64_t dropped) override;
  // Called after the last drain. Writes how many submissions have not ended, unless events were
  // dropped.
  void close();

 private:
  // The start or end of an arrow: a moment within a slice.
  struct Place {
    Track track = 0;
    Nanoseconds time = 0;
  };
  struct Waiting {
    Place place;
    Name name = kNoName;
  };
  struct Timeline {
    std::map<std::uint64_t, Place> signals;
    std::multimap<std::uint64_t, Waiting> waits;  // for values whose signals have not been seen
  };
  // Limit on the signals kept for later waits, of all semaphores together.
  static constexpr std::size_t kMostSignals = std::size_t{1} << 17;

  void begin(const char* phase, Track track, Nanoseconds time);
  void slice(Track track, Nanoseconds start, Nanoseconds end, const std::string& name);
  void name_track(Track track);
  bool at_limit();
  void end_batch();
  void submission();
  void host_slice();
  void async(const char* phase, Nanoseconds time, std::string_view name);
  void points(Record::Kind kind, const char* relation);
  void remember(const Place& source, const Place& target);
  void match();
  void flow(std::uint64_t semaphore, Name name, const Place& from, const Place& to);

  Tracer& tracer_;
  std::string& out_;
  const std::uint64_t limit_;
  const int process_;
  std::uint64_t drained_ = 0;       // bytes that the drains before have appended
  std::uint64_t beyond_limit_ = 0;  // events that are left out
  std::vector<bool> named_;         // [track]
  std::vector<Record> batch_;
  Track thread_ = 0;  // of the current batch
  std::unordered_map<std::uint64_t, Timeline> timelines_;
  std::deque<std::pair<std::uint64_t, std::uint64_t>> kept_;  // semaphore, value; oldest first
  std::set<std::uint64_t> touched_;                           // semaphores of this drain
  std::uint64_t flows_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t recorded_ = 0;  // of Tracer::ids()
};

}  // namespace halyard::inline v0::trace
