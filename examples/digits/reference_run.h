// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the reference program and compares results with it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "network.h"

namespace digits {

struct ReferenceResult {
  double accuracy;
  std::vector<double> parameters;
};

// Trains with `program` (digits-reference), passing it the data and `initial` as files. Blocks
// until it has ended. Throws std::runtime_error or halyard::Error.
ReferenceResult run_reference(const std::string& program, const std::string& csv,
                              std::span<const float> initial, const Schedule& schedule);

struct Difference {
  double largest;   // of a parameter
  double relative;  // |a - b| / |b|, Euclidean
};
Difference compare(std::span<const float> parameters, std::span<const double> reference);

// Writes a NumPy array of float32 with the layout of network.h.
void write_parameters(const std::string& path, std::span<const float> parameters);

}  // namespace digits
