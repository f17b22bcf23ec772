// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explores all orders at the granularity of operations: small programs of submissions on the real
// engine, with a single host thread and stepped native queues. The possible next steps are
//
//     submit q     the next submission of queue q
//     run q        its native queue runs its first entry, if the entry's edges are reached
//     issue, end   the issue or the completion shell takes a turn, if it was woken
//     look s       the host reads a semaphore's value, which retires executed work; if the search
//                  has looks, else that is part of `run`
//     fail s, lose q   once in a run, if the search has faults
//
// Every order is tried, except that the search does not continue from a state that was seen before.
// A state is a 64-bit hash of the engine's visible state (values, failures, the state of each
// submission, the sleepers) and of the contents of the native queues. States are reached by running
// their path on a fresh engine.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace halyard::inline v0::sim {

inline constexpr int kOperationQueues = 3;
inline constexpr int kOperationSemaphores = 2;

// The values of each semaphore that the operation waits for and signals; 0 is none.
struct Operation {
  std::array<std::uint8_t, kOperationSemaphores> wait{};
  std::array<std::uint8_t, kOperationSemaphores> signal{};
  std::uint8_t depth = 1;  // in native commands
  auto operator<=>(const Operation&) const = default;
};

struct OperationProgram {
  std::array<std::vector<Operation>, kOperationQueues> queues;
  std::string text() const;
};

struct OperationOptions {
  bool native_edges = true;  // queues wait natively; otherwise values must be reached first
  bool looks = true;         // as separate steps; otherwise each run looks at all semaphores
  bool faults = false;
  std::uint32_t max_in_flight = 4;
  bool ignores_waits = false;  // a planted fault: native queues that do not wait for each other
};

struct OperationResult {
  std::uint64_t programs = 0;
  std::uint64_t executions = 0;  // paths that were run
  std::uint64_t states = 0;      // distinct states of each program
};

// Adds its counts to `result`. Calls fail() for a state that violates an invariant.
void explore_operations(const OperationProgram& program, const OperationOptions& options,
                        OperationResult& result);

// All programs of `count` operations with the values 1 and 2, but only one representative of
// programs that differ only in the numbering of queues and semaphores. An operation waits for at
// most one semaphore and signals at most one, or up to two each if `both`.
std::vector<OperationProgram> all_programs(int count, bool both);
// `count` programs of `queues` times `length`, drawn from the seed, with values up to 4; operations
// wait for and signal none, one or both semaphores.
std::vector<OperationProgram> drawn_programs(std::uint64_t seed, int count, int queues, int length);
// The same programs, with operations of five, one and three native commands, by their place in the
// queue.
std::vector<OperationProgram> deep(std::vector<OperationProgram> programs);

}  // namespace halyard::inline v0::sim
