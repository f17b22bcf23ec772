// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of command buffers that the program calls: creation, enqueue, commit and waits.
#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "simulation/metal/framework/queue.h"
#include "simulation/metal/framework/report.h"

namespace halyard::inline v0::sim::metal {
namespace {

// Collects the resources of a command buffer, each once.
std::vector<ResourcePointer> resources_of(const CommandBuffer& buffer) {
  std::vector<ResourcePointer> all;
  for (const Item& item : buffer.items) {
    const auto* const pass = std::get_if<std::unique_ptr<Pass>>(&item.what);
    if (pass == nullptr) continue;
    for (const Pass::Touch& touched : (*pass)->touched) all.push_back(touched.resource);
  }
  std::ranges::sort(all, {}, [](const ResourcePointer& one) { return one->number(); });
  const auto repeated = std::ranges::unique(all);
  all.erase(repeated.begin(), repeated.end());
  return all;
}

}  // namespace

bool Queue::is_bound_in_flight(const Resource& resource, std::uint64_t begin, std::uint64_t end) {
  const gpu::Lock lock(state().mutex);
  const auto binds = [&](const Binding& binding) {
    return binding.resource.get() == &resource && binding.offset >= begin && binding.offset < end;
  };
  for (const Queue* queue : state().queues) {
    for (const std::shared_ptr<CommandBuffer>& buffer : queue->order_) {
      if (!buffer->is_committed) continue;
      for (const Item& item : buffer->items) {
        const auto* const pass = std::get_if<std::unique_ptr<Pass>>(&item.what);
        if (pass == nullptr) continue;
        for (const Command& command : (*pass)->commands) {
          const auto* const dispatch = std::get_if<Dispatch>(&command);
          if (dispatch != nullptr && std::ranges::any_of(dispatch->bindings, binds)) return true;
        }
      }
    }
  }
  return false;
}

std::shared_ptr<Queue> Queue::create(Device& device, std::size_t capacity) {
  static base::Atomic<std::uint64_t> next{1};
  return std::shared_ptr<Queue>(new Queue(device, capacity, next.fetch_add(1)));
}

std::shared_ptr<CommandBuffer> Queue::make_command_buffer(bool is_retaining) {
  auto buffer = std::make_shared<CommandBuffer>();
  buffer->queue = shared_from_this();
  buffer->is_retaining = is_retaining;
  gpu::Lock lock(state().mutex);
  if (unfinished_ >= capacity_ && committed_ == 0) {
    report("queue-is-full", "queue " + std::to_string(number_) + " has " +
                                std::to_string(capacity_) +
                                " command buffers and none is committed, so that commandBuffer "
                                "waits until the program releases one");
  }
  slot_free_.wait(lock, [&] { return unfinished_ < capacity_; });
  ++unfinished_;
  return buffer;
}

void Queue::close() {
  const gpu::Lock lock(state().mutex);
  is_closed_ = true;
  changed_.notify_all();
  job_arrived_.notify_all();
}

void Queue::put(const std::shared_ptr<CommandBuffer>& buffer) {
  if (std::exchange(buffer->is_on_queue, true)) return;
  order_.push_back(buffer);
}

void Queue::remove(const CommandBuffer& buffer) {
  const auto found = std::ranges::find(order_, &buffer, &std::shared_ptr<CommandBuffer>::get);
  if (found != order_.end()) order_.erase(found);
}

void CommandBuffer::enqueue() {
  const gpu::Lock lock(state().mutex);
  if (status != Status::kNotEnqueued) return;
  status = Status::kEnqueued;
  queue->put(shared_from_this());
}

void CommandBuffer::commit() {
  used = resources_of(*this);
  for (const ResourcePointer& resource : used) {
    resource->in_flight.fetch_add(1);
    resource->upload();
  }
  for (const ResourcePointer& resource : resident) resource->upload();
  for (const Item& item : items) {
    if (const auto* const wait = std::get_if<EventWait>(&item.what)) {
      used_events.push_back(wait->event);
    } else if (const auto* const signal = std::get_if<EventSignal>(&item.what)) {
      used_events.push_back(signal->event);
    }
  }
  for (const std::shared_ptr<Event>& event : used_events) event->in_flight.fetch_add(1);

  State& all = state();
  const gpu::Lock lock(all.mutex);
  number = ++all.committed;
  ++all.unfinished;
  ++queue->committed_;
  is_committed = true;
  status = Status::kCommitted;
  queue->put(shared_from_this());
  const unsigned until_revoked = options().faults_until_revoked;
  if (queue->device().is_removed.load()) {
    queue->doom(*this, make_error(ErrorCode::kDeviceRemoved));
  } else if (until_revoked != 0 && all.faults >= until_revoked) {
    queue->doom(*this, make_error(ErrorCode::kAccessRevoked));
  } else {
    for (const FailedBuffer& failed : options().failed_buffers) {
      if (failed.number != number) continue;
      queue->doom(*this, make_error(static_cast<ErrorCode>(failed.code)));
    }
  }
  queue->start_threads();
  queue->changed_.notify_all();
}

void CommandBuffer::wait_until_scheduled() {
  gpu::Lock lock(state().mutex);
  state().progress.wait(lock, [&] {
    return completed_handlers_ran || (status >= Status::kScheduled && scheduled_handlers_ran);
  });
}

void CommandBuffer::wait_until_completed() {
  gpu::Lock lock(state().mutex);
  const auto is_over = [&] { return completed_handlers_ran; };
  // A handler may need a lock that the waiting thread holds (pytorch#193464).
  bool is_told = false;
  while (!state().progress.wait_until(lock, gpu::now() + options().wait_timeout, is_over)) {
    if (completing == std::thread::id() || std::exchange(is_told, true)) continue;
    report("wait-blocks-handler",
           "waitUntilCompleted does not return, as a completed handler of the command buffer has "
           "not: it waits, perhaps for a lock of " +
               std::string(completing == std::this_thread::get_id() ? "its own thread"
                                                                    : "the waiting thread"));
  }
}

Status CommandBuffer::current_status() const {
  const gpu::Lock lock(state().mutex);
  return status;
}

void CommandBuffer::discard() {
  const gpu::Lock lock(state().mutex);
  if (is_on_queue) {
    report("enqueued-never-committed",
           "a command buffer of queue " + std::to_string(queue->number()) +
               " was enqueued and released without commit: it held up the later ones");
    queue->remove(*this);
  }
  --queue->unfinished_;
  queue->slot_free_.notify_all();
  queue->changed_.notify_all();
}

}  // namespace halyard::inline v0::sim::metal
