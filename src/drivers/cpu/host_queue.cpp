// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/host_queue.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

#include "base/format.h"
#include "drivers/cpu/encoder.h"

namespace halyard::inline v0::cpu {

Result<std::unique_ptr<HostQueue>> HostQueue::create(RingGroup& group,
                                                     const HostQueueLimits& limits) {
  std::unique_ptr<HostQueue> queue(new (std::nothrow) HostQueue(group, limits));
  if (queue == nullptr) return error(StatusCode::kResourceExhausted, "queue: no memory");
  queue->kernargs_memory_.reset(new (std::nothrow) std::byte[limits.kernargs_bytes + kBlock]);
  if (queue->kernargs_memory_ == nullptr) {
    return error(StatusCode::kResourceExhausted,
                 "queue: no memory for {} bytes of kernel arguments", limits.kernargs_bytes);
  }
  void* memory = queue->kernargs_memory_.get();
  std::size_t space = limits.kernargs_bytes + kBlock;
  queue->kernargs_ =
      static_cast<std::byte*>(std::align(kBlock, limits.kernargs_bytes, memory, space));
  HALYARD_ASSIGN_OR_RETURN(queue->ring_,
                           Ring::create(group, nullptr, limits.ring_packets, queue.get()));
  return queue;
}

HostQueue::~HostQueue() { assert(first_ == nullptr); }

Status HostQueue::submit(const hcq::detail::CommandList& list) noexcept {
  return submit({.commands = list.commands.data(),
                 .count = list.commands.size(),
                 .args = list.args.data(),
                 .args_count = list.args.size(),
                 .packets = list.steps,
                 .profile = list.profile});
}

Status HostQueue::submit(HostImage& image) noexcept {
  hcq::detail::Command command{.kind = hcq::detail::CommandKind::kBound};
  command.object = Ref<RefCounted>(&image);
  return submit({.commands = &command,
                 .count = 1,
                 .args = nullptr,
                 .args_count = 0,
                 .packets = 1,
                 .profile = {}});
}

Status HostQueue::submit(const Submission& submission) noexcept {
  {
    base::LockGuard lock(mutex_);
    if (closed_) return error(StatusCode::kUnavailable, "queue: its device is closed");
    const std::size_t count = submission.count;
    if (first_ == nullptr && fits(submission)) {
      for (std::size_t i = 0; i < count; ++i) {
        const bool pushed = push(submission.commands[i], submission.args, submission.profile);
        assert(pushed);
        (void)pushed;
      }
    } else {
      if (count > limits_.backlog_packets - backlogged_) {
        return error(StatusCode::kResourceExhausted,
                     "queue: no room for {}: {} of at most {} are waiting",
                     base::counted(count, "command"), backlogged_, limits_.backlog_packets);
      }
      Batch* batch = copy(submission);
      if (batch == nullptr) {
        return error(StatusCode::kResourceExhausted, "queue: no memory for {} commands", count);
      }
      *last_ = batch;
      last_ = &batch->next;
      backlogged_ += count;
      feed_locked();
    }
  }
  group_.bell(*ring_);
  return {};
}

// True if the whole submission fits the rings now.
bool HostQueue::fits(const Submission& submission) noexcept {
  if (submission.packets > ring_->capacity() || !ring_->has_room(submission.packets)) return false;
  if (submission.args_count == 0) return true;
  // A block does not wrap, so up to one block's length may stay unused at the end.
  constexpr std::size_t kLargest =
      (hcq::kMaxBuffers * sizeof(std::uint64_t) + hcq::kMaxConstantsSize) / kBlock;
  return submission.args_count / hcq::detail::kArgsBlockWords + kLargest +
             (kernargs_tail_ - ring_->retires()) <=
         limits_.kernargs_bytes / kBlock;
}

void HostQueue::feed() noexcept {
  base::LockGuard lock(mutex_);
  feed_locked();
}

// Moves the commands that fit. Leaves wants_room set while some are left.
void HostQueue::feed_locked() noexcept {
  for (;;) {
    while (first_ != nullptr) {
      Batch& batch = *first_;
      if (!push(batch.commands[batch.done], batch.args, batch.profile)) break;
      --backlogged_;
      if (++batch.done < batch.count) continue;
      first_ = batch.next;
      if (first_ == nullptr) last_ = &first_;
      destroy(&batch);
    }
    if (first_ == nullptr) return wants_room.store(false, std::memory_order_relaxed);
    // The ring may have retired packets before the flag was set: then check once more.
    if (wants_room.exchange(true, std::memory_order_seq_cst)) return;
  }
}

bool HostQueue::push(const hcq::detail::Command& command, const std::uint64_t* args,
                     const Ref<hcq::detail::Profile>& profile) noexcept {
  if (!ring_->has_room(command.steps())) return false;
  std::uint32_t tail = kernargs_tail_;
  const std::uint64_t* block_words = nullptr;
  if (command.args_count != 0) {
    const auto capacity = static_cast<std::uint32_t>(limits_.kernargs_bytes / kBlock);
    const std::uint32_t blocks = command.args_blocks();
    std::uint32_t start = kernargs_tail_;
    if (start % capacity + blocks > capacity) start += capacity - start % capacity;
    if (start + blocks - ring_->retires() > capacity) return false;
    std::byte* block = kernargs_ + start % capacity * kBlock;
    std::memcpy(block, args + command.args_begin, command.args_count * sizeof(std::uint64_t));
    block_words = reinterpret_cast<const std::uint64_t*>(block);
    tail = start + blocks;
  }
  // Uses the unchanged tail: an earlier packet than the kernel's must not release its arguments.
  if (command.times != nullptr) publish_timestamp(command.times->own.begin, profile);
  kernargs_tail_ = tail;
  const PacketKind kind = encode(command, block_words, ring_->next_slot().words);
  publish(kind, command.object.get());
  if (command.times != nullptr) publish_timestamp(command.times->own.end, profile);
  return true;
}

void HostQueue::publish_timestamp(base::Atomic<std::uint64_t>& time,
                                  const Ref<hcq::detail::Profile>& profile) noexcept {
  ring_->next_slot().words[0] = word(&time);
  publish(PacketKind::kTimestamp, profile.get());
}

// The words are in the next slot already.
void HostQueue::publish(PacketKind kind, RefCounted* keeps) noexcept {
  Packet& packet = ring_->next_slot();
  packet.retires = kernargs_tail_;
  packet.lane_value = 0;
  std::uint32_t flags = 0;
  if (keeps != nullptr) {
    keeps->retain();
    packet.words[5] = reinterpret_cast<std::uintptr_t>(keeps);
    flags = Packet::kKeeps;
  }
  ring_->publish(kind, flags);
}

HostQueue::Batch* HostQueue::copy(const Submission& submission) noexcept {
  auto* batch = new (std::nothrow) Batch;
  if (batch == nullptr) return nullptr;
  batch->count = submission.count;
  batch->profile = submission.profile;
  batch->commands = new (std::nothrow) hcq::detail::Command[submission.count];
  batch->args = new (std::nothrow) std::uint64_t[submission.args_count];
  if (batch->commands == nullptr || batch->args == nullptr) {
    destroy(batch);
    return nullptr;
  }
  std::copy_n(submission.commands, submission.count, batch->commands);
  std::copy_n(submission.args, submission.args_count, batch->args);
  return batch;
}

void HostQueue::destroy(Batch* batch) noexcept {
  delete[] batch->commands;
  delete[] batch->args;
  delete batch;
}

void HostQueue::close() noexcept {
  {
    base::LockGuard lock(mutex_);
    closed_ = true;
    wants_room.store(false, std::memory_order_relaxed);
    while (first_ != nullptr) destroy(std::exchange(first_, first_->next));
    last_ = &first_;
    backlogged_ = 0;
  }
  ring_->close();
}

}  // namespace halyard::inline v0::cpu
