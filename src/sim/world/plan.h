// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plan: where a simulated program runs and what it does, drawn from the seed before it starts. One
// of async (async_program.h) draws the latter as it goes.
//
// Nodes form a DAG: each waits for points that earlier nodes signal, so that every wait can be
// satisfied. They are dealt to host threads, which go through theirs in any order: late, early
// and reverse-ordered signals come by themselves. Several nodes may signal one semaphore, in no
// order between them, also one value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hal/registry.h"
#include "halyard/base/clock.h"
#include "halyard/hal/device.h"
#include "sim/driver/driver.h"
#include "sim/random.h"

namespace halyard::inline v0::sim {

struct PlannedPoint {
  std::uint32_t semaphore = 0;
  std::uint64_t value = 0;
};

enum class NodeKind : std::uint8_t {
  // Submissions.
  kBarrier,
  kFill,
  kUpdate,
  kExecute,   // copies what its producers wrote, then writes
  kDispatch,  // the same by a kernel, in any order; on a copy queue as kExecute
  kHostCall,  // looks at what its producers wrote, then writes
  kFile,      // writes to a file, and reads that again: two submissions
  kEvent,     // sets an event in one recording, and waits for it in another: two submissions
  kPool,  // allocates from a pool, uses the buffer, mostly gives it back: up to three submissions
  // By the host.
  kSignal,
  // They signal nothing, and nobody waits for them.
  kWait,
  kQuery,
  kOnReach,
  kWaitIdle,
  kFlush,
  kRenewQueue,  // its handle goes, and a queue of the same sort is created; not a device's own
  kDropHandle,  // one of its device; who comes later has none
  // Faults.
  kFail,
  kCancel,
  kDropSemaphore,
  kDropSubmission,
  kCloseDevice,  // all of its handles go, those of its semaphores too
  kLoseDevice,
};

// What nodes work with. A device has one of each; the file is for all.
enum class Handle : std::uint8_t {
  kDevice,
  kPool,
  kCells,
  kTokens,
  kLook,  // recordings
  kStage,
  kEvent,
  kKernel,
  kFile,
};
inline constexpr std::size_t kHandles = 9;

struct Node {
  NodeKind kind = NodeKind::kBarrier;
  std::uint32_t thread = 0;
  std::uint32_t queue = 0;
  std::vector<PlannedPoint> waits;
  std::vector<PlannedPoint> signals;
  // kCancel, kDropSubmission: the node; kLoseDevice, kCloseDevice: the device
  std::uint32_t other = 0;
  Handle handle = Handle::kDevice;  // kDropHandle
  Nanoseconds patience = 0;         // waits: the deadline; kOnReach: how long it stays registered
  Nanoseconds delay = 0;            // before it
  bool any = false;                 // kWait: wait_any
  bool fails = false;               // kHostCall: it answers an error
  bool and_wait = false;            // kBarrier: barrier_and_wait
  // kOnReach: the callback submits and signals; kDispatch: indirect; kPool: the buffer is dropped
  // instead of being given back; kEvent: it is that of all nodes of the device; kWait: for a fence
  bool chained = false;
  bool waits_for_room = false;  // submissions: where the backlog is full
};

struct Plan {
  enum class Driver : std::uint8_t { kSim, kCpu, kSerial };

  explicit Plan(std::uint64_t from);

  // Its devices. `registry` gets the drivers, `natives` what simulates those of Driver::kSim.
  Result<std::vector<hal::Device>> open(hal::DriverRegistry& registry,
                                        std::vector<NativeDevice*>& natives) const;

  bool is_submission(const Node& node) const noexcept { return node.kind <= NodeKind::kPool; }
  // Queues are numbered device by device, and in each: compute, copy, those that are created.
  std::uint32_t queues() const noexcept { return devices * queues_per_device(); }
  std::uint32_t queues_per_device() const noexcept { return 2 + created; }
  std::uint32_t device_of(std::uint32_t queue) const noexcept {
    return queue / queues_per_device();
  }
  // Submissions may be refused although nothing has failed.
  bool small_backlog() const noexcept { return options.max_backlog < 64; }
  std::string describe() const;

  const std::uint64_t seed;
  const bool async;  // without nodes, semaphores and created queues
  Driver driver = Driver::kSim;
  std::uint32_t devices = 1;
  std::uint32_t workers = 1;  // of a cpu device
  std::uint32_t created = 0;  // queues of each device beside its own
  std::uint32_t semaphores = 1;
  std::uint32_t threads = 1;
  std::uint64_t pool_size = 0;
  // No faults: pools have room for a few blocks only.
  bool tight_pools = false;
  bool tight = false;     // async: there may be too little memory
  bool spurious = false;  // waits on futexes end early, weak exchanges fail
  bool faulty = false;    // something fails, is cancelled, dropped or lost
  bool loses_devices = false;
  SimDriverOptions options;
  // A lie, to see that it is found out: some work also waits for what the world does not know of,
  // and never comes.
  bool forgets = false;
  std::vector<Node> nodes;
  // producers[s]: who signals semaphore s, by value.
  struct Producer {
    std::uint64_t value;
    std::uint32_t node;
  };
  std::vector<std::vector<Producer>> producers;
};

}  // namespace halyard::inline v0::sim
