// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Topology: the cores and NUMA nodes that Linux reports, and the placement of a device's workers
// and memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halyard/base/result.h"

namespace halyard::inline v0::cpu {

using Processors = std::vector<unsigned>;  // by Linux's numbers, ascending

struct Topology {
  struct Node {
    unsigned number;
    Processors processors;
  };

  // Reads what the folder ("/sys/devices/system") says of the processors in `allowed`, and of no
  // others. A processor that it does not describe is a core of its own.
  static Topology read(const std::string& folder, const Processors& allowed);
  // Of this machine and the calling thread's affinity. Returns kUnimplemented on a system that
  // binds no threads.
  static Result<Topology> here();

  std::vector<Processors> cores;
  std::vector<Node> nodes;  // those that have processors; empty where the system reports none
};

enum class Affinity { kNone, kCore, kNode };

struct Placement {
  unsigned workers = 1;
  // For each worker; empty: wherever the process may run.
  std::vector<Processors> processors;
  std::optional<unsigned> node;  // that the device's memory is bound to
};

// For one of `devices` devices. `workers`: 0 is as many as the device has processors (kNode) or
// cores (kCore) for itself. kInvalidArgument: fewer cores than workers; kUnimplemented: kNode, and
// no nodes are known.
Result<Placement> place(const Topology& topology, Affinity affinity, unsigned ordinal,
                        unsigned devices, unsigned workers);

}  // namespace halyard::inline v0::cpu
