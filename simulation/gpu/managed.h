// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Managed memory on a device without CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, which
// adversarial mode simulates: while the device works the host may not touch it.
#pragma once

#include "simulation/gpu/state.h"

namespace halyard::inline v0::sim::gpu {

// Makes managed memory inaccessible to the host, because a kernel was submitted. The State is
// locked.
void guard_managed_memory();
// Makes it accessible again if nothing is in flight. Called after the host has synchronized through
// the API. CUDA recognizes no other way, so a flag that a kernel sets in pinned memory does not
// count. The State is locked.
void return_managed_memory();

// Makes it accessible after a fault, because no later call synchronizes. The State is locked.
void open_managed_memory();
// Stops guarding memory that is being freed. The State is locked.
void forget_managed_memory(DevicePointer begin);

}  // namespace halyard::inline v0::sim::gpu
