// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device information and URI ordinals for drivers whose devices are this machine's processors.
#pragma once

#include <string_view>

#include "hal/device/uri.h"
#include "halyard/base/result.h"
#include "halyard/hal/device.h"

namespace halyard::inline v0::hal {

// Fills all fields except uri, workers and limits.max_in_flight.
DeviceInfo host_device_info(std::string_view driver);

struct Ordinals {
  unsigned first = 0;
  unsigned end = 0;
};
// The ordinal in the path of `uri`, or all `count` ordinals if the path is empty. Returns kNotFound
// if there is no such device.
Result<Ordinals> ordinals_of(const Uri& uri, unsigned count);

}  // namespace halyard::inline v0::hal
