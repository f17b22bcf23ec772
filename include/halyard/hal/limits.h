// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DeviceLimits: the limits of one device. A limit that all devices share is a constant of the
// object that it concerns (kMaxSlots, kMaxRank, kImportAlignment).
#pragma once

#include <cstdint>

namespace halyard::inline v0::hal {

// Constant for the device's life.
struct DeviceLimits {
  // The largest buffer, in bytes; larger sizes are kResourceExhausted. Memory may be exhausted
  // before.
  std::uint64_t max_buffer_size = 0;

  // Workgroups of a dispatch in x, y and z; kOutOfRange beyond. Counts that the device itself reads
  // (dispatch_indirect) are not checked: above the limit results are undefined, but every access
  // stays within the buffers.
  std::uint32_t max_groups[3] = {};

  // Limits of a kernel; Executable::function() returns kUnavailable for a kernel that exceeds them.
  std::uint32_t max_workgroup_items = 0;
  std::uint32_t max_shared_bytes = 0;  // static and dynamic
  std::uint32_t max_bindings = 0;
  std::uint32_t max_constants_bytes = 0;

  // Submissions of one queue in flight on the device. Further ready submissions wait in host
  // memory, up to max_backlog of each queue. Beyond that a submitting call returns
  // kResourceExhausted, or waits as SubmitInfo::room says. Parked submissions are not
  // limited, but while the backlog is full none can be added.
  std::uint32_t max_in_flight = 0;
  std::uint32_t max_backlog = 1u << 20;

  // Whether the device reads the group counts of a dispatch from its memory. If not,
  // dispatch_indirect returns kUnimplemented: the host never reads them in its place.
  bool indirect_dispatch = true;
};

}  // namespace halyard::inline v0::hal
