// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/device.h"

#include <new>
#include <utility>

#include "base/format.h"
#include "hcq/signal_object.h"

namespace halyard::inline v0::hcq {

Device::Device(Signal timeline_signal) noexcept : timeline_signal_(std::move(timeline_signal)) {}

Device::~Device() = default;

Result<Signal> Device::create_signal(std::uint64_t initial) const {
  auto* object = new (std::nothrow) SignalObject(initial);
  if (object == nullptr)
    return error(StatusCode::kResourceExhausted, "device: no memory for a signal");
  return Signal(Ref<SignalObject>::adopt(object));
}

Status Device::synchronize(Deadline deadline) const {
  return timeline_signal_.wait(timeline_value() - 1, deadline);
}

}  // namespace halyard::inline v0::hcq
