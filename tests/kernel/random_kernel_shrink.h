// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a random kernel that fails smaller.
#pragma once

#include <functional>

#include "kernel/random_kernel.h"

namespace halyard::testing::random_kernel {

// Removes statements and replaces expressions by their parts or by constants, as long as `fails`
// returns true. Calls `fails` some hundred times. draw() could have made every kernel that it
// receives: the range of each integer stays within its previous range.
Kernel shrink(Kernel kernel, const std::function<bool(const Kernel&)>& fails);

}  // namespace halyard::testing::random_kernel
