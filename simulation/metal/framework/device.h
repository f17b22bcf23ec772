// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device: one simulated GPU. State: all simulated GPUs and queues of the process, guarded by one
// lock. No thread holds this lock while it executes commands or calls the program.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic.h"
#include "base/thread.h"
#include "simulation/gpu/mutex.h"
#include "simulation/metal/framework/options.h"

namespace halyard::inline v0::sim::metal {

class Queue;
struct CommandBuffer;

// MTLCommandBufferError codes (Apple's documentation of MTLCommandBufferError.Code). Their texts
// (make_error) contain other numbers, those of Apple's kernel driver.
enum class ErrorCode : int {
  kNone = 0,
  kInternal = 1,
  kTimeout = 2,
  kPageFault = 3,
  kAccessRevoked = 4,
  kNotPermitted = 7,
  kOutOfMemory = 8,
  kInvalidResource = 9,
  kMemoryless = 10,
  kDeviceRemoved = 11,
  kStackOverflow = 12,
};
struct Error {
  ErrorCode code = ErrorCode::kNone;
  std::string text;
};
Error make_error(ErrorCode code, const std::string& detail = {});

struct Device {
  std::size_t index = 0;
  DeviceKind kind = DeviceKind::kUnified;
  std::string name;
  std::uint64_t registry_id = 0;  // the same in all processes
  int family = 0;                 // the highest MTLGPUFamily, Apple or Mac
  base::Atomic<std::uint64_t> allocated{0};
  base::Atomic<bool> is_removed{false};

  bool is_unified() const { return kind == DeviceKind::kUnified; }
  // `wanted`: an MTLGPUFamily.
  bool supports_family(int wanted) const;
  // Reserves `bytes` of the device's memory; returns false if there is not enough.
  bool account(std::uint64_t bytes);
  void unaccount(std::uint64_t bytes) { allocated.fetch_sub(bytes); }

  // Guarded by the State's lock.
  ErrorCode next_fault = ErrorCode::kNone;  // set by fail_next()
};

enum class RemovalNotice : std::uint8_t { kAdded, kRequested, kRemoved };
// An observer of MTLCopyAllDevicesWithObserver.
struct RemovalObserver {
  std::uint64_t number = 0;
  std::function<void(Device&, RemovalNotice)> function;
};

// A thread of the framework.
struct Worker {
  base::Thread thread;
  std::function<void()> body;
  bool has_ended = false;
};

// A function to call at a time.
struct Later {
  Nanoseconds time = 0;
  std::function<void()> function;
};

struct State {
  gpu::Mutex mutex;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Queue*> queues;
  std::list<std::unique_ptr<Worker>> workers;
  gpu::Condition worker_ended;
  // Notified when a command buffer changes its status, an event changes its value, or a handler has
  // run.
  gpu::Condition progress;
  std::uint64_t committed = 0;   // command buffers
  std::uint64_t unfinished = 0;  // committed buffers with handlers that have not returned
  std::uint64_t running = 0;     // threads that execute commands
  std::uint64_t decisions = 0;
  std::uint64_t faults = 0;
  Nanoseconds last_progress = 0;  // when a command buffer or a pass ended
  std::vector<Later> later;
  gpu::Condition later_arrived;
  bool has_later_worker = false;
  // Listener notifications of host stores, delayed until the next signal by a device.
  std::vector<std::function<void()>> late_notifications;
  std::vector<RemovalObserver> removal_observers;
  std::uint64_t observers_made = 0;
  // Releases the Objective-C objects of devices. Set when the first such object is made.
  void (*forget_objects)() = nullptr;
  bool is_ending = false;
  base::Atomic<bool> is_child{false};  // a child of fork(2): nothing works
};

// Outlives the framework's threads. Only end_process() replaces it.
inline State*& state_of_process() {
  static State* one = new State;
  return one;
}
inline State& state() { return *state_of_process(); }

// The devices of the options, made at the first call.
std::vector<Device*> all_devices();

// Precondition of the functions below: the caller holds State::mutex.

// Starts a thread that runs `body`. `name`: static, at most 15 characters.
void start_worker(const char* name, std::function<void()> body);
// Joins the threads of start_worker() that have ended.
void join_ended_workers();
// Calls `function`, without the lock, `delay` nanoseconds from now.
void run_later(Nanoseconds delay, std::function<void()> function);
// Draws the next number below `limit` from the seed.
std::uint64_t decide(std::uint64_t limit);
// Records that work has progressed, and notifies all waiters and queues.
void note_progress();

}  // namespace halyard::inline v0::sim::metal
