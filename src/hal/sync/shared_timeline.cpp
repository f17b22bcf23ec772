// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/sync/shared_timeline.h"

#include <new>

#include "hal/object.h"
#include "halyard/hal/device.h"

namespace halyard::inline v0::hal {
namespace {

Status in_call(const Status& status, const SharedTimelineObject& self, std::string_view call) {
  return status.ok() ? status : at(status, "device {}: timeline: {}", self.device().name(), call);
}

}  // namespace

Result<SharedTimeline> SharedTimelineObject::create(DeviceObject& device,
                                                    Result<Ref<SharedTimelineImpl>> made) {
  HALYARD_RETURN_IF_ERROR(made.status());
  (*made)->reclaim_by(device.reclaimer());
  auto* object = new (std::nothrow) SharedTimelineObject(device, std::move(*made));
  if (object == nullptr) {
    return error(StatusCode::kResourceExhausted, "no memory for a timeline");
  }
  return first_handle<SharedTimeline>(object);
}

Result<std::uint64_t> SharedTimeline::query() const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "query"));
  Result<std::uint64_t> value = object()->driver()->query();
  if (!value.ok()) return in_call(value.status(), *object(), "query");
  return value;
}

Status SharedTimeline::signal(std::uint64_t value) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "signal"));
  return in_call(object()->driver()->signal(value), *object(), "signal");
}

Status SharedTimeline::wait(std::uint64_t value, Deadline deadline) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "wait"));
  return in_call(object()->driver()->wait(value, deadline.resolve(Clock::steady())), *object(),
                 "wait");
}

Result<int> SharedTimeline::export_descriptor() const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "export_descriptor"));
  Result<int> descriptor = object()->driver()->export_descriptor();
  if (!descriptor.ok()) return in_call(descriptor.status(), *object(), "export_descriptor");
  return descriptor;
}

Result<SharedTimeline> Device::create_shared_timeline(std::uint64_t initial) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "create_shared_timeline"));
  DeviceObject& self = *object();
  Result<SharedTimeline> timeline = SharedTimelineObject::create(
      self, self.call(&DescriptorSharing::create_shared_timeline,
                      "has no timelines that can be exported", initial));
  if (timeline.ok()) return timeline;
  return at(timeline.status(), "device {}: create_shared_timeline", self.name());
}

Result<SharedTimeline> Device::import_timeline(int descriptor) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "import_timeline"));
  DeviceObject& self = *object();
  Result<SharedTimeline> timeline =
      descriptor < 0
          ? error(StatusCode::kInvalidArgument, "descriptor {}", descriptor)
          : SharedTimelineObject::create(self, self.call(&DescriptorSharing::import_timeline,
                                                         "imports no timelines", descriptor));
  if (timeline.ok()) return timeline;
  return at(timeline.status(), "device {}: import_timeline", self.name());
}

}  // namespace halyard::inline v0::hal
