// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explaining a hang: what every submission waits for, and who was to signal it.
#include <algorithm>
#include <vector>

#include "base/format.h"
#include "timeline/engine.h"
#include "timeline/lane.h"
#include "timeline/queue.h"
#include "timeline/semaphore.h"
#include "timeline/submission.h"

namespace halyard::inline v0::timeline {
namespace {

constexpr std::size_t kMaxLines = 64;  // per queue; a backlog of thousands helps nobody

}  // namespace

std::string Semaphore::describe_promise(std::uint64_t value) noexcept {
  base::LockGuard lock(mutex_);
  const SignalNode* promise = best_promise(value, kHostDomain);
  if (promise == nullptr) return {};
  return base::format("{}, submission {} in flight, signals {}",
                      promise->submission->queue().name(), promise->submission->sequence_,
                      promise->key);
}

void Queue::dump(std::string& text, const std::vector<Point>& unissued_signals,
                 const std::vector<const Queue*>& signallers) noexcept {
  const auto who = [&](const WaitNode& wait) -> std::string {
    if (std::string promise = wait.semaphore->describe_promise(wait.key); !promise.empty()) {
      return promise;
    }
    for (std::size_t i = 0; i < unissued_signals.size(); ++i) {
      if (unissued_signals[i].semaphore == wait.semaphore &&
          unissued_signals[i].value >= wait.key) {
        return base::format("a submission not issued yet on {}, signals {}", signallers[i]->name(),
                            unissued_signals[i].value);
      }
    }
    return "no submission: the host";
  };
  const auto describe = [&](const Submission& submission) {
    for (std::uint32_t i = 0; i < submission.wait_count_; ++i) {
      const WaitNode& wait = submission.waits_[i];
      const char* what =
          wait.semaphore->look(wait.key) == Semaphore::Look::kReached ? "had" : "waits for";
      text += base::format("      {} {} >= {} (is {}", what, wait.semaphore->describe(), wait.key,
                           wait.semaphore->value());
      text += what[0] == 'h' ? ")\n" : base::format("), to come from {}\n", who(wait));
    }
    for (std::uint32_t i = 0; i < submission.signal_count_; ++i) {
      text += base::format("      signals {} = {}\n", submission.signals_[i].semaphore->describe(),
                           submission.signals_[i].key);
    }
  };

  std::size_t lines = 0;
  {
    base::LockGuard lock(mutex_);
    unissued_.for_each([&](Submission& submission) {
      if (++lines > kMaxLines) return;
      const Submission::State in = submission.state();
      const char* state = in == Submission::State::kParked         ? "parked"
                          : in != Submission::State::kIssuing      ? "ending"
                          : submission.host_call_ != nullptr       ? "host call"
                          : submission.start_host_work_ != nullptr ? "host work"
                                                                   : "being issued";
      text += base::format("    {}\n", state);
      describe(submission);
      if (submission.gate_ != nullptr && submission.gate_->describe != nullptr) {
        submission.gate_->describe(submission.payload_, text);
      }
    });
  }
  if (lines > kMaxLines) text += base::format("    ... {} more\n", lines - kMaxLines);
  if (!take_role()) {
    text += "    (being issued now)\n";
    return;
  }
  const auto show = [&](Lane& lane, const char* kind) {
    lane.take_retire_role();
    const std::uint64_t last = lane.published();
    text += base::format("    {} has retired {}, issued {}\n", kind, lane.retired(), last);
    const auto list = [&](const char* what, std::uint64_t before, std::uint64_t end) {
      for (std::uint64_t at = before + 1; at <= end && at <= before + kMaxLines; ++at) {
        text += base::format("    {} as {}\n", what, at);
        describe(*lane.entry(at).submission);
      }
    };
    // What the lane has let go of may be another submission by now.
    list("in flight", lane.retired(), std::min(last, lane.in_front()));
    if (lane.quarantined()) list("failed, and held", lane.held_, last);
    lane.release_retire_role();
  };
  if (lane_ != nullptr) show(*lane_, "lane");
  for (auto& lane : quarantined_) show(*lane, "quarantined lane");
  if (release_role(/*may_retire=*/false)) schedule();  // queues_mutex_ is held
}

std::string Engine::describe_unissued(const Point& point) noexcept {
  std::string text;
  base::LockGuard lock(queues_mutex_);
  for (Queue* queue : queues_) {
    base::LockGuard queue_lock(queue->mutex_);
    queue->unissued_.for_each([&](Submission& submission) {
      bool signals = false;
      for (std::uint32_t i = 0; i < submission.signal_count_; ++i) {
        const SignalNode& signal = submission.signals_[i];
        signals |= signal.semaphore == point.semaphore && signal.key >= point.value;
      }
      if (!signals || !text.empty()) return;
      text = base::format("a submission on {} that is not issued", queue->name());
      for (std::uint32_t i = 0; i < submission.wait_count_; ++i) {
        const WaitNode& wait = submission.waits_[i];
        if (wait.semaphore->look(wait.key) == Semaphore::Look::kReached) continue;
        text += base::format(", waits for {} >= {} (is {})", wait.semaphore->describe(), wait.key,
                             wait.semaphore->value());
      }
    });
  }
  return text;
}

std::string Engine::dump_timelines(const Queue* first) noexcept {
  EffectScope scope(*this, EffectScope::Mode::kDefer);
  std::vector<Point> signals;
  std::vector<const Queue*> signallers;
  base::LockGuard lock(queues_mutex_);
  for (Queue* queue : queues_) {
    base::LockGuard queue_lock(queue->mutex_);
    queue->unissued_.for_each([&](Submission& submission) {
      for (std::uint32_t i = 0; i < submission.signal_count_; ++i) {
        signals.push_back({submission.signals_[i].semaphore, submission.signals_[i].key});
        signallers.push_back(queue);
      }
    });
  }
  std::string text;
  const auto dump = [&](Queue& queue) {
    text += base::format("  {}{}\n", queue.name(), queue.device().lost() ? " (device lost)" : "");
    queue.dump(text, signals, signallers);
  };
  for (Queue* queue : queues_) {
    if (queue == first) dump(*queue);
  }
  for (Queue* queue : queues_) {
    if (queue != first) dump(*queue);
  }
  return text;
}

}  // namespace halyard::inline v0::timeline
