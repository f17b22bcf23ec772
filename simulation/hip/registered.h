// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fat binaries that compiled HIP programs register before main, with their kernels and variables,
// which host addresses identify. Each is loaded on a device at its first use there. The State is
// locked in all of these.
#pragma once

#include <cstddef>

#include "simulation/hip/call.h"

namespace halyard::inline v0::sim::hip {

// The function of a registered kernel on a device. Returns kInvalidDeviceFunction if `host` is not
// registered.
Result registered_function(const void* host, DeviceId device, Function& function);

// The variable on a device. Returns kInvalidSymbol if `host` is not registered.
Result registered_variable(const void* host, DeviceId device, DevicePointer& address,
                           std::size_t& size);

// The name of a registered kernel, or null.
const char* registered_name(const void* host);

// A hipFunction_t, or the host's address of a registered kernel.
Result any_function(const void* of, DeviceId device, Function& function);

}  // namespace halyard::inline v0::sim::hip
