// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Managed memory on a device without CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, which
// adversarial mode simulates: while the device works the host may not touch it.
#pragma once

#include "simulation/gpu/state.h"

namespace halyard::inline v0::sim::gpu {

// Takes managed memory away from the host, because a kernel was submitted. The State is locked.
void guard_managed_memory();
// Gives it back if nothing is in flight. Called where the host has synchronized: CUDA knows of no
// other way, so that a flag which a kernel sets in pinned memory is none. The State is locked.
void return_managed_memory();

// Gives it back after a fault, because then no call synchronizes any more. The State is locked.
void open_managed_memory();
// Memory that is freed now is guarded no more. The State is locked.
void forget_managed_memory(DevicePointer begin);

}  // namespace halyard::inline v0::sim::gpu
