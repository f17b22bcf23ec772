// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs of calls of the raw CUDA driver API, a lower bound for any runtime above it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::testing::cuda {

// Prints lines of "what | median | p99 | unit" as Markdown. A line that cannot be measured has the
// reason instead.
class CostTable {
 public:
  void group(std::string_view name);
  // `measure` returns samples in `unit`.
  void line(std::string_view what, std::string_view unit,
            const std::function<std::vector<double>()>& measure);
};

// Microseconds of each of `count` calls, in bursts; `between` runs between bursts, untimed.
std::vector<double> time_each(std::size_t count, std::size_t burst,
                              const std::function<void()>& call,
                              const std::function<void()>& between);
// Seconds on the steady clock.
double now();

// Each function prints its groups of lines.
void print_launch_costs(CostTable& table);
void print_graph_costs(CostTable& table);
void print_order_costs(CostTable& table);
void print_memory_costs(CostTable& table);
void print_host_costs(CostTable& table);

}  // namespace halyard::testing::cuda
