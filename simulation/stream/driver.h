// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stream driver: simulates devices of streams and events, such as CUDA's and HIP's. Its lanes,
// markers, contexts and recordings are templates over the native library (api.h); this driver
// instantiates them with a fake library (fake_library.h), which checks its caller.
//
// "stream://" names all devices, "stream://K" the one of ordinal K. With the option unstoppable=1
// running work cannot be stopped, as on a GPU: a lane that is abandoned while it has work runs
// until it is done or the process ends.
//
// Devices share cores and memory. All devices of the process, of all opens, are one domain.
#pragma once

#include "halyard/base/status.h"

namespace halyard::inline v0 {

namespace hal {
class DriverRegistry;
}

namespace stream {

Status register_stream_driver(hal::DriverRegistry& registry);

}  // namespace stream
}  // namespace halyard::inline v0
