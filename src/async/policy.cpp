// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/policy.h"

#include <algorithm>

#include "async/device_state.h"

namespace halyard::inline v0::async {

QueueRef LocalityFirst::pick(const OpInfo& info) const noexcept {
  const auto bytes_on = [&](const QueueRef& queue) {
    std::uint64_t bytes = 0;
    for (const OpInput& input : info.inputs) {
      if (input.queue == queue) bytes += input.bytes;
    }
    return bytes;
  };
  return *std::ranges::max_element(info.queues, {}, bytes_on);
}

QueueRef LeastLoaded::pick(const OpInfo& info) const noexcept {
  return *std::ranges::min_element(info.queues, {}, &QueueRef::load);
}

QueueRef GlobalPolicy::pick(const OpInfo& info) const noexcept {
  if (device_ < info.devices.size()) return info.devices[device_].next_queue();
  return Device({}, device_, info.devices.size());
}

}  // namespace halyard::inline v0::async
