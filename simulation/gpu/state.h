// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices, contexts, and each thread's current context. A single lock guards them; kernels, copies
// and host functions run without it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/thread.h"
#include "simulation/gpu/handle.h"
#include "simulation/gpu/memory.h"
#include "simulation/gpu/mutex.h"
#include "simulation/gpu/types.h"

namespace halyard::inline v0::sim::gpu {

struct StreamState;
struct PoolState;
struct Recording;
struct GraphMemory;

// A wait of work: for a place in a stream, or for a recording.
struct Wait {
  std::shared_ptr<StreamState> stream;
  std::uint64_t sequence = 0;
  std::shared_ptr<Recording> recording;
};
// The State is locked.
bool has_passed(const Wait& wait);

// A context is never freed: streams, events and modules of a destroyed context still point to it.
struct ContextState {
  static constexpr Kind kKind = Kind::kContext;
  static constexpr const char* kName = "context";

  DeviceId device = 0;
  unsigned flags = 0;
  std::uint64_t id = 0;
  bool is_primary = false;
  base::Atomic<bool> is_destroyed{false};
  // The first fault of a kernel of its device; every later call returns it.
  base::Atomic<Result> sticky{kSuccess};
  Context handle = nullptr;
  Mutex host_functions;                 // held while one of them runs
  std::shared_ptr<StreamState> legacy;  // the NULL stream
  std::vector<std::weak_ptr<StreamState>>
      streams;                              // all others, those with work after destruction too
  std::uint64_t busy_blocking_streams = 0;  // with work in flight
  // The latest work of each hardware queue that streams share; empty if each stream has its own.
  std::vector<Wait> queues;
  // Launches in streams of other contexts of graphs that have nodes in this context.
  std::vector<Wait> foreign_launches;
  std::set<ContextState*> peers;  // whose memory kernels of this context may use
  std::map<int, std::size_t> limits;
  std::vector<DevicePointer> freed;  // by cuMemFree with work in flight; returned when it is over
  std::uint64_t live_streams = 0, live_events = 0, live_modules = 0;  // that the program destroys
};

struct DeviceState {
  int index = 0;  // among all, of which the process may see some
  Context primary = nullptr;
  unsigned primary_references = 0;
  unsigned primary_flags = 0;
  Result lost = kSuccess;  // a fault that no new context ends
  Pool default_pool = nullptr, current_pool = nullptr;
};

// A call of a host function, by the library's thread for such calls.
struct HostCall {
  std::function<void()> function;
  bool is_done = false;
};

struct State {
  Mutex mutex;
  // Notified when an operation of a stream has ended.
  Condition progress;
  base::Atomic<bool> is_initialized{false};
  bool is_child = false;  // of a process that had initialized the driver: it never is
  std::vector<DeviceState> devices;
  std::vector<std::shared_ptr<ContextState>> contexts;
  // The latest cuStreamWriteValue to an address: its stream's id, and its order.
  struct Write {
    std::uint64_t stream = 0, order = 0;
  };
  std::map<DevicePointer, Write> writes;
  std::map<DevicePointer, std::weak_ptr<GraphMemory>> graph_memory;
  std::uint64_t next_id = 1;
  std::uint64_t streams_made = 0;
  std::uint64_t stream_threads = 0;  // that have not ended
  std::uint64_t captures = 0;        // in progress
  unsigned global_captures = 0;      // captures in progress that were begun in the global mode
  std::uint64_t live_graphs = 0, live_execs = 0, live_libraries = 0, live_pools = 0;
  std::deque<HostCall*> host_calls;  // that have not ended
  Condition host_call_arrived;
  base::Thread host_thread;  // detached
  bool has_host_thread = false;
  bool is_ending = false;  // of halyard-sim's process: that thread ends
  // A fault that only a new process ends.
  base::Atomic<Result> lost{kSuccess};
};

// Outlives the threads of streams. Only end_process() replaces it.
inline State*& state_of_process() {
  static State* one = new State;
  return one;
}
inline State& state() { return *state_of_process(); }

// The State is locked.
inline bool is_device(DeviceId device) {
  return device >= 0 && static_cast<std::size_t>(device) < state().devices.size();
}

struct ThreadState {
  std::vector<ContextState*> contexts;  // the stack; back() is current, null where one was popped
  bool is_in_host_function = false;
  bool uses_per_thread_stream = false;  // inside a function of the _ptsz or _ptds kind
  CaptureMode capture_mode = kCaptureGlobal;
  std::map<ContextState*, std::shared_ptr<StreamState>> per_thread_streams;
  unsigned local_captures =
      0;  // this thread's captures that were begun in a mode that is not relaxed

  PlaceCache places;

  ContextState* current() const { return contexts.empty() ? nullptr : contexts.back(); }
};

#if defined(HALYARD_SIMULATION)
// A function, because all simulated threads share a thread of the system.
ThreadState& this_thread();
#else
// Null until the thread's first call. Not in the initial-exec model: programs open this library at
// run time, and the blocks of the library's threads do not fit in the static TLS that remains then.
inline constinit thread_local ThreadState* made_thread = nullptr;
ThreadState& make_thread();
inline ThreadState& this_thread() { return made_thread != nullptr ? *made_thread : make_thread(); }
#endif

// Creates the devices that the process sees, if needed. The State is locked.
Result initialize();
// Makes a context on a device. The State is locked.
ContextState* make_context(DeviceId device, unsigned flags, bool is_primary);
// Retains the primary context of a device, which the first call creates. The State is locked.
Result retain_primary(Context* context, DeviceId device);
// Reports the objects of a context that the program should have released. `where` names the event
// at which they leaked.
void report_leaks(const ContextState& context, const char* where);
// Waits for the context's work, frees its memory, ends its handles. `where` is for the leak report.
void end_context(Lock& lock, ContextState& context, const char* where);
// Waits until all work that was submitted to the context has ended; returns its sticky error.
Result drain(Lock& lock, ContextState& context);
// True if nothing of the context is in flight.
bool is_idle(const ContextState& context);

}  // namespace halyard::inline v0::sim::gpu
