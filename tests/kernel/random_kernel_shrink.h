// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a random kernel that fails smaller.
#pragma once

#include <functional>

#include "kernel/random_kernel.h"

namespace halyard::testing::random_kernel {

// Leaves out statements and replaces expressions by parts of them or constants, as long as `fails`,
// which is called some hundred times. Every kernel it gets is one that draw() might have made: the
// range of each integer stays within the one known before.
Kernel shrink(Kernel kernel, const std::function<bool(const Kernel&)>& fails);

}  // namespace halyard::testing::random_kernel
