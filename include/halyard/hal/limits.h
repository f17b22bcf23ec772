// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DeviceLimits: the most that a device takes, and what it cannot. What is alike on every device is
// a constant of the object that it concerns (kMaxSlots, kMaxRank, kImportAlignment).
#pragma once

#include <cstdint>

namespace halyard::inline v0::hal {

// Constant for the device's life.
struct DeviceLimits {
  // Bytes of one buffer; kResourceExhausted beyond. Memory may well be exhausted before.
  std::uint64_t max_buffer_size = 0;

  // Workgroups of a dispatch in x, y and z; kOutOfRange beyond. Counts that the device reads itself
  // (dispatch_indirect) are not checked: more gives undefined results, within the buffers.
  std::uint32_t max_groups[3] = {};

  // Of one kernel. Executable::function() answers kUnavailable for one that needs more.
  std::uint32_t max_workgroup_items = 0;
  std::uint32_t max_shared_bytes = 0;  // static and dynamic
  std::uint32_t max_bindings = 0;
  std::uint32_t max_constants_bytes = 0;

  // Submissions of one queue that the device holds at a time. What is ready beyond that waits in
  // host memory, up to max_backlog of each queue; then submitting answers kResourceExhausted, or
  // waits as SubmitInfo::room says. How many wait for their points is not limited.
  std::uint32_t max_in_flight = 0;
  std::uint32_t max_backlog = 1u << 20;

  // Whether the device reads the group counts of a dispatch from its memory. Without it
  // dispatch_indirect answers kUnimplemented: the host never reads them in its place.
  bool indirect_dispatch = true;
};

}  // namespace halyard::inline v0::hal
