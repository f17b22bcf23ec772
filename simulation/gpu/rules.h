// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The differences between the simulated libraries that share this core. Each of them defines its
// HALYARD_GPU_RULES; their functions may read the options, and are called by any thread, with the
// State locked or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "simulation/gpu/options.h"
#include "simulation/gpu/types.h"

namespace halyard::inline v0::sim::gpu {

// Functions of the API, as messages and the report name them.
struct Names {
  const char* allocate;        // of device memory
  const char* free;            // of device memory
  const char* allocate_async;  // of stream-ordered memory
  const char* free_async;      // of stream-ordered memory
  const char* allocate_host;   // of pinned memory
  const char* free_host;       // of pinned memory
  const char* register_host;
  const char* allocate_managed;
  const char* map_memory;
  const char* unload_module;
  const char* wait_value;
  const char* write_value;
};

// Properties and limits of a device.
struct DeviceLimits {
  int multiprocessors;
  int warp;         // threads
  int max_threads;  // of a block
  unsigned max_block[3], max_grid[3];
  std::uint64_t max_total_threads;                 // of a launch; 0: no limit of its own
  int shared_per_block, shared_per_block_opt_in;   // bytes; the second if the function asks for it
  int shared_per_multiprocessor, reserved_shared;  // bytes; of these each block has some reserved
  int registers_per_multiprocessor;
  int threads_per_multiprocessor, blocks_per_multiprocessor;
  int least_priority, greatest_priority;  // of streams; others are clamped
};

// The property of a launch that exceeds a limit.
enum class Beyond : std::uint8_t {
  kNothing,
  kEmptyGrid,
  kEmptyBlock,
  kGrid,           // an extent of the grid
  kBlock,          // an extent of the block, or it differs from the kernel's required extent
  kDeviceThreads,  // threads of a block, of any kernel
  kKernelThreads,  // threads of a block, of this kernel
  kTotalThreads,   // of the whole launch
  kSharedMemory,
};

// The reach of a kernel's fault: it ends
enum class FaultReach : std::uint8_t {
  kDevice,   // the use of its device
  kProcess,  // the use of all devices: every call of the process returns the fault
  kAbort,    // the process
};

struct Rules {
  const char* product;         // in "simulated CUDA: ..."
  std::string_view variables;  // what their names begin with: "HALYARD_SIM_CUDA_"
  const char* stream_thread;   // the name of a stream's thread
  Names names;
  // The number of a name in HALYARD_SIM_*_FAIL; -1: unknown.
  int (*result_from_name)(std::string_view name);

  // Reads the variables that only this library has.
  void (*read_options)(Options& options);
  // The devices, of `count`, that the process sees, in the order in which it sees them.
  std::vector<int> (*visible_devices)(int count);

  // Does not change after the first call of the API.
  const DeviceLimits* limits;
  // The error of a launch that exceeds a limit.
  Result (*beyond_limits)(Beyond what);
  // The end mark of the list `extra` of a launch.
  std::uintptr_t parameters_end;

  // True if programs retain and release contexts. Otherwise each device has a context until the
  // process ends, which is not a leak.
  bool has_contexts = false;
  FaultReach (*fault_reach)();
  // The error of a call with a stream that was destroyed or never existed.
  Result (*dead_stream)();
  // Hardware queues of a device. Each executes the work of its streams in the order of submission,
  // so that work that waits holds back other streams. 0: each stream has its own.
  unsigned (*hardware_queues)();
  // True if all host functions run sequentially on a thread of their own. Otherwise each runs on
  // its stream's thread, and those of the same context run one at a time.
  bool has_host_thread;
  // A wait for an event waits even if the stream of its record was destroyed meanwhile.
  bool waits_for_destroyed_streams;
  // Freeing memory waits for all work of its device, even in adversarial mode; freeing host memory
  // waits for the work of all devices.
  bool free_always_waits;
  // The same function waits for stream-ordered memory as well.
  bool (*free_waits_for_pool_memory)();
  // A copy with memory of another device runs in that device's NULL stream, between its
  // predecessor and its successor in the stream that it was given to.
  bool copies_where_memory_is;
  // Waits for values compare unsigned numbers, after an "and" with MemOp::more. Otherwise they
  // compare as in CUDA.
  bool masks_waits;
  // Destroying the stream that began a capture ends the capture; destroying a stream that joined
  // removes it from the capture. Otherwise either invalidates the capture.
  bool destroying_ends_captures = false;
  // An unsafe call in a capture of its own thread ends only that thread's captures.
  bool ends_own_captures_first;
};

#if defined(HALYARD_SIMULATION)
// halyard-sim contains both libraries. Each of its processes uses one library and starts with its
// rules.
extern const Rules kCudaRules, kHipRules;
#define HALYARD_GPU_RULES(library) k##library##Rules
inline constinit const Rules* rules_of_process = nullptr;
inline const Rules& rules() { return *rules_of_process; }
#else
extern const Rules kRules;
#define HALYARD_GPU_RULES(library) kRules
inline const Rules& rules() { return kRules; }
#endif

}  // namespace halyard::inline v0::sim::gpu
