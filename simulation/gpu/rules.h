// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What differs between the simulated libraries that share this core. Each of them defines its
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

// What a device is, and what it takes.
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

// What of a launch is beyond the limits.
enum class Beyond : std::uint8_t {
  kNothing,
  kEmptyGrid,
  kEmptyBlock,
  kGrid,           // an extent of the grid
  kBlock,          // an extent of the block, or not the one that the kernel requires
  kDeviceThreads,  // threads of a block, of any kernel
  kKernelThreads,  // threads of a block, of this kernel
  kTotalThreads,   // of the whole launch
  kSharedMemory,
};

// What a fault of a kernel ends.
enum class FaultReach : std::uint8_t {
  kDevice,   // the use of its device
  kProcess,  // the use of all devices: every call of the process answers it
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
  // Which of `count` devices the process sees, in its order.
  std::vector<int> (*visible_devices)(int count);

  // Does not change after the first call of the API.
  const DeviceLimits* limits;
  // What a launch beyond the limits answers.
  Result (*beyond_limits)(Beyond what);
  // The end mark of the list `extra` of a launch.
  std::uintptr_t parameters_end;

  // Programs retain and release contexts. Else each device has one until the process ends, which is
  // no leak.
  bool has_contexts = false;
  FaultReach (*fault_reach)();
  // What a call with a destroyed stream answers, or one that never was.
  Result (*dead_stream)();
  // Hardware queues of a device. Each executes the work of its streams in the order of submission,
  // so that work that waits holds back other streams. 0: each stream has its own.
  unsigned (*hardware_queues)();
  // Functions of the program run one after the other on a thread of their own. Else those of one
  // context do, each on its stream's thread.
  bool has_host_thread;
  // A wait for an event waits even if the stream of its record was destroyed meanwhile.
  bool waits_for_destroyed_streams;
  // To free memory waits for all work of its device, in adversarial mode too; of memory of the host
  // for that of all devices.
  bool free_always_waits;
  // The same function waits for stream-ordered memory as well.
  bool (*free_waits_for_pool_memory)();
  // A copy with memory of another device runs in that device's NULL stream, between its
  // predecessor and its successor in the stream that it was given to.
  bool copies_where_memory_is;
  // Waits for values compare unsigned numbers, after an "and" with MemOp::more. Else as CUDA does.
  bool masks_waits;
  // To destroy the stream that began a capture ends it, and one that joined leaves it. Else the
  // capture is invalid.
  bool destroying_ends_captures = false;
  // An unsafe call in a capture of its own thread ends only that thread's captures.
  bool ends_own_captures_first;
};

#if defined(HALYARD_SIMULATION)
// halyard-sim has both libraries. Each of its processes uses one, and begins with its rules.
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
