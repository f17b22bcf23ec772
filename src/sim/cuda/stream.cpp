// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/cuda/stream.h"

#include <algorithm>
#include <thread>

#include "sim/cuda/capture.h"
#include "sim/cuda/options.h"

namespace halyard::inline v0::sim::cuda {
namespace {

// In adversarial mode operations start up to this much late, by the seed.
constexpr std::uint64_t kMostDelayMicroseconds = 300;

void run_stream(std::shared_ptr<StreamState> stream) {
  Lock lock(state().mutex);
  for (;;) {
    stream->arrived.wait(lock, [&] { return !stream->items.empty() || stream->is_destroyed; });
    if (stream->items.empty()) {
      stream->has_thread = false;
      return;
    }
    StreamItem& item = stream->items.front();  // stays in place until it is popped below
    state().progress.wait(lock, [&] { return std::ranges::all_of(item.waits, has_passed); });
    lock.unlock();
    if (options().adversarial) {
      std::this_thread::sleep_for(
          std::chrono::microseconds(choose(stream->number, item.sequence, kMostDelayMicroseconds)));
    }
    execute(item.work, *stream);
    lock.lock();
    stream->completed = item.sequence;
    StreamItem ended = std::move(item);
    stream->items.pop_front();
    state().progress.notify_all();
    lock.unlock();
    ended = {};  // may free memory and modules
    lock.lock();
  }
}

Wait end_of(const std::shared_ptr<StreamState>& stream) {
  return {stream, stream->submitted, nullptr};
}

template <class Visit>
void for_each_stream(ContextState& context, Visit visit) {
  std::erase_if(context.streams, [&](const std::weak_ptr<StreamState>& weak) {
    const std::shared_ptr<StreamState> stream = weak.lock();
    if (stream != nullptr) visit(stream);
    return stream == nullptr;
  });
}

}  // namespace

bool has_passed(const Wait& wait) {
  if (wait.recording != nullptr) return wait.recording->is_done;
  return wait.stream->completed >= wait.sequence;
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

std::shared_ptr<StreamState> find_stream(Stream handle) {
  ThreadState& thread = this_thread();
  ContextState* const context = thread.current();
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value > kPerThreadStream) {
    StreamState* const stream = resolve(handle);
    return stream == nullptr ? nullptr : stream->shared_from_this();
  }
  if (context == nullptr) return nullptr;
  if (value == kPerThreadStream || (value == 0 && thread.uses_per_thread_stream)) {
    std::shared_ptr<StreamState>& stream = thread.per_thread_streams[context];
    if (stream == nullptr) stream = make_stream(*context, 0, 0);
    return stream;
  }
  return context->legacy;
}

std::uint64_t enqueue(const std::shared_ptr<StreamState>& stream, Work work) {
  ContextState& context = *stream->context;
  StreamItem item{++stream->submitted, std::move(stream->waits), std::move(work)};
  stream->waits.clear();
  // cuda.h, CU_STREAM_NON_BLOCKING: other streams synchronise with the legacy stream.
  if (stream->is_legacy) {
    for_each_stream(context, [&](const std::shared_ptr<StreamState>& other) {
      if (other->is_blocking() && other->completed < other->submitted) {
        item.waits.push_back(end_of(other));
      }
    });
  } else if (stream->is_blocking() && context.legacy->completed < context.legacy->submitted) {
    item.waits.push_back(end_of(context.legacy));
  }
  const std::uint64_t sequence = item.sequence;
  stream->items.push_back(std::move(item));
  if (!stream->has_thread) {
    stream->has_thread = true;
    std::thread(run_stream, stream).detach();
  }
  stream->arrived.notify_one();
  return sequence;
}

Result submit(const std::shared_ptr<StreamState>& stream, Work work) {
  ContextState& context = *stream->context;
  if (context.is_destroyed) return kContextIsDestroyed;
  if (context.sticky != kSuccess) return context.sticky;
  if (stream->capture != nullptr) return capture_work(*stream, std::move(work));
  if (stream->is_legacy && is_captured(context)) {
    invalidate_captures(context);
    return kCaptureImplicit;
  }
  if (options().null &&
      (std::holds_alternative<KernelWork>(work) || std::holds_alternative<CopyWork>(work) ||
       std::holds_alternative<FillWork>(work))) {
    return kSuccess;
  }
  if (auto* const record = std::get_if<RecordWork>(&work)) {
    record->event->recording = record->recording = std::make_shared<Recording>();
    record->event->capture = nullptr;
    if (options().null && is_complete(*stream)) {
      record->recording->is_done = true;
      record->recording->time = std::chrono::steady_clock::now();
      return kSuccess;
    }
  }
  if (auto* const wait = std::get_if<WaitWork>(&work)) {
    // cuda.h, cuEventRecord: a wait captures what the event holds at the time of the call.
    const std::shared_ptr<Recording> recording = wait->event->recording;
    if (recording != nullptr && !recording->is_done) stream->waits.push_back({{}, 0, recording});
    if (stream->waits.empty()) return kSuccess;
    work = EmptyWork{};
  }
  enqueue(stream, std::move(work));
  return kSuccess;
}

bool is_complete(const StreamState& stream) {
  if (stream.completed < stream.submitted) return false;
  bool complete = true;
  if (stream.is_legacy) {
    for_each_stream(*stream.context, [&](const std::shared_ptr<StreamState>& other) {
      if (other->is_blocking() && other->completed < other->submitted) complete = false;
    });
  }
  return complete;
}

Result wait_for(Lock& lock, const std::shared_ptr<StreamState>& stream) {
  std::vector<Wait> waits{end_of(stream)};
  if (stream->is_legacy) {
    for_each_stream(*stream->context, [&](const std::shared_ptr<StreamState>& other) {
      if (other->is_blocking()) waits.push_back(end_of(other));
    });
  }
  state().progress.wait(lock, [&] { return std::ranges::all_of(waits, has_passed); });
  return stream->context->sticky;
}

void destroy_stream(Stream handle) {
  const std::shared_ptr<StreamState> stream = end_handle(handle);
  stream->is_destroyed = true;
  stream->arrived.notify_one();
  --stream->context->live_streams;
}

bool is_idle(const ContextState& context) {
  if (context.legacy->completed < context.legacy->submitted) return false;
  return std::ranges::all_of(context.streams, [](const std::weak_ptr<StreamState>& weak) {
    const std::shared_ptr<StreamState> stream = weak.lock();
    return stream == nullptr || stream->completed >= stream->submitted;
  });
}

Result drain(Lock& lock, ContextState& context) {
  std::vector<Wait> waits{end_of(context.legacy)};
  for_each_stream(context, [&](const std::shared_ptr<StreamState>& stream) {
    waits.push_back(end_of(stream));
  });
  state().progress.wait(lock, [&] { return std::ranges::all_of(waits, has_passed); });
  return context.sticky;
}

}  // namespace halyard::inline v0::sim::cuda
