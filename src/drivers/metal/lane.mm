// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/lane.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/format.h"
#include "drivers/metal/arguments.h"
#include "drivers/metal/command_buffer.h"
#include "drivers/metal/error.h"
#include "drivers/metal/functions.h"

namespace halyard::inline v0::metal {
namespace {

// Twice the lane's own limit: Metal's count includes buffers that have ended but whose status was
// not read yet.
constexpr NSUInteger kQueueLimit = 2 * kMaxInFlight;

// The most command buffers of a traced recording. If it has more commands, each buffer has several.
constexpr std::uint32_t kMaxTraced = kMaxInFlight / 4;

const hal::Operation& operation_of(const timeline::Issue& issue) noexcept {
  return *static_cast<const hal::Operation*>(issue.operation);
}

const CommandBuffer* recording_of(const timeline::Issue& issue) noexcept {
  const hal::Operation& operation = operation_of(issue);
  return operation.kind == hal::OperationKind::kExecute
             ? static_cast<const CommandBuffer*>(operation.native)
             : nullptr;
}

// Commands in each buffer of the issue.
std::uint32_t commands_per_buffer(const timeline::Issue& issue,
                                  const CommandBuffer& recording) noexcept {
  const std::uint32_t count = recording.work_in(issue.commands).count;
  if (issue.stamps != nullptr) return std::max((count + kMaxTraced - 1) / kMaxTraced, 1u);
  return std::max((count + issue.commands.count - 1) / issue.commands.count, 1u);
}

}  // namespace

Result<std::unique_ptr<Lane>> Lane::create(const ArgumentHeap& heap, timeline::EntryGuard* guard) {
  std::unique_ptr<Lane> lane(new (std::nothrow) Lane(heap, guard));
  if (lane == nullptr) return error(StatusCode::kResourceExhausted, "metal: no memory for a lane");
  HALYARD_RETURN_IF_ERROR(lane->open());
  return lane;
}

Status Lane::open() {
  queue_ = new_queue(device_.handle(), kQueueLimit);
  if (!queue_) return failed("newCommandQueue", nil);
  fence_ = new_fence(device_.handle());
  if (!fence_) return failed("newFence", nil);
  Retained<id<MTLSharedEvent>> event = new_shared_event(device_.handle());
  if (!event) return failed("newSharedEvent", nil);
  HALYARD_ASSIGN_OR_RETURN(watch_, device_.notifier().add(*this, std::move(event)));
  return {};
}

Lane::~Lane() {
  const ScopedPool pool;
  if (watch_) {
    device_.notifier().remove(*watch_);
    watch_->detach();
  }
  for (Slot& slot : slots_) clear(slot);
  // Released here, because the pool ends before the members.
  order_.reset();
  fence_.reset();
  queue_.reset();
}

// ---- Issue

std::uint32_t Lane::buffers_of(const timeline::Issue& issue) noexcept {
  const CommandBuffer* const recording = recording_of(issue);
  if (recording == nullptr) return 1;
  const std::uint32_t each = commands_per_buffer(issue, *recording);
  return std::max((recording->work_in(issue.commands).count + each - 1) / each, 1u);
}

timeline::IssueResult Lane::issue(std::span<const timeline::Issue> batch,
                                  timeline::Doorbell) noexcept {
  timeline::IssueResult result;
  if (end_.begun()) {
    result.status = end_.cause();
    return result;
  }
  if (result.status = device_.loss(); !result.status.ok()) return result;
  for (const timeline::Issue& issue : batch) {
    const std::uint32_t in_flight = buffers_.load(std::memory_order_acquire);
    const std::uint32_t needs = buffers_of(issue);
    if (!has_reached(issue.sequence - std::min<std::uint64_t>(issue.sequence, kMaxInFlight)) ||
        (in_flight != 0 && in_flight + needs > kMaxInFlight)) {
      result.busy = true;
      break;
    }
    Slot& slot = this->slot(issue.sequence);
    result.status = encode(issue, slot);
    if (!result.status.ok()) {
      clear(slot);
      break;
    }
    buffers_.fetch_add(needs, std::memory_order_relaxed);
    ++result.count;
  }
  for (const timeline::Issue& issue : batch.first(result.count)) {
    for (Submission& buffer : slot(issue.sequence).buffers) buffer.commit();
    // From here on another thread may see it end and release its buffers.
    issued_.store(issue.sequence, std::memory_order_seq_cst);
  }
  return result;
}

Status Lane::encode(const timeline::Issue& issue, Slot& slot) {
  slot.ended = 0;
  slot.buffers.shrink(0);
  slot.edges.shrink(0);
  if (!slot.edges.make_room(issue.waits.size()) || !slot.buffers.make_room(buffers_of(issue))) {
    return error(StatusCode::kResourceExhausted, "metal: no memory for a submission");
  }
  HALYARD_ASSIGN_OR_RETURN(Submission first, Submission::begin(queue_.get()));
  for (const timeline::Edge& edge : issue.waits) {
    auto& producer = static_cast<Lane&>(*edge.queue);
    if (producer.has_reached(edge.sequence)) continue;
    first.wait(producer.watch_->event(), edge.sequence);
    (void)slot.edges.push_back(edge);
  }
  if (!has_reached(issue.sequence - 1)) first.wait(watch_->event(), issue.sequence - 1);
  (void)slot.buffers.push_back(std::move(first));
  const bool managed = device_.options().managed;
  if (managed) HALYARD_RETURN_IF_ERROR(slot.managed.flush(operation_of(issue)));
  {
    Encoder encoder(device_, fence_.get());
    encoder.begin(slot.buffers.back().buffer());
    HALYARD_RETURN_IF_ERROR(encode_work(issue, slot, encoder));
    if (managed) HALYARD_RETURN_IF_ERROR(slot.managed.copy_back(encoder));
  }
  if (managed) slot.managed.begin();
  slot.buffers.back().signal(watch_->event(), issue.sequence);
  return {};
}

Status Lane::begin_buffer(Slot& slot, Encoder& encoder) {
  if (!order_) {
    order_ = new_shared_event(device_.handle());
    if (!order_) return failed("newSharedEvent", nil);
  }
  HALYARD_ASSIGN_OR_RETURN(Submission next, Submission::begin(queue_.get()));
  encoder.end();
  slot.buffers.back().signal(order_.get(), ++order_value_);
  next.wait(order_.get(), order_value_);
  (void)slot.buffers.push_back(std::move(next));
  encoder.begin(slot.buffers.back().buffer());
  return {};
}

Status Lane::encode_work(const timeline::Issue& issue, Slot& slot, Encoder& encoder) {
  const hal::Operation& operation = operation_of(issue);
  if (operation.kind == hal::OperationKind::kCommand) {
    const hal::Command& command = operation.command;
    hal::ArgumentBlock block;
    if (const std::uint64_t bytes = argument_bytes(command); bytes != 0) {
      HALYARD_RETURN_IF_ERROR(slot.arguments.reset(heap_, bytes));
      block = slot.arguments.take(bytes);
      ArgumentWriter(command.dispatch, block).set_all(command.dispatch, nullptr);
    }
    if (issue.stamps != nullptr) {
      HALYARD_RETURN_IF_ERROR(slot.stamping.begin(*issue.stamps, 1));
      slot.stamping.command(0, {.name = hal::name_of(command)});
    }
    return encoder.add(command, nullptr, block);
  }
  const CommandBuffer* const recording = recording_of(issue);
  if (recording == nullptr) {
    return issue.stamps != nullptr ? slot.stamping.begin(*issue.stamps, 0) : Status();
  }
  const timeline::CommandSpan span = recording->work_in(issue.commands);
  if (issue.stamps != nullptr) {
    HALYARD_RETURN_IF_ERROR(slot.stamping.begin(*issue.stamps, span.count));
  }
  const bool has_instances = recording->instances().count != 0;
  const std::uint32_t instance = has_instances ? operation.instance : 0;
  if (has_instances && issue.commands.first == 0) {
    recording->write_arguments(instance, operation.table);
  }
  const std::uint32_t each = commands_per_buffer(issue, *recording);
  return recording->encode(
      encoder, instance, operation.table, span,
      [&](std::uint32_t k) -> Status {
        const std::uint32_t at = k - span.first;
        return at != 0 && at % each == 0 ? begin_buffer(slot, encoder) : Status();
      },
      [&](std::uint32_t, std::uint32_t index) -> Status {
        if (issue.stamps != nullptr) {
          slot.stamping.command(static_cast<std::uint32_t>(slot.buffers.size() - 1),
                                recording->recording().labels[index]);
        }
        return {};
      });
}

void Lane::clear(Slot& slot) noexcept {
  slot.stamping.forget();
  slot.managed.end(/*done=*/false);
  slot.buffers.shrink(0);
  slot.edges.shrink(0);
}

// ---- Progress

bool Lane::has_ended(Slot& slot) noexcept {
  for (; slot.ended < slot.buffers.size(); ++slot.ended) {
    const Submission& buffer = slot.buffers[slot.ended];
    switch (buffer.state()) {
      case Submission::State::kRunning:
        return false;
      case Submission::State::kDone:
        break;
      case Submission::State::kFailed: {
        NSError* const error = buffer.error();
        if (is_final(error)) device_.physical().close_for_good();
        device_.lose(fault(error));
        return false;
      }
    }
  }
  return true;
}

// A wait on the device also ends if the producer's buffer fails but still signals, or if the host
// set the value after a loss. The edge does not hold in either case.
bool Lane::edges_hold(Slot& slot) noexcept {
  while (!slot.edges.empty()) {
    const timeline::Edge& edge = slot.edges.back();
    auto& producer = static_cast<Lane&>(*edge.queue);
    // Perhaps no other thread polls that lane.
    if (!producer.has_reached(edge.sequence)) (void)producer.look();
    if (!producer.has_reached(edge.sequence)) return false;
    slot.edges.shrink(slot.edges.size() - 1);
  }
  return true;
}

void Lane::retire(Slot& slot) noexcept {
  slot.stamping.collect({slot.buffers.data(), slot.buffers.size()});
  slot.managed.end(/*done=*/true);
  buffers_.fetch_sub(static_cast<std::uint32_t>(slot.buffers.size()), std::memory_order_release);
  slot.buffers.shrink(0);
}

// Never waits for the lock, because its holder may be calling look() on another lane that calls
// this one. The holder sees what this call would see, or the caller calls look() again.
std::uint64_t Lane::look() noexcept {
  if (!mutex_.try_lock()) return reached_.load(std::memory_order_acquire);
  std::uint64_t reached = reached_.load(std::memory_order_relaxed);
  const std::uint64_t issued = issued_.load(std::memory_order_seq_cst);
  while (!end_.begun() && !device_.lost() && reached < issued) {
    Slot& next = slot(reached + 1);
    // Calls both functions in any case: the buffer of a producer lane may have failed without a
    // signal, and perhaps no other thread polls that lane.
    const bool ended = has_ended(next);
    if (!edges_hold(next) || !ended) break;
    retire(next);
    reached_.store(++reached, std::memory_order_release);
  }
  mutex_.unlock();
  watch_->list().advance(reached);
  return reached;
}

timeline::Progress Lane::poll() noexcept {
  if (end_.begun()) {
    return {.sequence = reached_.load(std::memory_order_acquire), .fault = end_.cause()};
  }
  const std::uint64_t reached = look();
  return {.sequence = reached, .fault = device_.loss()};
}

Status Lane::probe() noexcept {
  if (end_.begun()) return end_.cause();
  (void)look();
  // A buffer of another lane that failed without a signal may block this lane. That lane's probe()
  // finds the failure.
  if (!device_.lost() && mutex_.try_lock()) {
    if (!end_.begun() &&
        reached_.load(std::memory_order_relaxed) < issued_.load(std::memory_order_seq_cst)) {
      for (const timeline::Edge& edge : slot(reached_.load(std::memory_order_relaxed) + 1).edges) {
        auto& producer = static_cast<Lane&>(*edge.queue);
        if (!producer.has_reached(edge.sequence)) (void)producer.probe();
      }
    }
    mutex_.unlock();
  }
  return device_.loss();
}

Status Lane::arm(std::uint64_t sequence, base::Notify& notify) noexcept {
  if (device_.lost()) {
    notify.notify();
    return device_.loss();
  }
  watch_->arm(sequence, notify);
  // A loss in between notified only the waiters that were armed before it.
  if (ended()) notify.notify();
  return device_.loss();
}

// ---- Abandoning

void Lane::raise_all() noexcept {
  if (order_) metal::raise(order_.get(), order_value_);
  metal::raise(watch_->event(), issued_.load(std::memory_order_seq_cst));
}

timeline::Abandoned Lane::abandon(const Status& cause, Nanoseconds waited) noexcept {
  using timeline::Abandoned;
  base::LockGuard lock(mutex_);
  return end_.abandon(cause, [&] {
    // Buffers in flight cannot be cancelled. Their submissions have failed, but they must run to
    // their end. On a device that is not lost they end by themselves, unless they wait for a lost
    // device.
    if (device_.lost() || waited > 0) raise_all();
    bool running = false;
    const std::uint64_t issued = issued_.load(std::memory_order_seq_cst);
    for (std::uint64_t at = reached_.load(std::memory_order_relaxed) + 1; at <= issued; ++at) {
      for (const Submission& buffer : slot(at).buffers) {
        running |= buffer.state() == Submission::State::kRunning;
      }
    }
    if (!running) {
      for (std::uint64_t at = reached_.load(std::memory_order_relaxed) + 1; at <= issued; ++at) {
        clear(slot(at));
      }
      return Abandoned::kStopped;
    }
    if (waited < kPatience) return Abandoned::kStopping;
    // The listener's thread may outlive this engine, with another runtime.
    watch_->list().close();
    return Abandoned::kStillRunning;
  });
}

}  // namespace halyard::inline v0::metal
