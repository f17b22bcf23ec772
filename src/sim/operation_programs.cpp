// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which programs of operations are explored.
#include <algorithm>

#include "sim/operations.h"
#include "sim/random.h"

namespace halyard::inline v0::sim {
namespace {

// Rule 4: a submission that waits for what it signals is refused.
bool sound(const Operation& operation) {
  for (std::size_t s = 0; s < kOperationSemaphores; ++s) {
    if (operation.signal[s] != 0 && operation.wait[s] >= operation.signal[s]) return false;
  }
  return true;
}

// One point of one semaphore, or none: 0 none, then 1 to `values` of the first, of the second ...
std::array<std::uint8_t, kOperationSemaphores> point(int number, int values) {
  std::array<std::uint8_t, kOperationSemaphores> result{};
  if (number != 0) {
    result[static_cast<std::size_t>((number - 1) / values)] =
        static_cast<std::uint8_t>((number - 1) % values + 1);
  }
  return result;
}

std::vector<Operation> all_operations(int values) {
  std::vector<Operation> all;
  const int points = 1 + kOperationSemaphores * values;
  for (int wait = 0; wait < points; ++wait) {
    for (int signal = 0; signal < points; ++signal) {
      const Operation operation{point(wait, values), point(signal, values)};
      if (sound(operation)) all.push_back(operation);
    }
  }
  return all;
}

// The one that stands for all that differ only in numbers: the largest.
bool stands_for_its_like(const OperationProgram& program) {
  OperationProgram other = program;
  for (auto& queue : other.queues) {
    for (Operation& operation : queue) {
      std::ranges::reverse(operation.wait);
      std::ranges::reverse(operation.signal);
    }
  }
  std::ranges::sort(other.queues, std::greater<>());
  return std::ranges::is_sorted(program.queues, std::greater<>()) && program.queues >= other.queues;
}

}  // namespace

std::vector<OperationProgram> all_programs(int count) {
  const std::vector<Operation> operations = all_operations(2);
  std::vector<OperationProgram> all;
  // What is drawn is a queue and an operation for each place; queues fill from the first.
  const auto extend = [&](auto& self, OperationProgram& program, int left,
                          std::size_t from) -> void {
    if (left == 0) {
      if (stands_for_its_like(program)) all.push_back(program);
      return;
    }
    for (std::size_t q = from; q < program.queues.size(); ++q) {
      for (const Operation& operation : operations) {
        program.queues[q].push_back(operation);
        self(self, program, left - 1, q);
        program.queues[q].pop_back();
      }
    }
  };
  OperationProgram program;
  extend(extend, program, count, 0);
  return all;
}

std::vector<OperationProgram> drawn_programs(std::uint64_t seed, int count, int queues,
                                             int length) {
  constexpr int kValues = 4;
  const std::vector<Operation> operations = all_operations(kValues);
  Random random(seed);
  std::vector<OperationProgram> all(static_cast<std::size_t>(count));
  for (OperationProgram& program : all) {
    for (int q = 0; q < queues; ++q) {
      for (int i = 0; i < length; ++i) {
        program.queues[static_cast<std::size_t>(q)].push_back(
            operations[random.below(operations.size())]);
      }
    }
  }
  return all;
}

}  // namespace halyard::inline v0::sim
