// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// World: nodes that read cells in a kernel.
#include <algorithm>
#include <array>

#include "base/format.h"
#include "halyard/hal/executable.h"
#include "simulation/world/world.h"

namespace halyard::inline v0::sim {

Status World::load_kernels(const hal::Device& device) {
  HALYARD_ASSIGN_OR_RETURN(const hal::Executable kernels, device.load(HALYARD_SIMULATED_KERNELS));
  HALYARD_ASSIGN_OR_RETURN(kernel_looks_.emplace_back(), kernels.function("look"));
  return {};
}

// Dispatches a given number of groups, or the number stored after the tokens, or dispatches in a
// recording.
Status World::dispatch(std::uint32_t k, const Handles& handles, const hal::SubmitInfo& info) {
  const Node& node = plan_.nodes[k];
  const hal::Queue& queue = handles.queue;
  LookConstants with;  // the token, then nodes
  with.fill(k);
  with[0] = token(k);
  std::ranges::copy(inputs(k), with.begin() + 1);
  if (node.any && handles.device) return dispatch_by_sets(k, handles, with, info);
  const hal::BufferRange bindings[] = {handles.cells, cell(handles, k)};
  const hal::Constant constants[] = {with[0], with[1], with[2], with[3], with[4]};
  // No call of CUDA or HIP streams reads group counts from memory.
  const bool of_stream =
      plan_.driver != Plan::Driver::kMetal && plan_.is_gpu(plan_.device_of(node.queue));
  if (!node.chained || of_stream)
    return queue.dispatch(handles.kernel, {.groups = kLookGroups}, bindings, constants, info);
  const hal::BufferRange groups{handles.tokens, plan_.nodes.size() * 4, 12};
  return queue.dispatch_indirect(handles.kernel, groups, bindings, constants, info);
}

}  // namespace halyard::inline v0::sim
