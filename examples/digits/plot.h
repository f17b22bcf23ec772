// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loss curve as an SVG picture.
#pragma once

#include <span>
#include <string>

#include "network.h"

namespace digits {

// Draws `losses` (one per step) as a thin line and the means of the epochs as a thick one. The axis
// is logarithmic. Throws std::runtime_error if the file cannot be written.
void write_loss_svg(const std::string& path, std::span<const double> losses,
                    const Schedule& schedule, const std::string& subtitle);

}  // namespace digits
