// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plan: the devices and actions of a simulated program, drawn from the seed before it starts. Only
// an async program (async_program.h) draws its actions as it runs.
//
// Nodes form a DAG: each waits for points that earlier nodes signal, so every wait can be
// satisfied. The nodes are distributed to host threads, which run them in any order, so signals are
// late, early and in reverse order. Several nodes may signal one semaphore, or even the same value,
// without an order between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hal/device/registry.h"
#include "halyard/base/clock.h"
#include "halyard/hal/device.h"
#include "simulation/driver/driver.h"
#include "simulation/random.h"
#include "simulation/world/gpu_process.h"

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
  kExecute,   // copies its producers' cells, then writes
  kDispatch,  // the same by a kernel, in any order; on a copy queue like kExecute
  kHostCall,  // reads its producers' cells, then writes
  kFile,      // writes to a file, and reads it back: two submissions
  kEvent,     // sets an event in one recording, and waits for it in another: two submissions
  kPool,      // allocates from a pool, uses the buffer, mostly frees it: up to three submissions
  // Signals by the host.
  kSignal,
  // These signal nothing, and no node waits for them.
  kWait,
  kQuery,
  kOnReach,
  kWaitIdle,
  kFlush,
  kRenewQueue,  // drops a created queue's handle and creates another of its kind
  kDropHandle,  // drops a handle of its device; later nodes go without
  // Faults.
  kFail,
  kCancel,
  kDropSemaphore,
  kDropSubmission,
  kCloseDevice,  // drops all of its handles, including those of its semaphores
  kLoseDevice,
};

// The objects that nodes use. Each device has one of each; all share the file.
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
  Nanoseconds patience = 0;         // waits: deadline; kOnReach: time until it is unregistered
  Nanoseconds delay = 0;            // before the node runs
  bool any = false;                 // kWait: wait_any
  bool fails = false;               // kHostCall: it returns an error
  bool and_wait = false;            // kBarrier: barrier_and_wait
  // kOnReach: the callback submits and signals; kDispatch: indirect; kPool: the buffer is dropped
  // instead of freed; kEvent: all nodes of the device share the event; kWait: for a fence.
  bool chained = false;
  bool gives_up = false;        // kPool: may declare that nothing waits for its buffer
  bool waits_for_room = false;  // submissions: they wait while the backlog is full
};

struct Plan {
  // kCuda, kHip, kMetal: the real driver on the simulated library, if built in, for one seed in 22,
  // in 66 and in 22. Every other of these seeds (by its remainder modulo 4) is an async program.
  enum class Driver : std::uint8_t { kSim, kCpu, kSerial, kCuda, kHip, kMetal };
  static constexpr std::uint64_t kCudaEvery = 22, kCudaFirst = 5, kHipEvery = 66, kHipFirst = 17;
  static constexpr std::uint64_t kMetalEvery = 22, kMetalFirst = 13;
  static constexpr bool kHasStreams = HALYARD_SIMULATES_STREAMS,
                        kHasMetal = HALYARD_SIMULATES_METAL;
  static constexpr bool is_over_cuda(std::uint64_t seed) noexcept {
    return kHasStreams && seed % kCudaEvery == kCudaFirst;
  }
  static constexpr bool is_over_hip(std::uint64_t seed) noexcept {
    return kHasStreams && seed % kHipEvery == kHipFirst;
  }
  static constexpr bool is_over_metal(std::uint64_t seed) noexcept {
    return kHasMetal && seed % kMetalEvery == kMetalFirst;
  }

  explicit Plan(std::uint64_t from);

  // Opens the devices. Adds the drivers to `registry`, and to `natives` the simulated library of
  // each Driver::kSim device, null for other drivers.
  Result<std::vector<hal::Device>> open(hal::DriverRegistry& registry,
                                        std::vector<NativeDevice*>& natives) const;

  bool is_submission(const Node& node) const noexcept { return node.kind <= NodeKind::kPool; }
  // Queues are numbered device by device; in each device: compute, copy, then the created ones.
  std::uint32_t queues() const noexcept { return devices * queues_per_device(); }
  std::uint32_t queues_per_device() const noexcept { return 2 + created; }
  std::uint32_t device_of(std::uint32_t queue) const noexcept {
    return queue / queues_per_device();
  }
  bool has_gpu() const noexcept { return driver >= Driver::kCuda; }
  bool is_gpu(std::uint32_t device) const noexcept { return has_gpu() && device < gpu.devices; }
  // The number of devices, from the first, that a node may break (kLoseDevice).
  std::uint32_t breakable_devices() const noexcept {
    return has_gpu() && beside == Driver::kCpu ? gpu.devices : devices;
  }
  // True if a native call for the device may fail, or be refused for lack of memory.
  bool may_refuse(std::uint32_t device) const noexcept {
    return is_gpu(device) ? gpu.may_refuse(device) || (loses_devices && gpu.is_removable(device))
                          : options.native.failing_call != 0 && device == options.faulty_device;
  }
  bool may_be_lost(std::uint32_t device) const noexcept {
    return is_gpu(device) ? gpu.may_be_lost(device) : may_refuse(device);
  }
  // True if a planted failure may prevent devices from opening.
  bool opening_may_fail() const noexcept { return options.native.failing_call != 0 || gpu.fails(); }
  // True if submissions may be refused without a failure.
  bool small_backlog() const noexcept { return options.max_backlog < 64; }
  std::string describe() const;

  void draw_gpu();
  void draw_gpu_fault(Random& random);
  void draw_metal(Random& random);

  const std::uint64_t seed;
  const bool async;  // without nodes, semaphores and created queues
  Driver driver = Driver::kSim;
  std::uint32_t devices = 1;
  std::uint32_t workers = 1;  // of a cpu device
  std::uint32_t created = 0;  // queues of each device, besides its default queues
  std::uint32_t semaphores = 1;
  std::uint32_t threads = 1;
  std::uint64_t pool_size = 0;
  // Only without faults: pools have room for only a few blocks.
  bool tight_pools = false;
  bool tight = false;     // async: there may be too little memory
  bool spurious = false;  // futex waits end early, weak exchanges fail
  bool faulty = false;    // something fails, is cancelled, dropped or lost
  bool loses_devices = false;
  SimDriverOptions options;
  GpuOptions gpu;                 // has_gpu(): of the first devices
  Driver beside = Driver::kCuda;  // driver of the last device
  // A planted bug that the simulation must find: some work also waits for a semaphore that is never
  // signalled and that the world's checks do not see.
  bool forgets = false;
  std::vector<Node> nodes;
  // producers[s]: the nodes that signal semaphore s, by value.
  struct Producer {
    std::uint64_t value;
    std::uint32_t node;
  };
  std::vector<std::vector<Producer>> producers;
};

}  // namespace halyard::inline v0::sim
