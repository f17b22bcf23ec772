// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All workgroups of a launch on one thread.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "kernel/cpu_abi.h"

namespace halyard::inline v0::kernel {

// Runs the workgroups in order, x fastest. False: `stop` became true before the last workgroup had
// run.
inline bool run_workgroups(CpuEntry entry, void* const* buffers, const void* constants,
                           const std::uint32_t (&groups)[3],
                           const base::Atomic<bool>& stop) noexcept {
  Workgroup at{{0, 0, 0}, {groups[0], groups[1], groups[2]}};
  for (at.group[2] = 0; at.group[2] < groups[2]; ++at.group[2]) {
    for (at.group[1] = 0; at.group[1] < groups[1]; ++at.group[1]) {
      for (at.group[0] = 0; at.group[0] < groups[0]; ++at.group[0]) {
        if (stop.load(std::memory_order_relaxed)) return false;
        entry(&at, buffers, constants);
      }
    }
  }
  return true;
}

}  // namespace halyard::inline v0::kernel
