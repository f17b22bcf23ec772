// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/stream.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "simulation/gpu/capture.h"
#include "simulation/gpu/managed.h"
#include "simulation/gpu/options.h"
#include "simulation/gpu/pool.h"
#include "simulation/gpu/rules.h"

namespace halyard::inline v0::sim::gpu {
namespace {

// The greatest delay, in nanoseconds, by which the seed starts operations late in adversarial mode.
constexpr std::uint64_t kMostDelay = 300'000;
// The first operations of a stream are all delayed, then one in eight, so that programs with many
// operations end in time.
constexpr std::uint64_t kAllLate = 1024, kLateOneIn = 8;

void run_stream(std::shared_ptr<StreamState> stream) {
  Lock lock(state().mutex);
  for (;;) {
    stream->arrived.wait(lock, [&] { return !stream->items.empty() || stream->is_destroyed; });
    if (stream->items.empty()) {
      stream->has_thread = false;
      --state().stream_threads;
      state().progress.notify_all();
      return;
    }
    StreamItem& item = stream->items.front();  // stays in place until it is popped below
    state().progress.wait(lock, [&] { return std::ranges::all_of(item.waits, has_passed); });
    lock.unlock();
    if (options().adversarial) {
      const std::uint64_t chosen = choose(stream->number, item.sequence, kMostDelay * kLateOneIn);
      if (item.sequence <= kAllLate || chosen % kLateOneIn == 0) {
        sleep_for(static_cast<Nanoseconds>(chosen / kLateOneIn));
      }
    }
    execute(item.work, *stream);
    lock.lock();
    stream->completed = item.sequence;
    if (stream->is_blocking() && stream->completed == stream->submitted) {
      --stream->context->busy_blocking_streams;
    }
    StreamItem ended = std::move(item);
    stream->items.pop_front();
    state().progress.notify_all();
    lock.unlock();
    ended = {};  // may free memory and modules
    lock.lock();
  }
}

void start_thread(StreamState& stream) {
  const auto body = [](void* argument) {
    std::unique_ptr<std::shared_ptr<StreamState>> of(
        static_cast<std::shared_ptr<StreamState>*>(argument));
    run_stream(std::move(*of));
  };
  auto* const kept = new std::shared_ptr<StreamState>(stream.shared_from_this());
  ++state().stream_threads;
  if (stream.thread.start(rules().stream_thread, body, kept) != 0) {
    std::fprintf(stderr, "simulated %s: the system gives no thread for a stream\n",
                 rules().product);
    std::abort();
  }
  stream.thread.detach();
}

Wait end_of(StreamState& stream) { return {stream.shared_from_this(), stream.submitted, nullptr}; }

template <class Visit>
void for_each_stream(ContextState& context, Visit visit) {
  std::erase_if(context.streams, [&](const std::weak_ptr<StreamState>& weak) {
    const std::shared_ptr<StreamState> stream = weak.lock();
    if (stream != nullptr) visit(stream);
    return stream == nullptr;
  });
}

bool names(const Work& work, const Allocation& memory) {
  const auto holds = [&](DevicePointer address) {
    return address >= memory.begin && address < memory.end();
  };
  if (const auto* kernel = std::get_if<KernelWork>(&work)) {
    // Pointers among the parameters have their natural alignment.
    for (std::size_t at = 0; at + sizeof(DevicePointer) <= kernel->parameters.size(); at += 8) {
      DevicePointer value = 0;
      std::memcpy(&value, kernel->parameters.data() + at, sizeof value);
      if (holds(value)) return true;
    }
  } else if (const auto* of = std::get_if<CopyWork>(&work)) {
    const auto address = [](const void* host) { return reinterpret_cast<DevicePointer>(host); };
    const Copy3D& copy = of->copy;
    return holds(copy.src_device) || holds(copy.dst_device) || holds(address(copy.src_host)) ||
           holds(address(copy.dst_host));
  } else if (const auto* fill = std::get_if<FillWork>(&work)) {
    return holds(fill->fill.dst);
  } else if (const auto* operations = std::get_if<MemOpWork>(&work)) {
    return std::ranges::any_of(operations->operations,
                               [&](const MemOp& each) { return holds(each.address); });
  } else if (const auto* graph = std::get_if<GraphWork>(&work)) {
    return std::ranges::any_of(graph->plan->nodes,
                               [&](const PlanNode& node) { return names(node.work, memory); });
  }
  return false;
}

}  // namespace

bool is_named_in_flight(const ContextState& context, const Allocation& allocation) {
  const auto in = [&](const StreamState& stream) {
    return std::ranges::any_of(
        stream.items, [&](const StreamItem& item) { return names(item.work, allocation); });
  };
  return in(*context.legacy) ||
         std::ranges::any_of(context.streams, [&](const std::weak_ptr<StreamState>& weak) {
           const std::shared_ptr<StreamState> stream = weak.lock();
           return stream != nullptr && in(*stream);
         });
}

bool has_passed(const Wait& wait) {
  if (wait.recording != nullptr) return wait.recording->is_done;
  return wait.stream->completed >= wait.sequence;
}

int clamp_priority(int priority) {
  return std::clamp(priority, rules().limits->greatest_priority, rules().limits->least_priority);
}

std::shared_ptr<StreamState> make_stream(ContextState& context, unsigned flags, int priority) {
  auto stream = std::make_shared<StreamState>();
  stream->context = &context;
  stream->flags = flags;
  stream->priority = priority;
  stream->id = state().next_id++;
  stream->number = state().streams_made++;
  context.streams.push_back(stream);
  return stream;
}

StreamState* find_stream(Stream handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value > kPerThreadStream) return resolve(handle);
  ThreadState& thread = this_thread();
  ContextState* const context = thread.current();
  if (context == nullptr || context->is_destroyed.load()) return nullptr;
  if (value == kPerThreadStream || (value == 0 && thread.uses_per_thread_stream)) {
    std::shared_ptr<StreamState>& stream = thread.per_thread_streams[context];
    if (stream == nullptr) stream = make_stream(*context, 0, 0);
    return stream.get();
  }
  return context->legacy.get();
}

// cuda.h, cuMemFreeAsync: CUDA_ERROR_INVALID_CONTEXT (default stream specified with no current
// context). Other streams identify their context.
Result stream_error(Stream handle) {
  if (reinterpret_cast<std::uintptr_t>(handle) > kPerThreadStream) return rules().dead_stream();
  return this_thread().current() == nullptr ? kInvalidContext : kContextIsDestroyed;
}

std::uint64_t enqueue(StreamState& stream, Work work) {
  ContextState& context = *stream.context;
  StreamItem item{stream.submitted + 1, std::move(stream.waits), std::move(work)};
  stream.waits.clear();
  // cuda.h, CU_STREAM_NON_BLOCKING: other streams synchronise with the legacy stream.
  if (stream.is_legacy && context.busy_blocking_streams != 0) {
    for_each_stream(context, [&](const std::shared_ptr<StreamState>& other) {
      if (other->is_blocking() && other->completed < other->submitted) {
        item.waits.push_back(end_of(*other));
      }
    });
  } else if (stream.is_blocking() && context.legacy->completed < context.legacy->submitted) {
    item.waits.push_back(end_of(*context.legacy));
  }
  if (stream.is_blocking() && stream.completed == stream.submitted) {
    ++context.busy_blocking_streams;
  }
  if (!context.queues.empty()) {
    Wait& latest = context.queues[stream.number % context.queues.size()];
    if (latest.stream != nullptr && !has_passed(latest)) item.waits.push_back(latest);
    latest = {stream.shared_from_this(), item.sequence, nullptr};
  }
  stream.submitted = item.sequence;
  stream.items.push_back(std::move(item));
  if (!stream.has_thread) {
    stream.has_thread = true;
    start_thread(stream);
  }
  stream.arrived.notify_all();
  return stream.submitted;
}

Result check_stream(StreamState& stream) {
  ContextState& context = *stream.context;
  if (context.is_destroyed.load()) return kContextIsDestroyed;
  if (const Result fault = context.sticky.load(); fault != kSuccess) return fault;
  if (stream.is_legacy && state().captures != 0 && is_captured(context)) [[unlikely]] {
    invalidate_captures(context);
    return kCaptureImplicit;
  }
  return kSuccess;
}

Result submit(StreamState& stream, Work work) {
  if (const Result result = check_stream(stream); result != kSuccess) return result;
  if (stream.capture != nullptr) return capture_work(stream, std::move(work));
  if (options().null &&
      (std::holds_alternative<KernelWork>(work) || std::holds_alternative<CopyWork>(work) ||
       std::holds_alternative<FillWork>(work) || std::holds_alternative<EmptyWork>(work)) &&
      stream.waits.empty()) {
    return kSuccess;
  }
  enqueue(stream, std::move(work));
  return kSuccess;
}

Result submit_record(StreamState& stream, const std::shared_ptr<EventState>& event) {
  if (const Result result = check_stream(stream); result != kSuccess) return result;
  if (stream.capture != nullptr) return capture_work(stream, RecordWork{event, nullptr});
  event->capture = nullptr;
  if (!rules().waits_for_destroyed_streams) event->stream = stream.weak_from_this();
  std::shared_ptr<Recording>& recording = event->recording;
  if (options().null && is_complete(stream) && stream.waits.empty()) {
    // A recording that no wait refers to is reused.
    if (recording == nullptr || !recording->is_done || recording.use_count() != 1) {
      recording = std::make_shared<Recording>();
    }
    recording->is_done = true;
    if ((event->flags & kEventDisableTiming) == 0) {
      recording->time = now();
    }
    return kSuccess;
  }
  recording = std::make_shared<Recording>();
  enqueue(stream, RecordWork{event, recording});
  return kSuccess;
}

Result submit_wait(StreamState& stream, const std::shared_ptr<EventState>& event) {
  if (const Result result = check_stream(stream); result != kSuccess) return result;
  if (stream.capture != nullptr) return capture_work(stream, WaitWork{event});
  // cuda.h, cuEventRecord: a wait captures the event's contents at the time of the call.
  const auto is_awaited = [&] {
    if (rules().waits_for_destroyed_streams) return true;
    const std::shared_ptr<StreamState> recorded_in = event->stream.lock();
    return recorded_in != nullptr && !recorded_in->is_destroyed;
  };
  if (event->recording != nullptr && !event->recording->is_done && is_awaited()) {
    stream.waits.push_back({{}, 0, event->recording});
  }
  if (!stream.waits.empty()) enqueue(stream, EmptyWork{});
  return kSuccess;
}

Result wait_for(Lock& lock, StreamState& stream) {
  ContextState& context = *stream.context;
  if (is_complete(stream)) {
    return_managed_memory();
    return context.sticky.load();
  }
  std::vector<Wait> waits{end_of(stream)};
  if (stream.is_legacy) {
    for_each_stream(context, [&](const std::shared_ptr<StreamState>& other) {
      if (other->is_blocking()) waits.push_back(end_of(*other));
    });
  }
  state().progress.wait(lock, [&] { return std::ranges::all_of(waits, has_passed); });
  return_managed_memory();
  return context.sticky.load();
}

void destroy_stream(Stream handle) {
  const std::shared_ptr<StreamState> stream = end_handle(handle);
  stream->is_destroyed = true;
  stream->arrived.notify_all();
  --stream->context->live_streams;
}

void end_streams(ContextState& context) {
  for_each_stream(context, [](const std::shared_ptr<StreamState>& stream) {
    stream->is_destroyed = true;
    stream->arrived.notify_all();
  });
  context.legacy->is_destroyed = true;
  context.legacy->arrived.notify_all();
}

bool is_idle(const ContextState& context) {
  if (context.legacy->completed < context.legacy->submitted) return false;
  if (!std::ranges::all_of(context.foreign_launches, has_passed)) return false;
  return std::ranges::all_of(context.streams, [](const std::weak_ptr<StreamState>& weak) {
    const std::shared_ptr<StreamState> stream = weak.lock();
    return stream == nullptr || stream->completed >= stream->submitted;
  });
}

Result drain(Lock& lock, ContextState& context) {
  std::vector<Wait> waits{end_of(*context.legacy)};
  for_each_stream(context, [&](const std::shared_ptr<StreamState>& stream) {
    waits.push_back(end_of(*stream));
  });
  waits.insert(waits.end(), context.foreign_launches.begin(), context.foreign_launches.end());
  state().progress.wait(lock, [&] { return std::ranges::all_of(waits, has_passed); });
  return_freed(context);
  return_managed_memory();
  return context.sticky.load();
}

}  // namespace halyard::inline v0::sim::gpu
