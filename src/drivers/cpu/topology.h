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

  // Reads the topology of the processors in `allowed` from the folder ("/sys/devices/system"). A
  // processor without a description there counts as a separate core.
  static Topology read(const std::string& folder, const Processors& allowed);
  // The topology of this machine, limited to the calling thread's affinity. Returns kUnimplemented
  // on a system that cannot bind threads.
  static Result<Topology> here();

  std::vector<Processors> cores;
  std::vector<Node> nodes;  // nodes with processors; empty if the system reports none
};

enum class Affinity { kNone, kCore, kNode };

struct Placement {
  unsigned workers = 1;
  // The processors of each worker; if empty, all processors of the process.
  std::vector<Processors> processors;
  std::optional<unsigned> node;  // to which the device's memory is bound
};

// The placement of device `ordinal` among `devices` devices. With 0 `workers` there is one for each
// processor (kNode) or core (kCore) of the device's share. Returns kInvalidArgument if there are
// fewer cores than workers, and kUnimplemented for kNode if no nodes are known.
Result<Placement> place(const Topology& topology, Affinity affinity, unsigned ordinal,
                        unsigned devices, unsigned workers);

}  // namespace halyard::inline v0::cpu
