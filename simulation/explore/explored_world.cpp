// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/explore/explored_world.h"

#include <algorithm>

namespace halyard::inline v0::sim {

using timeline::Edge;
using timeline::Point;
using timeline::Submission;

namespace {

constexpr timeline::Domain kDomain = 1;

}  // namespace

timeline::IssueResult ExploredLane::issue(std::span<const timeline::Issue> batch,
                                          timeline::Doorbell) noexcept {
  expect(!abandoned_, "work is issued to a native queue that was abandoned");
  timeline::IssueResult result;
  for (const timeline::Issue& issue : batch) {
    expect(issue.sequence == issued() + 1, "the sequences of a lane have a gap");
    for (const Edge& edge : issue.waits) {
      const auto& other = static_cast<const ExploredLane&>(*edge.queue);
      expect(edge.sequence <= other.issued(), "a lane waits for what is not issued");
    }
    const auto* const payload = static_cast<const Payload*>(issue.operation);
    const bool is_part = issue.commands.first + issue.commands.count < payload->depth;
    entries_.push_back({{issue.waits.begin(), issue.waits.end()},
                        payload->number,
                        issue.commands,
                        is_part,
                        payload});
    issued_.store(issue.sequence, std::memory_order_release);
    if (issue.want_marker) marked_.store(issue.sequence, std::memory_order_release);
    if (!stepped_) run(issue.sequence);
    ++result.count;
  }
  return result;
}

Status ExploredLane::mark() noexcept {
  expect(!abandoned_, "a marker is asked of a native queue that was abandoned");
  marked_.store(issued(), std::memory_order_release);
  if (!stepped_) advance(issued());
  return {};
}

std::uint64_t ExploredLane::visible() const noexcept {
  const std::uint64_t progress = progress_.load(std::memory_order_acquire);
  if (capabilities_.marks_every_submission) return progress;
  const std::uint64_t marked = marked_.load(std::memory_order_acquire);
  return marked <= progress ? marked : 0;
}

Status ExploredLane::arm(std::uint64_t sequence, base::Notify& notify) noexcept {
  armed_.arm(sequence, notify);
  return {};
}

timeline::Abandoned ExploredLane::abandon(const Status&, Nanoseconds) noexcept {
  if (!abandoned_) stopping_ = stepped_ && can_step();
  abandoned_ = true;
  return stopping_ ? timeline::Abandoned::kStopping : timeline::Abandoned::kStopped;
}

bool ExploredLane::can_step() const {
  if (abandoned_) return stopping_;
  const std::uint64_t next = progress_.load(std::memory_order_relaxed) + 1;
  if (next > issued_.load(std::memory_order_acquire)) return false;
  return ignores_waits || std::ranges::all_of(entries_[next - 1].waits, [](const Edge& edge) {
           const auto& other = static_cast<const ExploredLane&>(*edge.queue);
           return other.progress_.load(std::memory_order_acquire) >= edge.sequence;
         });
}

bool ExploredLane::step() {
  if (!can_step()) return false;
  stopping_ = false;
  const std::uint64_t next = progress_.load(std::memory_order_relaxed) + 1;
  const Entry& entry = entries_[next - 1];
  if (log != nullptr) log->push_back(entry.is_part ? ~entry.number : entry.number);
  run(next);
  return true;
}

void ExploredLane::run(std::uint64_t sequence) {
  const Payload& payload = *entries_[sequence - 1].payload;
  (void)payload.arguments.read();
  if (payload.reads != nullptr) (void)payload.reads->read();
  if (payload.writes != nullptr) payload.writes->write(1);
  advance(sequence);
}

void ExploredLane::add_state(const std::function<void(std::uint64_t)>& add,
                             const std::function<std::uint64_t(int)>& name_of) const {
  add(progress_.peek() << 2 | abandoned_ << 1 | stopping_);
  for (const Entry& entry : entries_) {
    add(name_of(entry.number) << 16 | entry.commands.first << 8 | entry.commands.count);
    for (const Edge& edge : entry.waits) {
      add(static_cast<const ExploredLane&>(*edge.queue).number_ << 32 | edge.sequence);
    }
  }
  armed_.for_each(add);
}

void ExploredLane::advance(std::uint64_t sequence) {
  progress_.store(sequence, std::memory_order_release);
  armed_.advance(visible());
}

bool ExploredWork::park(base::Parker& parker, std::uint32_t epoch, Nanoseconds deadline) noexcept {
  // The lane that the thread has just armed woke it: the device was faster than the issuer. Until
  // the issuer continues, the thread would be armed and woken repeatedly, so let others run first.
  if (parker.prepare() != epoch) {
    base::spin_pause();
    return true;
  }
  // The periodic look (rule 23) would hide a lost wake-up.
  const bool look = deadline - clock().now() >= timeline::Engine::kCheckInterval;
  return parker.park(epoch, look ? Deadline::kForeverTime : deadline);
}

void ExploredWork::run_shell(timeline::Engine& engine) {
  std::uint32_t epoch;
  do {
    epoch = parker_.prepare();
    while (engine.step_issue() || engine.step_completion()) {
    }
  } while (parker_.park(epoch, Deadline::kForeverTime));
}

timeline::DomainMatrix ExploredWorld::domains(bool native_edges) {
  timeline::DomainMatrix matrix;
  if (native_edges) matrix.allow(kDomain, kDomain);
  return matrix;
}

ExploredWorld::~ExploredWorld() {
  const Status end(StatusCode::kCancelled, "the world ends");
  settle();
  for (auto& queue : queues) queue->queue->close(end);
  settle();
  // idle() releases references that a queue holds to other queues, so it may take several rounds.
  bool idle = false;
  for (int i = 0; i < 4 && !idle; ++i) {
    idle = true;
    for (auto& queue : queues) idle &= queue->queue->idle();
    settle();
  }
  expect(idle, "a queue is not idle at the end");
  for (Submission* submission : submissions_) {
    using enum Submission::State;
    const auto state = submission->state();
    expect(state == kComplete || state == kFailed || state == kCancelled,
           "a submission does not end");
    submission->release_for_user();
  }
  for (auto& queue : queues) {
    while (!queue->queue->release_lanes(end)) settle();
  }
  settle();
}

Result<timeline::NativeQueue*> ExploredWorld::ExploredQueue::open_lane() {
  lanes.push_back(std::make_unique<ExploredLane>(capabilities, stepped, number));
  lanes.back()->log = log;
  return static_cast<timeline::NativeQueue*>(lanes.back().get());
}

ExploredWorld::ExploredQueue& ExploredWorld::queue(timeline::QueueCapabilities capabilities,
                                                   bool stepped) {
  ExploredQueue& lane = *queues.emplace_back(std::make_unique<ExploredQueue>());
  lane.device = std::make_unique<timeline::Device>(engine, "device");
  lane.capabilities = capabilities;
  lane.capabilities.max_in_flight = std::min(capabilities.max_in_flight, 4u);
  lane.stepped = stepped;
  lane.number = queues.size();
  lane.queue =
      timeline::Queue::create(*lane.device, lane, {.name = "queue", .domain = kDomain}).value();
  return lane;
}

HandleRef<timeline::Semaphore> ExploredWorld::semaphore() {
  return timeline::Semaphore::create(engine, 0, "", nullptr).value();
}

Submission& ExploredWorld::submit(ExploredQueue& queue, std::vector<Point> waits,
                                  std::vector<Point> signals, const Plain* reads, Plain* writes) {
  Submission* const submission = try_submit(queue, waits, signals, 0, 1, reads, writes);
  expect(submission != nullptr, "a submission is refused");
  return *submission;
}

Submission* ExploredWorld::try_submit(ExploredQueue& queue, const std::vector<Point>& waits,
                                      const std::vector<Point>& signals, int number,
                                      std::uint32_t depth, const Plain* reads, Plain* writes) {
  Submission* submission = queue->allocate().value();
  submission->emplace<Payload>(number, depth, reads, writes);
  submission->set_depth(depth);
  Submission* out = nullptr;
  const Status status = queue->submit(*submission, {.waits = waits, .signals = signals}, &out);
  if (!status.ok()) return nullptr;
  submissions_.push_back(out);  // without a lock: no thread runs between two accesses
  return out;
}

void ExploredWorld::settle() {
  for (bool moved = true; moved;) {
    moved = engine.step_issue();
    moved |= engine.step_completion();
    for (auto& queue : queues) {
      for (auto& lane : queue->lanes) {
        while (lane->step()) moved = true;
      }
    }
  }
}

}  // namespace halyard::inline v0::sim
