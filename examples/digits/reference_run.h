// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the reference program, and compares with it.
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

// Trains once more with `program` (digits-reference), which gets the data and `initial` as files,
// and blocks until it has ended. Throws std::runtime_error or halyard::Error.
ReferenceResult run_reference(const std::string& program, const std::string& csv,
                              std::span<const float> initial, const Schedule& schedule);

struct Difference {
  double largest;   // of one parameter
  double relative;  // |a - b| / |b|, Euclidean
};
Difference compare(std::span<const float> parameters, std::span<const double> reference);

// As a NumPy array of float32, laid out as in network.h.
void write_parameters(const std::string& path, std::span<const float> parameters);

}  // namespace digits
