// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// World: nodes that look at cells by a kernel.
#include <algorithm>
#include <array>

#include "base/format.h"
#include "halyard/hal/executable.h"
#include "sim/world.h"

namespace halyard::inline v0::sim {

Status World::load_kernels(const hal::Device& device) {
  HALYARD_ASSIGN_OR_RETURN(const hal::Executable kernels, device.load(HALYARD_SIMULATED_KERNELS));
  HALYARD_ASSIGN_OR_RETURN(kernel_looks_.emplace_back(), kernels.function("look"));
  return {};
}

// As many groups as are given, or as stand behind the tokens.
Status World::dispatch(std::uint32_t k, const hal::Queue& queue, const hal::SubmitInfo& info) {
  const Node& node = plan_.nodes[k];
  const std::uint32_t device = plan_.device_of(node.queue);
  std::array<std::uint32_t, kInputs> from;
  from.fill(k);
  std::ranges::copy(inputs(k), from.begin());
  const hal::BufferRange bindings[] = {cells_of_[2 * device], cell(device, k)};
  const hal::Constant constants[] = {token(k), from[0], from[1], from[2], from[3]};
  const hal::Function& look = kernel_looks_[device];
  if (!node.chained)
    return queue.dispatch(look, {.groups = kLookGroups}, bindings, constants, info);
  const hal::BufferRange groups{cells_of_[2 * device + 1], plan_.nodes.size() * 4, 12};
  return queue.dispatch_indirect(look, groups, bindings, constants, info);
}

}  // namespace halyard::inline v0::sim
