// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explains a hang: the waits of every submission, and the submissions that were to signal them. If
// memory is exhausted, the text is cut.
#include <algorithm>

#include "base/format.h"
#include "timeline/engine.h"
#include "timeline/issuer.h"
#include "timeline/lane_tracker.h"
#include "timeline/queue.h"
#include "timeline/semaphore.h"
#include "timeline/submission.h"

namespace halyard::inline v0::timeline {
namespace {

constexpr std::size_t kMaxLines = 64;  // per queue; a list of thousands is of no use

}  // namespace

const char* Submission::describe_state() const noexcept {
  switch (state()) {
    case State::kParked:
      return "parked";
    case State::kIssued:
      return "being issued in parts";
    case State::kIssuing:
      return work_ == Work::kInLane     ? "being issued"
             : work_ == Work::kHostWork ? "host work"
                                        : "host call";
    default:
      return "ending";
  }
}

std::string Semaphore::describe_promise(std::uint64_t value) noexcept {
  base::LockGuard lock(mutex_);
  const SignalNode* promise = best_promise(value, kHostDomain);
  if (promise == nullptr) return {};
  return base::format("{}, submission {} in flight, signals {}",
                      promise->submission->queue().name(), promise->submission->place().sequence,
                      promise->key);
}

template <class Describe, class TellWaits>
void Issuer::dump(std::string& text, Describe&& describe, TellWaits&& tell_waits) noexcept {
  const auto show = [&](LaneTracker& lane, const char* kind) {
    lane.take_retire_role();
    const std::uint64_t last = lane.published();
    base::append(text, "    {} has retired {}, issued {}\n", kind, lane.retired(), last);
    const auto list = [&](const char* what, std::uint64_t before, std::uint64_t end, auto&& tell) {
      for (std::uint64_t at = before + 1; at <= end && at <= before + kMaxLines; ++at) {
        if (lane.entry(at).is_part) continue;
        base::append(text, "    {} as {}\n", what, at);
        tell(*lane.entry(at).submission);
      }
    };
    // A submission that the lane has released may be another one by now.
    list("in flight", lane.retired(), std::min(last, lane.in_front()),
         [&](const Submission& submission) {
           submission.is_kept_in_flight() ? tell_waits(submission) : describe(submission);
         });
    // Not their signals: a failure is passed on under no role, and that releases the signals.
    if (lane.quarantined() || lane.stopping()) {
      list("failed, and held", lane.kept_until_, last, tell_waits);
    }
    lane.release_retire_role();
  };
  if (lane_ != nullptr) show(*lane_, "lane");
  for (auto& lane : quarantined_) show(*lane, "quarantined lane");
}

void Queue::dump(std::string& text, const UnissuedSignals& unissued) noexcept {
  const auto describe_wait = [&](const WaitNode& wait) {
    if (std::string promise = wait.semaphore->describe_promise(wait.key); !promise.empty()) {
      return base::append(text, "{}", promise);
    }
    for (const UnissuedSignals::Signal& signal : unissued.signals) {
      if (signal.point.semaphore() == wait.semaphore && signal.point.value() >= wait.key) {
        return base::append(text, "a submission not issued yet on {}, signals {}",
                            signal.by->name(), signal.point.value());
      }
    }
    base::append(text, "{}", unissued.whole ? "no submission: the host" : "unknown: no memory");
  };
  const auto tell_waits = [&](const Submission& submission) {
    for (const WaitNode& wait : submission.waits()) {
      const Semaphore::ValueState state = wait.semaphore->value_state(wait.key);
      if (state == Semaphore::ValueState::kReached) continue;
      base::append(text, "      waits for {} >= {} (is {}), ", wait.semaphore->describe(), wait.key,
                   wait.semaphore->value());
      if (state == Semaphore::ValueState::kFailed) {
        base::append(text, "which has failed");
      } else {
        base::append(text, "to come from ");
        describe_wait(wait);
      }
      base::append(text, "\n");
    }
  };
  const auto describe = [&](const Submission& submission) {
    tell_waits(submission);
    for (const SignalNode& signal : submission.signals()) {
      base::append(text, "      signals {} = {}\n", signal.semaphore->describe(), signal.key);
    }
  };

  if (const std::uint64_t late = late_signals_.load(std::memory_order_relaxed); late != 0) {
    base::append(text, "    late signals: {}, the last one of semaphore {}, to {}\n", late,
                 late_semaphore_.load(std::memory_order_relaxed),
                 late_value_.load(std::memory_order_relaxed));
  }
  std::size_t lines = 0;
  for_each_unissued([&](Submission& submission) {
    if (++lines > kMaxLines) return;
    base::append(text, "    {}\n", submission.describe_state());
    describe(submission);
    if (const std::string held_for = submission.describe_gate(); !held_for.empty()) {
      base::append(text, "      waits for {}\n", held_for);
    }
  });
  if (lines > kMaxLines) base::append(text, "    ... {} more\n", lines - kMaxLines);
  const IssuerRole role(issuer_, IssuerRole::Overtaken::kLeave);  // queues_mutex_ is held
  if (!role) return base::append(text, "    (being issued now)\n");
  role->dump(text, describe, tell_waits);
}

std::string Engine::describe_unissued(const Point& point) noexcept {
  std::string text;
  base::LockGuard lock(queues_mutex_);
  for (Queue* queue : queues_) {
    queue->for_each_unissued([&](Submission& submission) {
      bool signals = false;
      for (const SignalNode& signal : submission.signals()) {
        signals |= signal.semaphore == point.semaphore() && signal.key >= point.value();
      }
      if (!signals || !text.empty()) return;
      text = base::format("a submission on {} that is not issued", queue->name());
      for (const WaitNode& wait : submission.waits()) {
        if (wait.semaphore->value_state(wait.key) == Semaphore::ValueState::kReached) continue;
        base::append(text, ", waits for {} >= {} (is {})", wait.semaphore->describe(), wait.key,
                     wait.semaphore->value());
      }
      if (const std::string held_for = submission.describe_gate(); !held_for.empty()) {
        base::append(text, ", waits for {}", held_for);
      }
    });
  }
  return text;
}

std::string Engine::dump_timelines(const Queue* first) noexcept {
  EffectScope scope(*this, EffectScope::Mode::kDefer);
  UnissuedSignals unissued;
  base::LockGuard lock(queues_mutex_);
  for (Queue* queue : queues_) {
    queue->for_each_unissued([&](Submission& submission) {
      for (const SignalNode& signal : submission.signals()) {
        unissued.whole &= unissued.signals.push_back({{signal.semaphore, signal.key}, queue});
      }
    });
  }
  std::string text;
  if (const std::uint32_t kept = kept_.load(std::memory_order_relaxed); kept != 0) {
    base::append(text, "  {} {} kept for good, as the device may still run {}\n",
                 base::counted(kept, "submission"), kept == 1 ? "is" : "are",
                 kept == 1 ? "it" : "them");
  }
  const auto dump = [&](std::string& into, Queue& queue) {
    base::append(into, "  {}{}\n", queue.name(), queue.device().lost() ? " (device lost)" : "");
    queue.dump(into, unissued);
  };
  for (Queue* queue : queues_) {
    if (queue == first) dump(text, *queue);
  }
  // Queues with work that is not issued come before the others: its waits explain a hang.
  std::string others;
  for (Queue* queue : queues_) {
    if (queue != first) dump(queue->has_unissued() ? text : others, *queue);
  }
  base::append(text, "{}", others);
  return text;
}

}  // namespace halyard::inline v0::timeline
