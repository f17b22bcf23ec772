// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records of a traced engine: submissions when they end, waits and signals of host threads.
#include "timeline/trace.h"

#include "timeline/queue.h"
#include "timeline/submission.h"

namespace halyard::inline v0::timeline {
namespace {

using trace::Record;

Record record_of(Record::Kind kind, std::uint64_t id, Nanoseconds at) noexcept {
  Record record;
  record.kind = kind;
  record.id = id;
  record.at = at;
  return record;
}

Record point_record(const Record& whole, Record::Kind kind, const Semaphore& semaphore,
                    std::uint64_t value) noexcept {
  Record record = record_of(kind, whole.id, whole.at);
  record.name = semaphore.trace_name();
  record.semaphore = semaphore.id();
  record.value = value;
  return record;
}

}  // namespace

void Submission::begin_trace(trace::Tracer& tracer) noexcept {
  stamps_ = {.tracer = &tracer, .track = queue_->track(), .id = tracer.next_id()};
  submitted_ = tracer.now();
  issued_ = 0;
}

// Called before its signals: a thread that they release records later events after this.
void Submission::end_trace(Record::Outcome outcome) noexcept {
  trace::Tracer& tracer = *stamps_.tracer;
  Record record = record_of(Record::Kind::kSubmission, stamps_.id, tracer.now());
  record.outcome = outcome;
  record.track = queue_->track();
  record.name = name_;
  record.submitted = submitted_;
  record.issued = issued_;
  // A device that was lost may be stamping still.
  if (outcome == Record::Outcome::kComplete) {
    record.on_thread = on_host();
    record.begin = work_ != Work::kHostWork ? stamps_.begin : record.at;
    record.end = on_host() ? record.at : stamps_.end;
  }
  trace::Notes notes(tracer);
  notes.add(record);
  for (std::uint32_t i = 0; i < wait_count_; ++i) {
    notes.add(point_record(record, Record::Kind::kWait, *waits_[i].semaphore, waits_[i].key));
  }
  for (std::uint32_t i = 0; i < signal_count_; ++i) {
    notes.add(point_record(record, Record::Kind::kSignal, *signals_[i].semaphore, signals_[i].key));
  }
}

void Semaphore::note_signal(std::uint64_t point) noexcept {
  if (point <= value()) return;  // it will be refused
  if (checker_ != nullptr) checker_->note_signal(*this, point);
  if (tracer_ == nullptr) return;
  Record record = record_of(Record::Kind::kHostSignal, tracer_->next_id(), tracer_->now());
  record.name = trace::kSignalNow;
  record.begin = record.at;
  trace::Notes notes(*tracer_);
  notes.add(record);
  notes.add(point_record(record, Record::Kind::kSignal, *this, point));
}

void note_wait(trace::Tracer& tracer, trace::Name name, Nanoseconds begin,
               std::span<const Point> points, bool in_time) noexcept {
  Record record = record_of(Record::Kind::kHostWait, tracer.next_id(), tracer.now());
  record.name = name;
  record.begin = begin;
  record.outcome = in_time ? Record::Outcome::kComplete : Record::Outcome::kFailed;
  trace::Notes notes(tracer);
  notes.add(record);
  for (const Point& point : points) {
    notes.add(point_record(record, Record::Kind::kWait, *point.semaphore(), point.value()));
  }
}

}  // namespace halyard::inline v0::timeline
