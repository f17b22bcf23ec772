// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graph::Impl: the queues of a graph, ready to be submitted.
//
// Signals, for queue q and replay n:
//   kick        n: the host has patched the queues; the calls may run
//   progress q  position of the last complete call of q. Reset to 0 while all queues are parked on
//               the kick, when no thread or queue reads it. So no call's words change for it.
//   finished q  n: all calls of q are complete, and its image is no longer in flight
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "halyard/hcq/graph.h"
#include "hcq/command_list.h"

namespace halyard::inline v0::hcq {

class Graph::Impl {
 public:
  // A queue whose list the graph builds.
  class OpenQueue : public CommandQueue {
   public:
    explicit OpenQueue(QueueType type) : CommandQueue(type) {}
    using CommandQueue::add_bound;
    using CommandQueue::add_copy;
    using CommandQueue::add_custom;
    using CommandQueue::add_exec;
    using CommandQueue::add_signal;
    using CommandQueue::add_wait;
    using CommandQueue::commands;
    using CommandQueue::resolve;
  };
  struct DeviceEntry {
    Device* device;
    // Its timeline during a replay.
    SignalSymbol last_signal, next_signal;
    Symbol last_value, next_value;
  };
  struct Queue {
    std::size_t device;
    QueueType type;
    Signal progress;
    Signal finished;
    // `body`: the waits up to the kick, then the calls; bound. `tail`: the body as one command, and
    // the end.
    OpenQueue body{type};
    OpenQueue tail{type};
    std::size_t parked = 0;          // index of the first command after the kick
    std::vector<std::size_t> calls;  // indices in the recording
  };
  // Memory of the graph, [begin, end).
  struct Range {
    std::uint64_t begin, end;
    bool written;
  };
  struct Input {
    Symbol va_addr;
    std::uint64_t size;
    bool written = false;
  };

  Status replay(std::span<const Buffer> inputs, Deadline deadline);
  Status wait(Deadline deadline) const;

  SymbolTable symbols;
  Symbol number = symbols.add();  // number of the replay
  Signal kick;
  std::vector<DeviceEntry> devices;  // in ascending order of addresses (TimelineTurn)
  std::deque<Queue> queues;
  std::vector<Input> inputs;
  std::vector<Range> fixed;  // disjoint, ascending
  std::vector<std::optional<TimelineTurn>> turns;
  GraphStatistics statistics;

 private:
  Status set_inputs(std::span<const Buffer> buffers);
  bool overlaps_fixed(const Range& range) const noexcept;
  Status submit();

  bool cut_short_ = false;  // true if the last replay was refused half-way
};

}  // namespace halyard::inline v0::hcq
