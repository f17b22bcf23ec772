// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads and stores that LDS shares with other memory.
#pragma once

#include "simulation/hip/gfx/places.h"

namespace halyard::inline v0::sim::gfx {

// The handler of a ds_load_* or ds_store_* with a single address, or null.
Handler lds_access_handler(Opcode opcode);

}  // namespace halyard::inline v0::sim::gfx
