// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs of operations that are explored.
#include <algorithm>

#include "simulation/operations/operations.h"
#include "simulation/random.h"

namespace halyard::inline v0::sim {
namespace {

// Rule 4: a submission that waits for a value that it signals is refused.
bool sound(const Operation& operation) {
  for (std::size_t s = 0; s < kOperationSemaphores; ++s) {
    if (operation.signal[s] != 0 && operation.wait[s] >= operation.signal[s]) return false;
  }
  return true;
}

// 0 is none.
bool names_both(const std::array<std::uint8_t, kOperationSemaphores>& values) {
  return std::ranges::find(values, 0) == values.end();
}

std::vector<Operation> all_operations(std::uint8_t values, bool both) {
  std::vector<Operation> all;
  std::array<std::uint8_t*, std::size_t{2} * kOperationSemaphores> numbers;
  Operation operation;
  for (std::size_t s = 0; s < kOperationSemaphores; ++s) {
    numbers[2 * s] = &operation.wait[s];
    numbers[2 * s + 1] = &operation.signal[s];
  }
  const auto set = [&](auto& self, std::size_t at) -> void {
    if (at == numbers.size()) {
      const bool wanted = both || !(names_both(operation.wait) || names_both(operation.signal));
      if (wanted && sound(operation)) all.push_back(operation);
      return;
    }
    for (std::uint8_t value = 0; value <= values; ++value) {
      *numbers[at] = value;
      self(self, at + 1);
    }
  };
  set(set, 0);
  return all;
}

Operation draw_operation(Random& random, std::uint8_t values) {
  Operation operation;
  const auto draw = [&](std::uint8_t& number) {
    number = random.one_in(2) ? 0 : static_cast<std::uint8_t>(random.between(1, values));
  };
  do {
    std::ranges::for_each(operation.wait, draw);
    std::ranges::for_each(operation.signal, draw);
  } while (!sound(operation));
  return operation;
}

// True for the representative, the largest, of the programs that differ only in numbering.
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

std::vector<OperationProgram> all_programs(int count, bool both) {
  const std::vector<Operation> operations = all_operations(2, both);
  std::vector<OperationProgram> all;
  // For each place a queue and an operation are drawn; queues are filled starting with the first.
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
  Random random(seed);
  std::vector<OperationProgram> all(static_cast<std::size_t>(count));
  for (OperationProgram& program : all) {
    for (int q = 0; q < queues; ++q) {
      for (int i = 0; i < length; ++i) {
        program.queues[static_cast<std::size_t>(q)].push_back(draw_operation(random, 4));
      }
    }
  }
  return all;
}

std::vector<OperationProgram> deep(std::vector<OperationProgram> programs) {
  constexpr std::uint8_t kDepths[] = {5, 1, 3};
  for (OperationProgram& program : programs) {
    for (auto& queue : program.queues) {
      for (std::size_t i = 0; i < queue.size(); ++i) queue[i].depth = kDepths[i % 3];
    }
  }
  return programs;
}

}  // namespace halyard::inline v0::sim
