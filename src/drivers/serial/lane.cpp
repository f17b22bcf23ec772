// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/serial/lane.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error_name.h"
#include "base/format.h"
#include "drivers/serial/command_buffer.h"
#include "trace/command_note.h"

namespace halyard::inline v0::serial {
namespace {

// A running command cannot be stopped. abandon() waits kMoment for it in each call, and reports it
// as kStillRunning after kPatience.
constexpr Nanoseconds kMoment = 1'000'000;
constexpr Nanoseconds kPatience = 1'000'000'000;

}  // namespace

Result<std::unique_ptr<Lane>> Lane::create() {
  std::unique_ptr<Lane> lane(new (std::nothrow) Lane);
  if (lane == nullptr) return error(StatusCode::kResourceExhausted, "serial: no memory for a lane");
  const auto body = [](void* self) { static_cast<Lane*>(self)->serve(); };
  if (const int code = lane->thread_.start("hy-serial", body, lane.get()); code != 0) {
    return Status(StatusCode::kResourceExhausted,
                  "serial: the thread of a lane could not be started", base::error_name(code));
  }
  return lane;
}

Lane::~Lane() {
  (void)abandon(Status(StatusCode::kCancelled, "serial: the lane is closed"), 0);
  if (thread_.started()) thread_.join();
  base::ParkerPool::release(parker_);
}

const timeline::QueueCapabilities& Lane::capabilities() const noexcept {
  static constexpr timeline::QueueCapabilities kCapabilities{.marks_every_submission = true,
                                                             .max_in_flight = kMaxInFlight};
  return kCapabilities;
}

timeline::IssueResult Lane::issue(std::span<const timeline::Issue> batch,
                                  timeline::Doorbell) noexcept {
  timeline::IssueResult result;
  if (end_.begun()) {
    result.status = end_.cause();
    return result;
  }
  for (const timeline::Issue& issue : batch) {
    if (issue.sequence - sequence_.load(std::memory_order_acquire) > kMaxInFlight) {
      result.busy = true;
      break;
    }
    Slot& free = slot(issue.sequence);
    free.operation = static_cast<const hal::Operation*>(issue.operation);
    free.stamps = issue.stamps;
    free.waits.shrink(0);
    for (const timeline::Edge& edge : issue.waits) {  // the span is the engine's, for this call
      if (!free.waits.push_back(edge)) {
        result.status = error(StatusCode::kResourceExhausted, "serial: no memory for {} edges",
                              issue.waits.size());
      }
    }
    if (!result.status.ok()) break;
    ++result.count;
  }
  if (result.count != 0) {
    issued_.store(batch[result.count - 1].sequence, std::memory_order_seq_cst);
    parker_.wake();
  }
  return result;
}

timeline::Progress Lane::poll() noexcept {
  return {.sequence = sequence_.load(std::memory_order_acquire), .fault = probe()};
}

Status Lane::probe() noexcept { return end_.status(); }

Status Lane::arm(std::uint64_t sequence, base::Notify& notify) noexcept {
  armed_.arm(sequence, notify);
  return {};
}

timeline::Abandoned Lane::abandon(const Status& cause, Nanoseconds waited) noexcept {
  using timeline::Abandoned;
  return end_.abandon(cause, [&] {
    parker_.wake();
    if (turn_.try_lock_until(Clock::steady().now() + kMoment)) {
      turn_.unlock();
      return Abandoned::kStopped;
    }
    // A thread without a running operation releases its turn as soon as the system schedules it.
    if (waited < kPatience || !running_.load(std::memory_order_seq_cst)) {
      return Abandoned::kStopping;
    }
    armed_.close();
    thread_.detach();  // it ends with the operation, in a lane that stays
    return Abandoned::kStillRunning;
  });
}

void Lane::serve() noexcept {
  for (;;) {
    const std::uint32_t epoch = parker_.prepare();  // before the checks below (base/parker.h)
    if (end_.begun()) return;
    if (issued_.load(std::memory_order_seq_cst) == sequence_.load(std::memory_order_relaxed)) {
      (void)parker_.park(epoch, Deadline::kForeverTime);
    } else {
      run_next();
    }
  }
}

void Lane::run_next() noexcept {
  const std::uint64_t sequence = sequence_.load(std::memory_order_relaxed) + 1;
  {
    base::LockGuard lock(turn_);
    const Slot& next = slot(sequence);
    for (const timeline::Edge& edge : next.waits) {
      if (!wait_for(edge)) return;
    }
    if (end_.begun()) return;
    running_.store(true, std::memory_order_seq_cst);
    const bool ended = run(next);
    running_.store(false, std::memory_order_seq_cst);
    if (!ended) return;
    sequence_.store(sequence, std::memory_order_seq_cst);
  }
  armed_.advance(sequence);  // after sequence_ is stored: a notified waiter reads it
}

// The other lane stays open until this submission is passed or abandoned.
bool Lane::wait_for(const timeline::Edge& edge) noexcept {
  auto& producer = *static_cast<Lane*>(edge.queue);
  for (;;) {
    const std::uint32_t epoch = parker_.prepare();
    if (end_.begun()) return false;
    if (producer.sequence_.load(std::memory_order_acquire) >= edge.sequence) return true;
    (void)producer.arm(edge.sequence, parker_);
    (void)parker_.park(epoch, Deadline::kForeverTime);
  }
}

bool Lane::run(const Slot& next) noexcept {
  const hal::Operation& operation = *next.operation;
  trace::Stamps* const stamps = next.stamps;
  if (stamps != nullptr) {
    stamps->tracer->prepare_thread();
    stamps->command_begin = stamps->begin = stamps->tracer->now();
  }
  bool ended = true;
  switch (operation.kind) {
    case hal::OperationKind::kBarrier:
      break;
    case hal::OperationKind::kExecute:
      ended = static_cast<const CommandBuffer*>(operation.native)
                  ->run(operation.table, end_.flag(), stamps);
      break;
    case hal::OperationKind::kCommand:
      ended = run_command(operation.command, nullptr, end_.flag());
      if (stamps != nullptr)
        trace::note_command(*stamps, {.name = hal::name_of(operation.command)});
      break;
  }
  if (stamps != nullptr) stamps->end = stamps->tracer->now();
  return ended;
}

}  // namespace halyard::inline v0::serial
