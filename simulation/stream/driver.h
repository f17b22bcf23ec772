// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stream driver: devices of streams and events, such as CUDA's and HIP's, without such a
// device. Its lanes, markers, contexts and recordings are templates over the native library
// (api.h); this driver has them over a library that is a fake (fake_library.h) and checks its
// caller.
//
// "stream://" names all devices, "stream://K" the one of ordinal K. Options:
//
//   devices=N       how many devices there are: 1 to 64, default 1
//   unstoppable=1   running work cannot be stopped, as on a GPU: a lane that is abandoned while it
//                   has work runs until it is done or the process ends. Default 0
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
