// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/chrome_trace.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/format.h"
#include "base/program.h"

namespace halyard::inline v0::trace {
namespace {

template <class... Args>
void append(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  base::append(out, format, std::forward<Args>(args)...);
}

// Prints microseconds with three decimals: nanoseconds.
struct Micros {
  Nanoseconds time;
};

void append(std::string& out, Micros micros) {
  append(out, "{}.{:03}", micros.time / 1000, micros.time % 1000);
}

constexpr const char* kOutcomes[] = {"complete", "failed", "cancelled"};

}  // namespace

ChromeTrace::ChromeTrace(Tracer& tracer, std::string& out, std::uint64_t limit)
    : tracer_(tracer), out_(out), limit_(limit), process_(::getpid()) {
  append(out_,
         "[\n{{\"name\":\"halyard\",\"ph\":\"M\",\"pid\":{},\"tid\":0,\"args\":{{\"format\":1,"
         "\"clock\":\"CLOCK_MONOTONIC\",\"device_clock\":\"as the row's thread_name says\"}}}},\n"
         "{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":"
         "\"{}\"}}}},\n",
         process_, process_, tracer_.text(tracer_.add_name(base::program_name())));
}

void ChromeTrace::begin(const char* phase, Track track, Nanoseconds time) {
  name_track(track);
  ++events_;
  append(out_, "{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":", phase, process_, track);
  append(out_, Micros{time});
}

void ChromeTrace::name_track(Track track) {
  if (track >= named_.size()) named_.resize(track + 1);
  if (track == 0 || named_[track]) return;
  named_[track] = true;
  const Tracer::TrackInfo info = tracer_.track(track);
  append(out_,
         "{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"{}\","
         "\"kind\":\"{}\",\"clock\":\"{}\"}}}},\n",
         process_, track, info.name, info.is_thread ? "thread" : "queue",
         info.mapped ? "the device's, mapped by pairs of readings" : "CLOCK_MONOTONIC");
  append(out_,
         "{{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{"
         "\"sort_index\":{}}}}},\n",
         process_, track, info.is_thread ? 1'000'000 + track : track);
}

// Viewers attach an arrow to a slice only if the slice has a length.
void ChromeTrace::slice(Track track, Nanoseconds start, Nanoseconds end, const std::string& name) {
  begin("X", track, start);
  append(out_, ",\"dur\":");
  append(out_, Micros{std::max<Nanoseconds>(end - start, 1)});
  append(out_, ",\"name\":\"{}\"", name);
}

void ChromeTrace::take(Track thread, const Record& record) {
  const bool part = record.kind == Record::Kind::kWait || record.kind == Record::Kind::kSignal;
  if (!part) {
    end_batch();
    thread_ = thread;
    recorded_ += record.kind != Record::Kind::kCommand && record.kind != Record::Kind::kMemory;
  }
  if (part ? beyond_limit_ != 0 : at_limit()) [[unlikely]]
    return;
  switch (record.kind) {
    case Record::Kind::kSubmission:
    case Record::Kind::kHostWait:
    case Record::Kind::kHostSignal:
    case Record::Kind::kWait:
    case Record::Kind::kSignal:
      batch_.push_back(record);
      break;
    case Record::Kind::kCommand: {
      const ClockMap map = tracer_.clock_map(record.track);
      slice(record.track, map.to_host(record.begin), map.to_host(record.end),
            tracer_.text(record.name));
      append(out_, ",\"cat\":\"command\",\"args\":{{\"submission\":{}", record.id);
      if (record.group != kNoName) append(out_, ",\"group\":\"{}\"", tracer_.text(record.group));
      out_ += "}},\n";
      break;
    }
    case Record::Kind::kMemory:
      begin("C", 0, record.at);
      append(out_, ",\"name\":\"memory {}\",\"args\":{{\"bytes\":{}}}}},\n",
             tracer_.text(record.name), record.value);
      break;
  }
}

// If true, the caller leaves an event out. The first call that returns true writes the note.
bool ChromeTrace::at_limit() {
  if (beyond_limit_ == 0 && drained_ + out_.size() < limit_) return false;
  if (++beyond_limit_ != 1) return true;
  begin("i", 0, tracer_.now());
  append(out_,
         ",\"s\":\"p\",\"name\":\"limit of {} bytes: later events are missing\",\"args\":{{"
         "\"dropped\":0,\"limit\":{}}}}},\n",
         limit_, limit_);
  return true;
}

void ChromeTrace::end_batch() {
  if (batch_.empty()) return;
  if (batch_.front().kind == Record::Kind::kSubmission) {
    submission();
  } else {
    host_slice();
  }
  batch_.clear();
}

void ChromeTrace::submission() {
  const Record& it = batch_.front();
  const std::string row = tracer_.track(it.track).name;
  const auto phase = [&](const char* name, Nanoseconds start, Nanoseconds end) {
    async("b", start, name);
    out_ += "},\n";
    async("e", end, name);
    out_ += "},\n";
  };
  const Nanoseconds issued = it.issued == 0 ? it.at : it.issued;
  async("b", it.submitted, row);
  append(out_, ",\"args\":{{\"submission\":{},\"operation\":\"{}\",\"outcome\":\"{}\"", it.id,
         tracer_.text(it.name), kOutcomes[static_cast<int>(it.outcome)]);
  points(Record::Kind::kWait, ">=");
  points(Record::Kind::kSignal, "=");
  out_ += "}},\n";
  if (issued > it.submitted) phase("parked", it.submitted, issued);
  if (it.issued != 0) phase("issued", issued, it.at);
  async("e", it.at, row);
  out_ += "},\n";
  if (it.end == 0) return;

  const Track track = it.on_thread ? thread_ : it.track;
  const ClockMap map = it.on_thread ? ClockMap() : tracer_.clock_map(track);
  const Nanoseconds start = map.to_host(it.begin);
  const Nanoseconds end = std::max(start + 1, map.to_host(it.end));
  slice(track, start, end, tracer_.text(it.name));
  append(out_, ",\"cat\":\"submission\",\"args\":{{\"submission\":{}}}}},\n", it.id);
  remember({track, end - 1}, {track, start});
}

void ChromeTrace::async(const char* phase, Nanoseconds time, std::string_view name) {
  const Record& it = batch_.front();
  begin(phase, it.track, time);
  append(out_, ",\"cat\":\"submission\",\"id\":\"{:#x}\",\"name\":\"{}\"", it.id, name);
}

void ChromeTrace::points(Record::Kind kind, const char* relation) {
  const char* before = kind == Record::Kind::kWait ? ",\"waits\":[" : ",\"signals\":[";
  bool any = false;
  for (const Record& point : batch_) {
    if (point.kind != kind) continue;
    append(out_, "{}\"semaphore {}", any ? "," : before, point.semaphore);
    if (point.name != kNoName) append(out_, " '{}'", tracer_.text(point.name));
    append(out_, " {} {}\"", relation, point.value);
    any = true;
  }
  if (any) out_ += "]";
}

void ChromeTrace::host_slice() {
  const Record& it = batch_.front();
  const Nanoseconds end = std::max(it.begin + 1, it.at);
  slice(thread_, it.begin, end, tracer_.text(it.name));
  append(out_, ",\"cat\":\"host\",\"args\":{{\"outcome\":\"{}\"",
         kOutcomes[static_cast<int>(it.outcome)]);
  points(Record::Kind::kWait, ">=");
  points(Record::Kind::kSignal, "=");
  out_ += "}},\n";
  if (it.outcome == Record::Outcome::kComplete) remember({thread_, end - 1}, {thread_, end - 1});
}

void ChromeTrace::remember(const Place& source, const Place& target) {
  for (const Record& point : batch_) {
    if (point.kind == Record::Kind::kSignal) {
      if (timelines_[point.semaphore].signals.emplace(point.value, source).second) {
        kept_.emplace_back(point.semaphore, point.value);
      }
      touched_.insert(point.semaphore);
    } else if (point.kind == Record::Kind::kWait) {
      timelines_[point.semaphore].waits.insert({point.value, {target, point.name}});
      touched_.insert(point.semaphore);
    }
  }
}

// Called at the end of a drain: the signals that ended its waits are known then.
void ChromeTrace::match() {
  for (const std::uint64_t semaphore : touched_) {
    auto& [signals, waits] = timelines_[semaphore];
    for (auto wait = waits.begin(); wait != waits.end(); wait = waits.erase(wait)) {
      const auto source = signals.lower_bound(wait->first);
      if (source == signals.end()) break;
      const auto& [target, name] = wait->second;
      // A signal after the end of the wait did not cause it. The right one was dropped, or is no
      // longer kept.
      if (source->second.time <= target.time) flow(semaphore, name, source->second, target);
    }
  }
  touched_.clear();
  for (; kept_.size() > kMostSignals; kept_.pop_front()) {
    const auto at = timelines_.find(kept_.front().first);
    at->second.signals.erase(kept_.front().second);
    if (at->second.signals.empty()) timelines_.erase(at);
  }
}

void ChromeTrace::flow(std::uint64_t semaphore, Name name, const Place& from, const Place& to) {
  if (at_limit()) return;
  ++flows_;
  for (const bool end : {false, true}) {
    const Place& place = end ? to : from;
    begin(end ? "f" : "s", place.track, place.time);
    append(out_, ",\"cat\":\"semaphore\",\"id\":{},\"name\":\"semaphore {}", flows_, semaphore);
    if (name != kNoName) append(out_, " '{}'", tracer_.text(name));
    out_ += end ? "\",\"bp\":\"e\"},\n" : "\"},\n";
  }
}

void ChromeTrace::drained(std::uint64_t dropped) {
  end_batch();
  match();
  dropped_ += dropped;
  if (dropped != 0 && beyond_limit_ == 0) {
    begin("i", 0, tracer_.now());
    append(out_, ",\"s\":\"p\",\"name\":\"{} events dropped\",\"args\":{{\"dropped\":{}}}}},\n",
           dropped, dropped);
  }
  drained_ += out_.size();
}

void ChromeTrace::close() {
  const std::uint64_t given = tracer_.ids();
  const std::uint64_t unended = dropped_ == 0 && given > recorded_ ? given - recorded_ : 0;
  if (unended != 0) {
    begin("i", 0, tracer_.now());
    append(out_,
           ",\"s\":\"p\",\"name\":\"{} had not ended\",\"args\":{{\"dropped\":0,"
           "\"unended\":{}}}}},\n",
           base::counted(unended, "submission"), unended);
  }
  append(out_,
         "{{\"name\":\"halyard_end\",\"ph\":\"M\",\"pid\":{},\"tid\":0,\"args\":{{\"events\":{},"
         "\"dropped\":{}",
         process_, events_, dropped_);
  if (beyond_limit_ != 0) append(out_, ",\"beyond_limit\":{}", beyond_limit_);
  out_ += "}}\n]\n";
}

}  // namespace halyard::inline v0::trace
