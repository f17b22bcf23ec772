// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams and events. Each stream has a thread of its own, started at its first work, so that
// streams run concurrently and out of step.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "base/thread.h"
#include "simulation/gpu/call.h"
#include "simulation/gpu/options.h"
#include "simulation/gpu/work.h"

namespace halyard::inline v0::sim::gpu {

struct CaptureState;

struct StreamItem {
  std::uint64_t sequence = 0;
  std::vector<Wait> waits;
  Work work;
};

// Guarded by the State's lock.
struct StreamState : std::enable_shared_from_this<StreamState> {
  static constexpr Kind kKind = Kind::kStream;
  static constexpr const char* kName = "stream";

  ContextState* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
  std::uint64_t number = 0;  // in order of creation, for the choices of the seed
  bool is_legacy = false;
  bool is_destroyed = false;
  bool has_thread = false;
  std::uint64_t submitted = 0, completed = 0;
  std::deque<StreamItem> items;
  std::vector<Wait> waits;  // of the next item
  Condition arrived;
  base::Thread thread;                       // detached: keeps the stream while it runs
  std::map<int, AttributeValue> attributes;  // that were set
  std::shared_ptr<CaptureState> capture;
  std::vector<NodeState*> frontier;  // of the capture: dependencies of the next node

  bool is_blocking() const { return !is_legacy && (flags & kNonBlocking) == 0; }
};

struct EventState {
  static constexpr Kind kKind = Kind::kEvent;
  static constexpr const char* kName = "event";

  ContextState* context = nullptr;
  unsigned flags = 0;
  Event handle = nullptr;
  std::shared_ptr<Recording> recording;   // of the latest record; null: never recorded
  std::weak_ptr<StreamState> stream;      // of that record, where a wait asks whether it lives
  std::shared_ptr<CaptureState> capture;  // if the latest record was captured
  std::vector<NodeState*> frontier;
};

// Returns the stream that a CUstream names in this thread: a handle, or one of the default streams
// of the current context. Returns null if it does not name a stream. The State is locked; the
// stream lives while the State stays locked.
StreamState* find_stream(Stream stream);
// The error if find_stream() returned null.
Result stream_error(Stream stream);

// cuda.h, cuStreamCreateWithPriority: a priority outside of the range is clamped.
int clamp_priority(int priority);
// Makes a stream of the current context.
std::shared_ptr<StreamState> make_stream(ContextState& context, unsigned flags, int priority);

// Hands work to a stream, or adds it to the graph that the stream is being captured into.
Result submit(StreamState& stream, Work work);
// Hands work to a stream even if the stream is being captured: the work is executed.
std::uint64_t enqueue(StreamState& stream, Work work);
// Submits a record of an event and a wait for its latest record.
Result submit_record(StreamState& stream, const std::shared_ptr<EventState>& event);
Result submit_wait(StreamState& stream, const std::shared_ptr<EventState>& event);

// Returns the reason why a stream takes no work, or kSuccess.
Result check_stream(StreamState& stream);
// True in null mode, where kernels, copies and memsets do nothing, if they need not be created
// because no graph captures them.
inline bool takes_nothing(const StreamState& stream) {
  return options().null && stream.capture == nullptr;
}

// True if all submitted work has ended; for the legacy stream, including that of blocking streams.
inline bool is_complete(const StreamState& stream) {
  return stream.completed >= stream.submitted &&
         (!stream.is_legacy || stream.context->busy_blocking_streams == 0);
}
// True if work in flight in the context names memory of the allocation: as a side of a copy or
// memset, or in a parameter of a kernel.
bool is_named_in_flight(const ContextState& context, const Allocation& allocation);
// Blocks until all work that was submitted before the call is_complete. Returns the context's
// error.
Result wait_for(Lock& lock, StreamState& stream);

// Makes the threads of a context's streams end once their work is done.
void end_streams(ContextState& context);
// Ends a stream's handle; work in flight still runs.
void destroy_stream(Stream stream);

}  // namespace halyard::inline v0::sim::gpu
