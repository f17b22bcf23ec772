// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of the simulated HIP, from environment variables, in addition to those of every simulated
// GPU (simulation/gpu/options.h). docs/simulated-hip.md describes each variable.
#pragma once

#include <cstddef>
#include <string>

namespace halyard::inline v0::sim::hip {

// Versions of HIP as major * 100 + minor.
inline constexpr int kVersion56 = 506, kVersion60 = 600, kVersion62 = 602, kVersion63 = 603,
                     kVersion64 = 604, kVersion70 = 700, kVersion71 = 701, kVersion715 = 715;

// Known bugs of the real library that a driver has to survive; each is off unless
// HALYARD_SIM_HIP_BUGS names it. In adversarial mode the seed also chooses among the bugs that do
// not end correct programs.
enum class Bug : unsigned {
  kStaleKernelNode = 1,   // "stale-nodes": an updated kernel node keeps its old arguments (clr#42)
  kFailingPools = 2,      // "pools": stream-ordered memory is out of memory (hip#3775)
  kNoUuid = 4,            // "uuid": every UUID is "XX" (numba-hip#7)
  kEventWaitsForAll = 8,  // "event-destroy": hipEventDestroy waits for the device (LMCache#3362)
  kBlockingQueries = 32,  // "blocking": queries and launches wait for waits (rocm-systems#11678)
  kZeroedPools = 64,      // "pool-zero": waits clear stream-ordered memory (rocm-systems#10943)
  kOldExtraIgnored = 16,  // "extra": kernel nodes ignore `extra` (hrx#156)
};

struct Settings {
  int version = kVersion715;
  std::string arch = "gfx1100";     // gcnArchName of every device
  int hardware_queues = 4;          // GPU_MAX_HW_QUEUES
  bool has_pools = true;            // HIP_MEM_POOL_SUPPORT
  bool serializes_kernels = false;  // AMD_SERIALIZE_KERNEL: a wait after each
  bool serializes_calls = false;    // HIP_LAUNCH_BLOCKING
  bool aborts_on_fault = false;     // up to 6.x
  int log_level = 0;                // AMD_LOG_LEVEL: 3 and more print each call
  unsigned bugs = 0;

  bool has(Bug bug) const { return (bugs & static_cast<unsigned>(bug)) != 0; }
};

// Reads the environment at the first call. A malformed variable is named on stderr and ignored.
Settings read_settings();
inline Settings& settings_of_process() {
  static Settings* const read_once = new Settings(read_settings());  // outlives the threads
  return *read_once;
}
inline const Settings& settings() { return settings_of_process(); }
inline bool is_since(int version) { return settings().version >= version; }

// HIP_VERSION: major * 10^7 + minor * 10^5 + patch.
int hip_version();

// The version that the library was built as, which determines its exports.
int built_version();

}  // namespace halyard::inline v0::sim::hip
