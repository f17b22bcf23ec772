// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue and CommandBuffer: how command buffers get from the program to a simulated device and
// back. A queue has one thread that executes, started with its first commit, and threads that call
// handlers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "simulation/metal/framework/command.h"
#include "simulation/metal/framework/device.h"

namespace halyard::inline v0::sim::metal {

// As MTLCommandBufferStatus.
enum class Status : std::uint8_t {
  kNotEnqueued = 0,
  kEnqueued = 1,
  kCommitted = 2,
  kScheduled = 3,
  kCompleted = 4,
  kError = 5,
};

// The members below are guarded by the State's lock unless said otherwise.
struct CommandBuffer : std::enable_shared_from_this<CommandBuffer> {
  std::shared_ptr<Queue> queue;
  std::uint64_t number = 0;  // order of commits in the process, from 1
  bool is_retaining = true;
  bool reports_encoders = false;  // errorOptions has EncoderExecutionStatus

  // Of the program's thread until commit(), then of the queue's thread.
  std::vector<Item> items;
  std::vector<ResourcePointer> resident;            // of residency sets, as of commit()
  std::vector<ResourcePointer> used;                // each once
  std::vector<std::shared_ptr<Event>> used_events;  // once for each wait and signal

  Status status = Status::kNotEnqueued;
  bool is_committed = false;
  bool is_on_queue = false;  // enqueued, by enqueue() or by commit()
  Error error;
  Error doomed;  // a failure that waits for the queue's thread to see it
  double kernel_start = 0, kernel_end = 0, gpu_start = 0, gpu_end = 0;  // seconds
  std::vector<std::function<void()>> scheduled_handlers, completed_handlers;
  bool scheduled_handlers_ran = false, completed_handlers_ran = false;
  std::thread::id completing;  // the thread that runs its completed handlers now
  // Called once when everything is over, by a thread of the framework that holds no lock.
  std::function<void()> release_references;
  Nanoseconds blocked_since = 0;  // 0: its next item is no wait for an event

  // Reserves the place in the queue.
  void enqueue();
  // Gives it to the queue. The program has checked that this is its first commit.
  void commit();
  void wait_until_scheduled();
  void wait_until_completed();
  // The program's object is gone and was never committed.
  void discard();
  Status current_status() const;
};

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  // `capacity`: command buffers that may exist and not be completed.
  static std::shared_ptr<Queue> create(Device& device, std::size_t capacity);

  // Blocks while `capacity` command buffers are not completed.
  std::shared_ptr<CommandBuffer> make_command_buffer(bool is_retaining);
  // The program's object is gone: the threads end when nothing is left.
  void close();

  Device& device() const { return device_; }
  std::uint64_t number() const { return number_; }
  // The State is locked.
  bool is_idle() const { return order_.empty() && jobs_.empty() && handlers_running_ == 0; }

  // The State is locked: an event has changed, or a command buffer is to fail.
  void notify_event() {
    if (waits_for_event_) changed_.notify_all();
  }
  // The State is locked, and the process ends.
  void notify_end() {
    changed_.notify_all();
    job_arrived_.notify_all();
  }
  void doom(CommandBuffer& buffer, Error error);
  // Whether a committed command buffer of any queue that has not completed binds the resource at an
  // offset of [begin, end).
  static bool is_bound_in_flight(const Resource& resource, std::uint64_t begin, std::uint64_t end);
  // Fails all committed command buffers.
  void doom_all(const Error& error);

 private:
  friend struct CommandBuffer;
  struct Choice {
    std::shared_ptr<CommandBuffer> buffer;
    std::size_t item = 0;
    enum Kind : std::uint8_t { kNothing, kItem, kFinish, kFail } kind = kNothing;
    Error error;
  };
  // Calls of handlers of one kind of a command buffer.
  struct Job {
    std::shared_ptr<CommandBuffer> buffer;
    bool is_completion = false;
  };

  Queue(Device& device, std::size_t capacity, std::uint64_t number)
      : device_(device), capacity_(capacity), number_(number) {}

  // All of these: the State is locked by `lock`.
  void put(const std::shared_ptr<CommandBuffer>& buffer);
  void remove(const CommandBuffer& buffer);
  void start_threads();
  void run_commands();
  void run_handlers();
  Choice next();
  void consider(std::size_t position, std::vector<Choice>& choices, bool& is_blocked);
  bool may_run(std::size_t position, std::size_t item) const;
  void schedule(CommandBuffer& buffer);
  // With snapshot_shared: calls `how` for each resource of the buffer, without the lock.
  static void hand_over(gpu::Lock& lock, const CommandBuffer& buffer, void (Resource::*how)());
  void execute_item(gpu::Lock& lock, CommandBuffer& buffer, std::size_t item);
  void fail(gpu::Lock& lock, const std::shared_ptr<CommandBuffer>& buffer, Error error);
  void pick_victim(const CommandBuffer& guilty);
  void finish(gpu::Lock& lock, const std::shared_ptr<CommandBuffer>& buffer);
  void publish_end(gpu::Lock& lock, CommandBuffer& buffer);
  void end_handlers(gpu::Lock& lock, CommandBuffer& buffer);
  bool take_job(Job* job);
  void add_job(Job job);
  bool is_ending() const { return is_closed_ || state().is_ending; }
  // A buffer that waits for an event, and when the wait times out.
  std::shared_ptr<CommandBuffer> blocked(Nanoseconds* deadline) const;

  Device& device_;
  const std::size_t capacity_;
  const std::uint64_t number_;
  std::size_t unfinished_ = 0;                        // made, not completed
  std::size_t committed_ = 0;                         // of these
  std::deque<std::shared_ptr<CommandBuffer>> order_;  // in the queue's order, not completed
  std::deque<Job> jobs_;
  std::size_t handlers_running_ = 0;
  gpu::Condition changed_;  // the queue's thread has something to look at
  gpu::Condition job_arrived_, slot_free_;
  bool waits_for_event_ = false;
  bool has_doomed_ = false;
  bool has_command_thread_ = false;
  unsigned handler_threads_ = 0;
  bool is_closed_ = false;
};

}  // namespace halyard::inline v0::sim::metal
