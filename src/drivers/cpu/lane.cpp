// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/lane.h"

#include <cassert>
#include <new>

#include "base/format.h"
#include "drivers/cpu/command_buffer.h"
#include "drivers/cpu/packet.h"
#include "drivers/cpu/slice.h"
#include "hal/recording/command.h"
#include "trace/command_note.h"

namespace halyard::inline v0::cpu {
namespace {

// A running workgroup cannot be stopped. abandon() waits kMoment for it in each call, and reports
// it as kStillRunning after kPatience.
constexpr Nanoseconds kMoment = 1'000'000;
constexpr Nanoseconds kPatience = 1'000'000'000;

// 128 KiB, half of a small second-level cache. The ring holds kMaxInFlight submissions with one
// edge each, so issue() reports a full ring only if many submissions wait for several lanes.
constexpr std::size_t kRingPackets = 2048;
static_assert(kRingPackets >= 2 * kMaxInFlight);

// If a submission has more edges than this, they are in a separate list, so that every submission
// fits the ring.
constexpr std::size_t kMaxWaitPackets = 8;

// kCall packets before and after a traced submission. Words: trace::Stamps*, and the name of the
// command between them unless it notes its commands itself.
void stamp_begin(const std::uint64_t* words) {
  auto& stamps = *reinterpret_cast<trace::Stamps*>(words[0]);
  stamps.tracer->prepare_thread();
  stamps.begin = stamps.tracer->now();
  stamps.command_begin = stamps.tracer->now();  // within the submission
}

void stamp_end(const std::uint64_t* words) {
  auto& stamps = *reinterpret_cast<trace::Stamps*>(words[0]);
  const auto name = static_cast<trace::Name>(words[1]);
  if (name != trace::kNoName) trace::note_command(stamps, {.name = name});
  stamps.end = stamps.tracer->now();
}

}  // namespace

Result<std::unique_ptr<Lane>> Lane::create(RingGroup& group, RingPriority priority) {
  std::unique_ptr<Lane> lane(new (std::nothrow) Lane(group));
  if (lane == nullptr) return error(StatusCode::kResourceExhausted, "cpu: no memory for a lane");
  HALYARD_ASSIGN_OR_RETURN(lane->ring_, Ring::create(group, &lane->sequence_, kRingPackets, nullptr,
                                                     priority, lane.get()));
  return lane;
}

Lane::~Lane() {
  if (ring_ == nullptr) return;
  ring_->close();
  (void)sequence_.unlink(least_armed_);
}

const timeline::QueueCapabilities& Lane::capabilities() const noexcept {
  static constexpr timeline::QueueCapabilities kCapabilities{.marks_every_submission = true,
                                                             .max_in_flight = kMaxInFlight};
  return kCapabilities;
}

timeline::IssueResult Lane::issue(std::span<const timeline::Issue> batch,
                                  timeline::Doorbell doorbell) noexcept {
  timeline::IssueResult result;
  if (end_.begun()) {
    result.status = end_.cause();
    return result;
  }
  for (const timeline::Issue& issue : batch) {
    const bool traced = issue.stamps != nullptr;
    const std::size_t packets = traced ? 3 : 1;
    if (!ring_->has_room(packets + std::min(issue.waits.size(), kMaxWaitPackets))) {
      result.busy = true;
      break;
    }
    if (!issue.waits.empty()) result.status = push_waits(issue.waits);
    if (!result.status.ok()) break;
    if (traced) [[unlikely]] {
      push_traced(issue);
    } else {
      push(*static_cast<const hal::Operation*>(issue.operation), issue.sequence);
    }
    ++result.count;
  }
  if (doorbell == timeline::Doorbell::kRing && result.count != 0) {
    rung_.store(batch[result.count - 1].sequence, std::memory_order_relaxed);
    group_.bell(*ring_);
  }
  return result;
}

Status Lane::push_waits(std::span<const timeline::Edge> waits) noexcept {
  const auto signal_of = [](const timeline::Edge& edge) {
    return &static_cast<Lane*>(edge.queue)->sequence_;
  };
  if (waits.size() <= kMaxWaitPackets) {
    for (const timeline::Edge& edge : waits) {
      ring_->push(PacketKind::kWait, 0, word(signal_of(edge)), edge.sequence);
    }
    return {};
  }
  auto* points = new (std::nothrow) WaitPoint[waits.size()];
  if (points == nullptr) {
    return error(StatusCode::kResourceExhausted, "cpu: no memory for {} edges", waits.size());
  }
  for (std::size_t i = 0; i < waits.size(); ++i) {
    points[i] = {signal_of(waits[i]), waits[i].sequence};
  }
  ring_->push(PacketKind::kWaitList, 0, word(points), waits.size());
  return {};
}

// The last packet writes the sequence, after all stamps.
void Lane::push_traced(const timeline::Issue& issue) noexcept {
  const auto& operation = *static_cast<const hal::Operation*>(issue.operation);
  trace::Name name = trace::kNoName;
  ring_->push(PacketKind::kCall, 0, word(&stamp_begin), word(issue.stamps));
  if (operation.kind == hal::OperationKind::kExecute) {
    ring_->push(PacketKind::kCustom, 0, word(&CommandBuffer::run_traced),
                word(static_cast<const CommandBuffer*>(operation.native)), word(operation.table),
                word(issue.stamps));
  } else {
    if (operation.kind == hal::OperationKind::kCommand) name = hal::name_of(operation.command);
    push(operation, 0);
  }
  ring_->push(PacketKind::kCall, issue.sequence, word(&stamp_end), word(issue.stamps),
              std::uint64_t{name});
}

// `sequence`: the lane's sequence once the operation has completed; 0 leaves it unchanged.
void Lane::push(const hal::Operation& operation, std::uint64_t sequence) noexcept {
  switch (operation.kind) {
    case hal::OperationKind::kBarrier:
      ring_->push(PacketKind::kNop, sequence);
      return;
    case hal::OperationKind::kExecute:
      ring_->push(PacketKind::kCustom, sequence, word(&CommandBuffer::run),
                  word(static_cast<const CommandBuffer*>(operation.native)), word(operation.table));
      return;
    case hal::OperationKind::kCommand:
      break;
  }
  const hal::Command& command = operation.command;
  switch (command.kind) {
    case hal::CommandKind::kBarrier:
    case hal::CommandKind::kSetEvent:
    case hal::CommandKind::kResetEvent:
    case hal::CommandKind::kWaitEvent:
      ring_->push(PacketKind::kNop, sequence);
      break;
    case hal::CommandKind::kFill:
      ring_->push(PacketKind::kFill, sequence, word(address_of(command.fill.target)),
                  command.fill.target.length, std::uint64_t{command.fill.pattern},
                  std::uint64_t{command.fill.pattern_size});
      break;
    case hal::CommandKind::kUpdate:
      ring_->push(PacketKind::kCopy, sequence, word(address_of(command.update.target)),
                  word(command.update.source), command.update.target.length);
      break;
    case hal::CommandKind::kCopy:
      ring_->push(PacketKind::kCopy, sequence, word(address_of(command.copy.target)),
                  word(address_of(command.copy.source)), command.copy.source.length);
      break;
    case hal::CommandKind::kDispatch:
      ring_->push(PacketKind::kCustom, sequence, word(&run_dispatch), word(&command.dispatch));
      break;
  }
}

timeline::Progress Lane::poll() noexcept {
  timeline::Progress progress{.sequence = sequence_.value(), .fault = {}};
  if (end_.begun()) [[unlikely]]
    progress.fault = end_.cause();
  return progress;
}

Status Lane::probe() noexcept { return end_.status(); }

Status Lane::arm(std::uint64_t sequence, base::Notify& notify) noexcept {
  armed_.arm(sequence, notify);
  follow_armed();
  wake_if_left();  // a waiter that arms has stopped helping
  return {};
}

// The ring writes only its signal, not the list. So the list is a waiter of that signal, always for
// the least armed sequence. Both arm() and the signal call this.
void Lane::follow_armed() noexcept {
  for (;;) {
    {
      base::LockGuard lock(follow_mutex_);
      const std::uint64_t least = armed_.least();
      if (least == timeline::NotifyList::kNothing || sequence_.arm(least_armed_, least)) return;
    }
    armed_.advance(sequence_.value());
  }
}

void Lane::wake_if_left() noexcept {
  if (ring_->ready() || ring_->has_chunk()) group_.wake(1);
}

bool Lane::help(std::uint64_t sequence) noexcept {
  if (sequence_.value() >= sequence) return false;
  Slice slice(/*chunks=*/1);
  if (!ring_->step(slice, /*wake=*/false)) return group_.step(slice, ring_.get());
  // While this thread ran the ring, doorbells had no effect. The thread returns when its sequence
  // is reached, before later submissions have run.
  const std::uint64_t reached = sequence_.value();
  if (reached >= sequence || rung_.load(std::memory_order_relaxed) > reached) wake_if_left();
  return true;
}

// Reports a fault of a checked kernel. All waiters poll at once.
void Lane::fault(const Status& cause) noexcept {
  end_.begin(cause);
  armed_.advance(timeline::NotifyList::kNothing - 1);
}

timeline::Abandoned Lane::abandon(const Status& cause, Nanoseconds waited) noexcept {
  using timeline::Abandoned;
  return end_.abandon(cause, [&] {
    if (ring_->close(Clock::steady().now() + kMoment)) return Abandoned::kStopped;
    if (waited < kPatience) return Abandoned::kStopping;
    armed_.close();
    return Abandoned::kStillRunning;
  });
}

}  // namespace halyard::inline v0::cpu
