// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SharedTimelineObject: the object of a SharedTimeline handle. It holds the driver's timeline;
// handles keep the device open.
#pragma once

#include <utility>

#include "hal/device/device.h"
#include "hal/device/driver.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/shared_timeline.h"

namespace halyard::inline v0::hal {

class SharedTimelineObject final : public RefCounted {
 public:
  static constexpr std::string_view kTypeName = "timeline";

  // `made`: the timeline from the device's driver, or its error.
  static Result<SharedTimeline> create(DeviceObject& device, Result<Ref<SharedTimelineImpl>> made);

  DeviceObject& device() const noexcept { return *device_; }
  timeline::Entered<SharedTimelineImpl> driver() const noexcept {
    return {*impl_, device_->entry_guard()};
  }

 private:
  SharedTimelineObject(DeviceObject& device, Ref<SharedTimelineImpl> impl) noexcept
      : device_(&device), keeps_open_(&device), impl_(std::move(impl)) {}
  void on_last_handle() noexcept override { keeps_open_ = {}; }

  const Ref<DeviceObject> device_;
  HandleRef<DeviceObject> keeps_open_;
  const Ref<SharedTimelineImpl> impl_;
};

}  // namespace halyard::inline v0::hal
