// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lane: a stream of a native library for the timeline engine. Its progress is seen at markers only
// (marks_every_submission is false).
//
//     issue {1}{2}{3, wants a marker}       stream: wait(edge) [1] [2] [3] record(marker 3)
//     poll()                                query(oldest marker): reached? the lane is at 3
//     edge to (this lane, 3)                hold(marker 3), wait(marker 3), release(marker 3)
//
// `Commands` puts operations into the stream:
//
//     Status put(const Api&, Api::Stream, const timeline::Issue&, bool& started)
//     static bool is_empty(const timeline::Issue&)
//
// and sets `started` once one of its native calls has succeeded. An empty operation makes no native
// call.
//
// The owner of a borrowed stream may capture it (CUDA: cuStreamBeginCapture). Work issued during
// the capture becomes part of the owner's graph and does not run. A query of the stream, or of an
// event recorded in it during the capture, ends the capture. So a lane on a borrowed stream
//
//   - checks for a capture before it issues anything, and fails the submission if there is one;
//   - records a marker after each submission, so that its completion is visible during a later
//     capture;
//   - checks again after the marker. A capture that began in between may have taken the submission,
//     which then fails, and the event, which is then not queried;
//   - writes no completion flag, because every launch of the owner's graph would write it again.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/atomic.h"
#include "base/format.h"
#include "drivers/stream/api.h"
#include "drivers/stream/completion.h"
#include "drivers/stream/marker_table.h"
#include "drivers/stream/notification.h"
#include "timeline/lane_end.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::stream {

// After this time abandon() reports work that cannot be stopped as kStillRunning.
inline constexpr Nanoseconds kPatience = 10'000'000'000;

template <StreamApi Api, class Commands>
class Lane : public timeline::NativeQueue {
 public:
  // `guard` sets the context of the stream; may be null. Modes other than kHostCallback need a
  // CompletionApi. `priority` applies to the streams that the lane creates, not to a borrowed one.
  Lane(const Api& api, Commands commands, timeline::EntryGuard* guard, std::uint32_t max_in_flight,
       CompletionMode mode = CompletionMode::kHostCallback, Nanoseconds poll_time = 0,
       int priority = 0)
      : capabilities_{.marks_every_submission = false,
                      .max_in_flight = max_in_flight,
                      .poll_time = poll_time},
        api_(api),
        commands_(std::move(commands)),
        guard_(guard),
        mode_(mode),
        priority_(priority),
        markers_(api, max_in_flight),
        notifier_(api, markers_, mode, guard, priority) {}
  // Called within the guard. Precondition: abandon() has returned kStopped.
  ~Lane() override {
    if (open_ && !borrowed_) api_.destroy(stream_);
    flag_.close(api_);
  }

  // Called once, within the guard. abandon() and the destructor also undo an open() that failed.
  // The lane uses the stream `borrowed` if it is not {}; its owner keeps it while work of this lane
  // is unfinished.
  Status open(typename Api::Stream borrowed = {}) {
    HALYARD_RETURN_IF_ERROR(markers_.open());
    borrowed_ = borrowed != typename Api::Stream{};
    stream_ = borrowed;
    if (!borrowed_) HALYARD_RETURN_IF_ERROR(api_.create_stream(stream_, priority_));
    open_ = true;
    if (mode_ == CompletionMode::kFlag && !borrowed_) HALYARD_RETURN_IF_ERROR(flag_.open(api_));
    return notifier_.open();
  }

  const timeline::QueueCapabilities& capabilities() const noexcept override {
    return capabilities_;
  }
  timeline::EntryGuard* entry_guard() const noexcept override { return guard_.get(); }
  bool needs_guard(const timeline::Issue& issue) const noexcept override {
    // On a borrowed stream every submission makes native calls: the capture check and the marker.
    return borrowed_ || !issue.waits.empty() || issue.want_marker || !Commands::is_empty(issue);
  }

  timeline::IssueResult issue(std::span<const timeline::Issue> batch,
                              timeline::Doorbell) noexcept override {
    timeline::IssueResult result;
    if (end_.begun()) {
      result.status = end_.cause();
      return result;
    }
    if (borrowed_) result.status = api_.check_capture(stream_);
    if (!result.status.ok()) return result;
    for (const timeline::Issue& issue : batch) {
      assert(issue.sequence == issued_ + 1 && "sequences have no gaps");
      result.status = put(issue, result);
      const bool in_lane = result.status.ok() || result.left != timeline::Left::kNothing;
      if (in_lane) issued_ = issue.sequence;
      if (!result.status.ok()) {
        if (borrowed_) name_capture(result.status);
        break;
      }
      result.left = timeline::Left::kNothing;
      if (borrowed_ || issue.want_marker) {
        Status marked = record();
        if (is_capture(marked)) {
          result.status = std::move(marked);
          result.left = timeline::Left::kStarted;
          break;
        }
        // If this is a fault, mark() sees it again.
        if (issue.want_marker && !marked.ok()) result.unmarked = true;
      }
      ++result.count;
    }
    return result;
  }

  Status mark() noexcept override {
    Status status;
    if (borrowed_ && markers_.newest() != issued_) status = as_fault(api_.check_capture(stream_));
    if (status.ok()) status = record();
    // Rare, since issue() records a marker. This one can be recorded once the capture has ended.
    if (is_capture(status)) return Status(StatusCode::kResourceExhausted, status.message());
    return status;
  }

  // After a fault, submissions that completed before it but were not polled yet are not reported. A
  // stream reaches its markers in order, and a query takes 0.2 us in a GPU's driver. So after two
  // reached markers the search doubles its step with each query, and then bisects between the last
  // reached and the first unreached marker.
  timeline::Progress poll() noexcept override {
    constexpr std::uint32_t kAll = ~std::uint32_t{0};
    Status fault = end_.status();
    std::uint32_t open = kAll;  // how many of the oldest markers may be reached
    std::uint32_t place = 1;    // of the next marker to query
    for (int reached = 0; fault.ok() && open != 0;) {
      const auto* const marker = markers_.live(place);
      if (marker == nullptr) break;
      const Result<bool> is = is_reached(*marker);
      if (is.ok() || !still_works()) fault = as_fault(is.status());
      if (!is.ok()) break;
      if (*is) {
        markers_.pass(marker->sequence());
        if (open != kAll) open -= place;
        ++reached;
      } else {
        open = place - 1;
      }
      place = open != kAll ? (open + 1) / 2 : reached < 2 ? 1 : 2 * place;
    }
    return {.sequence = markers_.passed(), .fault = std::move(fault)};
  }

  void note_passed(std::uint64_t sequence) noexcept override { markers_.pass(sequence); }

  Status probe() noexcept override {
    if (end_.begun()) return end_.cause();
    const Status status = as_fault(borrowed_ ? query_borrowed() : api_.query(stream_));
    return status.ok() || !still_works() ? status : Status();
  }

  Status arm(std::uint64_t sequence, base::Notify& notify) noexcept override {
    const Status status = as_fault(notifier_.arm(sequence, notify));
    if (status.ok() || !still_works()) return status;
    notify.notify();  // early
    return {};
  }

  timeline::Abandoned abandon(const Status& cause, Nanoseconds waited) noexcept override {
    using timeline::Abandoned;
    return end_.abandon(cause, [&] {
      // The notifier stops after the lane's stream, since it waits for the markers in it.
      const Abandoned now = notifier_.stop(stop_stream());
      return now == Abandoned::kStopping && waited >= kPatience ? Abandoned::kStillRunning : now;
    });
  }

 protected:
  std::uint64_t issued() const noexcept { return issued_; }
  std::uint64_t passed() const noexcept { return markers_.passed(); }

 private:
  timeline::Abandoned stop_stream() noexcept {
    if (!open_) return timeline::Abandoned::kStopped;
    if (borrowed_) return stop_borrowed();
    if (markers_.passed() == issued_) (void)api_.finish(stream_);
    return api_.stop(stream_);
  }

  // Whether the lane's own work has ended. Queries the stream only if there is no marker at the
  // tail, and never during a capture.
  timeline::Abandoned stop_borrowed() noexcept {
    using timeline::Abandoned;
    if (markers_.passed() == issued_) return Abandoned::kStopped;  // the stream may be gone
    if (markers_.newest() != issued_) {
      return is_capture(api_.check_capture(stream_)) ? Abandoned::kStopping : api_.stop(stream_);
    }
    auto* const marker = markers_.hold(issued_);
    if (marker == nullptr) return Abandoned::kStopped;
    const Result<bool> is_reached = api_.query(marker->event());
    markers_.release(*marker);
    if (!is_reached.ok()) return Abandoned::kStillRunning;
    return *is_reached ? Abandoned::kStopped : Abandoned::kStopping;
  }

  // Returns a fault of the device without querying the stream.
  Status query_borrowed() noexcept {
    auto* const marker = markers_.hold_from(markers_.passed() + 1);
    if (marker == nullptr) {
      const Status status = api_.check_capture(stream_);
      return is_capture(status) ? Status() : status;
    }
    const Status status = api_.query(marker->event()).status();
    markers_.release(*marker);
    return status;
  }

  // A native wait stays in the stream ahead of later work, even if the submission fails. The engine
  // must know of it, since the device that it waits for may be lost (rule 27).
  Status put(const timeline::Issue& issue, timeline::IssueResult& result) noexcept {
    for (const timeline::Edge& edge : issue.waits) {
      HALYARD_RETURN_IF_ERROR(wait_for(edge, result.left));
    }
    bool started = false;
    Status status = commands_.put(api_, stream_, issue, started);
    if (started) result.left = timeline::Left::kStarted;
    return status;
  }

  Status wait_for(const timeline::Edge& edge, timeline::Left& left) noexcept {
    MarkerTable<Api>& producer = static_cast<Lane*>(edge.queue)->markers_;
    auto* const marker = producer.hold(edge.sequence);
    if (marker == nullptr) return {};  // passed
    Status status = api_.wait(stream_, marker->event());
    producer.release(*marker);
    if (status.ok()) left = timeline::Left::kWaits;
    return status;
  }

  // After a fault the flag no longer advances. If a fault is likely, the event is queried, which
  // reports it.
  Result<bool> is_reached(const typename MarkerTable<Api>::Marker& marker) const noexcept {
    if (flag_.used() && !notifier_.failed()) return flag_.read(api_) >= marker.sequence();
    return api_.query(marker.event());
  }

  // Records a marker at the tail unless there is one. Returns kResourceExhausted if there is no
  // event now. Any other failure is device loss, since the lane's progress could no longer be
  // observed.
  Status record() noexcept {
    if (markers_.newest() == issued_) return {};
    HALYARD_ASSIGN_OR_RETURN(auto* const marker, markers_.take());
    // The flag is written first: a thread that the event wakes reads it.
    Status status = flag_.used() ? flag_.write(api_, stream_, issued_) : Status();
    if (status.ok()) status = api_.record(marker->event(), stream_);
    if (borrowed_) name_capture(status);
    if (!status.ok()) {
      markers_.give_back(*marker);
      if (is_capture(status) || !still_works()) return as_loss(status);
      return Status(StatusCode::kResourceExhausted, status.message(), status.native_error());
    }
    markers_.add(*marker, issued_);
    notifier_.marker_added();
    return {};
  }

  // Replaces the status of a call by the status of the capture check, if there is a capture.
  void name_capture(Status& status) const noexcept {
    Status captured = api_.check_capture(stream_);
    if (status.ok() || is_capture(captured)) status = std::move(captured);
  }
  static bool is_capture(const Status& status) noexcept {
    return status.code() == StatusCode::kFailedPrecondition;
  }

  // After an error: whether the library reports that the device still works. This is accepted
  // kMostDoubts times only, since the lane's progress cannot be observed meanwhile.
  bool still_works() noexcept {
    if constexpr (requires { api_.still_works(stream_); }) {
      return doubts_.fetch_add(1, std::memory_order_relaxed) < kMostDoubts &&
             api_.still_works(stream_);
    } else {
      return false;
    }
  }

  // Converts the status of a call that succeeds on every healthy device, except during a capture.
  static Status as_fault(const Status& status) {
    return status.code() == StatusCode::kResourceExhausted ? Status() : as_loss(status);
  }
  static Status as_loss(const Status& status) {
    if (status.ok() || status.code() == StatusCode::kDeviceLost || is_capture(status)) {
      return status;
    }
    return Status(StatusCode::kDeviceLost, status.message(), status.native_error());
  }

  const timeline::QueueCapabilities capabilities_;
  const Api api_;
  Commands commands_;
  const Ref<timeline::EntryGuard> guard_;
  const CompletionMode mode_;
  const int priority_;
  typename Api::Stream stream_{};
  bool open_ = false;
  bool borrowed_ = false;     // the stream is its owner's
  LaneFlag<Api> flag_;        // in kFlag
  std::uint64_t issued_ = 0;  // the issuer's
  MarkerTable<Api> markers_;
  Notifier<Api> notifier_;

  static constexpr std::uint32_t kMostDoubts = 64;
  base::Atomic<std::uint32_t> doubts_{0};  // errors after which the library was asked

  timeline::LaneEnd end_;
};

}  // namespace halyard::inline v0::stream
