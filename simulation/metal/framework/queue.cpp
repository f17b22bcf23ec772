// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The queue's threads: the choice of the next item to run, and the end of command buffers.
#include "simulation/metal/framework/queue.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "simulation/metal/framework/report.h"

namespace halyard::inline v0::sim::metal {
namespace {

// Command buffers of a queue that may overlap. Real devices have a few channels.
constexpr std::size_t kWindow = 8;
// The largest delay of late_handlers and slow_completion.
constexpr std::uint64_t kLongestDelay = 300'000;

double seconds() { return static_cast<double>(gpu::now()) * 1e-9; }

bool is_over(const CommandBuffer& buffer) {
  return std::ranges::all_of(buffer.items, &Item::is_done);
}

const Pass* pass_of(const Item& item) {
  const auto* const pass = std::get_if<std::unique_ptr<Pass>>(&item.what);
  return pass == nullptr ? nullptr : pass->get();
}

// True if `later` waits for a fence that `earlier` updates.
bool is_fenced(const Pass& earlier, const Pass& later) {
  return std::ranges::any_of(later.waits, [&](const std::shared_ptr<Fence>& fence) {
    return std::ranges::find(earlier.updates, fence) != earlier.updates.end();
  });
}

}  // namespace

void Queue::start_threads() {
  State& all = state();
  if (!std::exchange(has_command_thread_, true)) {
    all.queues.push_back(this);
    start_worker("metal-queue", [self = shared_from_this()] { self->run_commands(); });
  }
}

void Queue::run_commands() {
  State& all = state();
  gpu::Lock lock(all.mutex);
  for (;;) {
    if (order_.empty() && is_ending()) break;
    Choice choice = next();
    switch (choice.kind) {
      case Choice::kItem:
        execute_item(lock, *choice.buffer, choice.item);
        break;
      case Choice::kFinish:
        finish(lock, choice.buffer);
        break;
      case Choice::kFail:
        fail(lock, choice.buffer, std::move(choice.error));
        break;
      case Choice::kNothing: {
        Nanoseconds deadline = Deadline::kForeverTime;
        const std::shared_ptr<CommandBuffer> waiting = blocked(&deadline);
        if (waiting != nullptr && gpu::now() >= deadline && all.running == 0) {
          fail(lock, waiting, make_error(ErrorCode::kTimeout, "a wait for an event"));
          break;
        }
        waits_for_event_ = waiting != nullptr;
        bool is_first = true;  // sleep once, then check again
        (void)changed_.wait_until(lock, std::max(deadline, gpu::now() + 1'000'000),
                                  [&] { return !std::exchange(is_first, false); });
        waits_for_event_ = false;
        break;
      }
    }
    // Freeing the command buffer's references may call the program's code.
    if (choice.buffer != nullptr) {
      lock.unlock();
      choice.buffer.reset();
      lock.lock();
    }
  }
  has_command_thread_ = false;
  std::erase(all.queues, this);
  job_arrived_.notify_all();
}

std::shared_ptr<CommandBuffer> Queue::blocked(Nanoseconds* deadline) const {
  for (const auto& buffer : order_) {
    if (!buffer->is_committed) return nullptr;
    if (buffer->blocked_since == 0) continue;
    const Nanoseconds since = std::max(buffer->blocked_since, state().last_progress);
    if (options().wait_timeout != Deadline::kForeverTime)
      *deadline = since + options().wait_timeout;
    return buffer;
  }
  return nullptr;
}

Queue::Choice Queue::next() {
  if (std::exchange(has_doomed_, false)) {
    for (const auto& buffer : order_) {
      if (buffer->doomed.code == ErrorCode::kNone || !buffer->is_committed) continue;
      has_doomed_ = true;
      return {buffer, 0, Choice::kFail, buffer->doomed};
    }
  }
  const Adversities& adversities = options().adversities;
  std::vector<Choice> choices;
  for (std::size_t position = 0; position < order_.size() && position < kWindow; ++position) {
    if (!order_[position]->is_committed) break;  // belief 3: later buffers wait for it
    bool is_blocked = false;
    consider(position, choices, is_blocked);
    const bool goes_on = is_blocked ? adversities.overtaking_waits : adversities.out_of_order;
    if (!goes_on) break;
  }
  if (choices.empty()) return {};
  return choices[choices.size() == 1 ? 0 : decide(choices.size())];
}

void Queue::consider(std::size_t position, std::vector<Choice>& choices, bool& is_blocked) {
  const std::shared_ptr<CommandBuffer>& buffer = order_[position];
  if (buffer->status == Status::kCommitted) schedule(*buffer);
  const Nanoseconds since = std::exchange(buffer->blocked_since, 0);
  bool is_first = true;
  for (std::size_t i = 0; i < buffer->items.size(); ++i) {
    Item& item = buffer->items[i];
    if (item.is_done) continue;
    if (const auto* const wait = std::get_if<EventWait>(&item.what)) {
      if (is_first && wait->event->value >= wait->value) {
        choices.push_back({buffer, i, Choice::kItem, {}});
      } else if (is_first) {
        is_blocked = true;
        buffer->blocked_since = since != 0 ? since : gpu::now();
      }
      break;  // later passes wait for it
    }
    if (std::holds_alternative<EventSignal>(item.what)) {
      if (is_first) choices.push_back({buffer, i, Choice::kItem, {}});
      break;
    }
    if (may_run(position, i)) choices.push_back({buffer, i, Choice::kItem, {}});
    is_first = false;
    if (!options().adversities.reorder_encoders) break;
  }
  if (is_first && !is_blocked && is_over(*buffer)) {
    choices.push_back({buffer, 0, Choice::kFinish, {}});
  }
}

bool Queue::may_run(std::size_t position, std::size_t item) const {
  const Pass& pass = *pass_of(order_[position]->items[item]);
  for (std::size_t earlier = 0; earlier <= position; ++earlier) {
    const std::vector<Item>& items = order_[earlier]->items;
    const std::size_t end = earlier == position ? item : items.size();
    for (std::size_t i = 0; i < end; ++i) {
      if (items[i].is_done) continue;
      const Pass* const other = pass_of(items[i]);
      if (other == nullptr) continue;
      if (pass.is_barrier || have_hazard(*other, pass) || is_fenced(*other, pass)) return false;
    }
  }
  return true;
}

void Queue::schedule(CommandBuffer& buffer) {
  buffer.status = Status::kScheduled;
  buffer.kernel_start = buffer.kernel_end = seconds();
  if (buffer.scheduled_handlers.empty()) {
    buffer.scheduled_handlers_ran = true;
    state().progress.notify_all();
  } else {
    add_job({buffer.shared_from_this(), false});
  }
}

// Shared events order devices with each other, and the host after a device's signal (Apple,
// "Synchronizing Events Across Multiple Devices or Processes"). Writes of the host reach only
// command buffers that are committed later.
void Queue::hand_over(gpu::Lock& lock, const CommandBuffer& buffer, void (Resource::*how)()) {
  if (!options().adversities.snapshot_shared) return;
  lock.unlock();
  for (const ResourcePointer& resource : buffer.used) (resource.get()->*how)();
  for (const ResourcePointer& resource : buffer.resident) (resource.get()->*how)();
  lock.lock();
}

void Queue::execute_item(gpu::Lock& lock, CommandBuffer& buffer, std::size_t number) {
  State& all = state();
  Item& item = buffer.items[number];
  if (buffer.gpu_start == 0) buffer.gpu_start = seconds();
  if (const auto* const signal = std::get_if<EventSignal>(&item.what)) {
    if (signal->event->is_shared) hand_over(lock, buffer, &Resource::release);
    item.is_done = true;
    Notifications due;
    signal_event(*signal->event, signal->value, due);
    if (!due.empty()) {
      lock.unlock();
      run(due);
      due.clear();
      lock.lock();
    }
  } else if (const auto* const wait = std::get_if<EventWait>(&item.what)) {
    if (!wait->event->is_stored) hand_over(lock, buffer, &Resource::acquire);
    item.is_done = true;
  } else {
    Pass& pass = *std::get<std::unique_ptr<Pass>>(item.what);
    Error error = make_error(std::exchange(device_.next_fault, ErrorCode::kNone));
    if (error.code == ErrorCode::kNone) {
      ++all.running;
      lock.unlock();
      error = execute(pass, buffer.resident);
      lock.lock();
      --all.running;
    }
    item.is_done = true;
    all.last_progress = gpu::now();
    if (error.code != ErrorCode::kNone) {
      pass.state = PassState::kFaulted;
      doom(buffer, std::move(error));
    } else {
      pass.state = PassState::kCompleted;
    }
  }
}

void Queue::doom(CommandBuffer& buffer, Error error) {
  if (buffer.doomed.code == ErrorCode::kNone) buffer.doomed = std::move(error);
  has_doomed_ = true;
  changed_.notify_all();
}

void Queue::doom_all(const Error& error) {
  for (const auto& buffer : order_) {
    if (buffer->is_committed) doom(*buffer, error);
  }
}

void Queue::pick_victim(const CommandBuffer& guilty) {
  std::vector<std::pair<Queue*, CommandBuffer*>> candidates;
  for (Queue* const queue : state().queues) {
    if (&queue->device_ != &device_) continue;
    for (const auto& buffer : queue->order_) {
      if (buffer.get() == &guilty || !buffer->is_committed) continue;
      if (buffer->doomed.code == ErrorCode::kNone) candidates.emplace_back(queue, buffer.get());
    }
  }
  if (candidates.empty()) return;
  const auto& [queue, buffer] = candidates[decide(candidates.size())];
  // The text of macOS, quoted in pytorch#144634 and others.
  queue->doom(*buffer, {ErrorCode::kInternal,
                        "Discarded (victim of GPU error/recovery) "
                        "(00000005:kIOGPUCommandBufferCallbackErrorInnocentVictim)"});
}

void Queue::fail(gpu::Lock& lock, const std::shared_ptr<CommandBuffer>& buffer, Error error) {
  State& all = state();
  const ErrorCode code = error.code;
  if (buffer->status == Status::kCommitted) schedule(*buffer);
  buffer->error = std::move(error);
  buffer->doomed = {};
  if (code == ErrorCode::kTimeout || code == ErrorCode::kPageFault ||
      code == ErrorCode::kStackOverflow) {
    ++all.faults;
    if (options().adversities.victims) pick_victim(*buffer);
  }
  Notifications due;
  bool is_held = false;  // by a wait, which also holds back the signals of a buffer that has failed
  for (Item& item : buffer->items) {
    if (std::exchange(item.is_done, true)) continue;
    const auto* const wait = std::get_if<EventWait>(&item.what);
    is_held = is_held || (wait != nullptr && wait->event->value < wait->value);
    if (is_held) continue;
    const auto* const signal = std::get_if<EventSignal>(&item.what);
    if (signal == nullptr || signal->event->value >= signal->value) continue;
    const FailedSignals what = options().failed_signals;
    if (what == FailedSignals::kAlways || (what == FailedSignals::kBySeed && decide(2) == 0)) {
      signal_event(*signal->event, signal->value, due);
    }
  }
  if (!due.empty()) {
    lock.unlock();
    run(due);
    due.clear();
    lock.lock();
  }
  finish(lock, buffer);
}

void Queue::finish(gpu::Lock& lock, const std::shared_ptr<CommandBuffer>& buffer) {
  const bool is_slow = options().adversities.slow_completion;
  remove(*buffer);
  buffer->blocked_since = 0;
  if (buffer->gpu_start == 0) buffer->gpu_start = seconds();
  buffer->gpu_end = std::max(seconds(), buffer->gpu_start);
  state().last_progress = gpu::now();
  if (!is_slow) publish_end(lock, *buffer);
  if (is_slow || !buffer->completed_handlers.empty() || !buffer->scheduled_handlers_ran) {
    add_job({buffer, true});
  } else {
    end_handlers(lock, *buffer);
  }
}

void Queue::publish_end(gpu::Lock& lock, CommandBuffer& buffer) {
  const auto hands_over = [](const ResourcePointer& resource) {
    return resource->storage() == Storage::kManaged || options().adversities.snapshot_shared;
  };
  if (std::ranges::any_of(buffer.used, hands_over) ||
      std::ranges::any_of(buffer.resident, hands_over)) {
    lock.unlock();
    for (const ResourcePointer& resource : buffer.used) resource->download();
    for (const ResourcePointer& resource : buffer.resident) resource->download();
    lock.lock();
  }
  for (const ResourcePointer& resource : buffer.used) resource->in_flight.fetch_sub(1);
  for (const std::shared_ptr<Event>& event : buffer.used_events) event->in_flight.fetch_sub(1);
  buffer.status = buffer.error.code == ErrorCode::kNone ? Status::kCompleted : Status::kError;
  --unfinished_;
  --committed_;
  slot_free_.notify_all();
  state().progress.notify_all();
}

void Queue::end_handlers(gpu::Lock& lock, CommandBuffer& buffer) {
  lock.unlock();
  if (buffer.release_references) std::exchange(buffer.release_references, nullptr)();
  lock.lock();
  buffer.completed_handlers_ran = true;
  --state().unfinished;
  state().progress.notify_all();
}

void Queue::add_job(Job job) {
  const unsigned threads = options().adversities.late_handlers ? 2 : 1;
  while (handler_threads_ < threads) {
    ++handler_threads_;
    start_worker("metal-handlers", [self = shared_from_this()] { self->run_handlers(); });
  }
  jobs_.push_back(std::move(job));
  job_arrived_.notify_all();
}

bool Queue::take_job(Job* job) {
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (!jobs_[i].is_completion || jobs_[i].buffer->scheduled_handlers_ran) ready.push_back(i);
    if (!ready.empty() && !options().adversities.late_handlers) break;
  }
  if (ready.empty()) return false;
  const std::size_t picked = ready[ready.size() == 1 ? 0 : decide(ready.size())];
  const auto at = jobs_.begin() + static_cast<std::ptrdiff_t>(picked);
  *job = std::move(*at);
  jobs_.erase(at);
  return true;
}

void Queue::run_handlers() {
  gpu::Lock lock(state().mutex);
  for (;;) {
    Job job;
    bool has_job = false;
    job_arrived_.wait(lock, [&] {
      has_job = take_job(&job);
      return has_job || (is_ending() && jobs_.empty() && !has_command_thread_);
    });
    if (!has_job) break;
    ++handlers_running_;
    CommandBuffer& buffer = *job.buffer;
    const Adversities& adversities = options().adversities;
    const bool is_late = job.is_completion
                             ? adversities.slow_completion || adversities.late_handlers
                             : adversities.late_handlers;
    if (is_late) {
      const auto delay = static_cast<Nanoseconds>(decide(kLongestDelay));
      lock.unlock();
      gpu::sleep_for(delay);
      lock.lock();
    }
    if (job.is_completion && buffer.status < Status::kCompleted) publish_end(lock, buffer);
    {
      auto handlers =
          std::move(job.is_completion ? buffer.completed_handlers : buffer.scheduled_handlers);
      if (job.is_completion) buffer.completing = std::this_thread::get_id();
      lock.unlock();
      for (const auto& handler : handlers) handler();
      handlers.clear();
      lock.lock();
      buffer.completing = {};
    }
    if (job.is_completion) {
      end_handlers(lock, buffer);
    } else {
      buffer.scheduled_handlers_ran = true;
      state().progress.notify_all();
    }
    --handlers_running_;
    job_arrived_.notify_all();
    lock.unlock();
    job.buffer.reset();
    lock.lock();
  }
  --handler_threads_;
}

}  // namespace halyard::inline v0::sim::metal
