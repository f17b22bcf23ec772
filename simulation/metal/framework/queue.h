// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue and CommandBuffer: the execution of command buffers, from commit to completion. A queue has
// one thread that executes, started by its first commit, and threads that call handlers.
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

// Members are guarded by State::mutex unless said otherwise.
struct CommandBuffer : std::enable_shared_from_this<CommandBuffer> {
  std::shared_ptr<Queue> queue;
  std::uint64_t number = 0;  // order of commits in the process, from 1
  bool is_retaining = true;
  bool reports_encoders = false;  // errorOptions has EncoderExecutionStatus

  // Used by the program's thread until commit(), then by the queue's thread.
  std::vector<Item> items;
  std::vector<ResourcePointer> resident;            // of residency sets, at commit()
  std::vector<ResourcePointer> used;                // each once
  std::vector<std::shared_ptr<Event>> used_events;  // once for each wait and signal

  Status status = Status::kNotEnqueued;
  bool is_committed = false;
  bool is_on_queue = false;  // enqueued, by enqueue() or by commit()
  Error error;
  Error doomed;  // a failure that the queue's thread will handle
  double kernel_start = 0, kernel_end = 0, gpu_start = 0, gpu_end = 0;  // seconds
  std::vector<std::function<void()>> scheduled_handlers, completed_handlers;
  bool scheduled_handlers_ran = false, completed_handlers_ran = false;
  std::thread::id completing;  // the thread that is running its completed handlers
  // Called once at the very end, by a thread of the framework that holds no lock.
  std::function<void()> release_references;
  Nanoseconds blocked_since = 0;  // 0: not blocked by a wait for an event

  // Reserves a place in the queue.
  void enqueue();
  // Submits the buffer to the queue. Precondition: it was not committed before.
  void commit();
  void wait_until_scheduled();
  void wait_until_completed();
  // Called when the program's object is deallocated without a commit.
  void discard();
  Status current_status() const;
};

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  // `capacity`: the most command buffers that may be uncompleted at a time.
  static std::shared_ptr<Queue> create(Device& device, std::size_t capacity);

  // Blocks while `capacity` command buffers are uncompleted.
  std::shared_ptr<CommandBuffer> make_command_buffer(bool is_retaining);
  // Called when the program's object is deallocated: the threads end after the remaining work.
  void close();

  Device& device() const { return device_; }
  std::uint64_t number() const { return number_; }
  // Precondition: the caller holds State::mutex.
  bool is_idle() const { return order_.empty() && jobs_.empty() && handlers_running_ == 0; }

  // Called, with State::mutex held, when an event has changed or a command buffer must fail.
  void notify_event() {
    if (waits_for_event_) changed_.notify_all();
  }
  // Called, with State::mutex held, when the process ends.
  void notify_end() {
    changed_.notify_all();
    job_arrived_.notify_all();
  }
  void doom(CommandBuffer& buffer, Error error);
  // True if an uncompleted committed command buffer of any queue binds the resource at an offset in
  // [begin, end).
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
  // A job: call the handlers of one kind of a command buffer.
  struct Job {
    std::shared_ptr<CommandBuffer> buffer;
    bool is_completion = false;
  };

  Queue(Device& device, std::size_t capacity, std::uint64_t number)
      : device_(device), capacity_(capacity), number_(number) {}

  // Precondition of the functions below: State::mutex is held, by `lock` if there is one.
  void put(const std::shared_ptr<CommandBuffer>& buffer);
  void remove(const CommandBuffer& buffer);
  void start_threads();
  void run_commands();
  void run_handlers();
  Choice next();
  void consider(std::size_t position, std::vector<Choice>& choices, bool& is_blocked);
  bool may_run(std::size_t position, std::size_t item) const;
  void schedule(CommandBuffer& buffer);
  // With snapshot_shared, calls `how` for each resource of the buffer, without the lock.
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
  // A buffer that waits for an event, and the time at which its wait fails.
  std::shared_ptr<CommandBuffer> blocked(Nanoseconds* deadline) const;

  Device& device_;
  const std::size_t capacity_;
  const std::uint64_t number_;
  std::size_t unfinished_ = 0;                        // made and not completed
  std::size_t committed_ = 0;                         // of these
  std::deque<std::shared_ptr<CommandBuffer>> order_;  // uncompleted, in the queue's order
  std::deque<Job> jobs_;
  std::size_t handlers_running_ = 0;
  gpu::Condition changed_;  // wakes the queue's thread
  gpu::Condition job_arrived_, slot_free_;
  bool waits_for_event_ = false;
  bool has_doomed_ = false;
  bool has_command_thread_ = false;
  unsigned handler_threads_ = 0;
  bool is_closed_ = false;
};

}  // namespace halyard::inline v0::sim::metal
