// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HALYARD_SIM_METAL_EXPORT marks the C++ functions that tests call in the shared library
// libMetal.so.
#pragma once

#define HALYARD_SIM_METAL_EXPORT __attribute__((visibility("default")))
