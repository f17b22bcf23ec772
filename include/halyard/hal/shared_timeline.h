// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SharedTimeline: a device's own timeline semaphore, shared with other processes and APIs by a file
// descriptor (Device::create_shared_timeline, Device::import_timeline). The host reads, signals and
// awaits it; submissions wait for and signal hal::Semaphore, which it is joined to by the host:
//
//     out   semaphore.on_reach(5, [timeline](const Status& status) {
//             if (status.ok()) (void)timeline.signal(5);
//           });
//     in    a host call, or a thread of the caller: timeline.wait(6), then semaphore.signal(6)
//
// A failure of a semaphore is not passed on: a timeline has only values.
#pragma once

#include <cstdint>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/result.h"
#include "halyard/base/status.h"
#include "halyard/hal/handle.h"

namespace halyard::inline v0::hal {

class SharedTimelineObject;

// A handle; safe from any thread. Every call also fails with kInvalidArgument when it is empty, and
// with kDeviceLost once the device is lost.
class HALYARD_EXPORT SharedTimeline : public Handle<SharedTimelineObject> {
 public:
  using Handle::Handle;

  Result<std::uint64_t> query() const;
  // Signals `value`. It must exceed the current value and every value that either side still has
  // pending; a violation that can be detected returns kInvalidArgument. Never blocks.
  // kResourceExhausted.
  Status signal(std::uint64_t value) const;
  // Blocks until `value` is reached or the deadline passes: kDeadlineExceeded. kResourceExhausted.
  Status wait(std::uint64_t value, Deadline deadline = kForever) const;

  // Returns a new file descriptor of the timeline; the caller closes it. On Vulkan it is a
  // VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT: for the same physical device and driver.
  // kFailedPrecondition: the timeline was imported. kResourceExhausted.
  Result<int> export_descriptor() const;
};

}  // namespace halyard::inline v0::hal
