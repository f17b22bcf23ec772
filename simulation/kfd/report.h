// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Violations of a simulated driver's rules. Not thread-safe.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "simulation/kfd/simulated_kfd.h"

namespace halyard::inline v0::sim::kfd {

class Report {
 public:
  explicit Report(bool print) : print_(print) {}

  void add(std::string rule, std::string text) {
    if (print_) std::fprintf(stderr, "simulated kfd: %s: %s\n", rule.c_str(), text.c_str());
    violations_.push_back({std::move(rule), std::move(text)});
  }
  std::vector<Violation> take() { return std::exchange(violations_, {}); }

 private:
  const bool print_;
  std::vector<Violation> violations_;
};

}  // namespace halyard::inline v0::sim::kfd
