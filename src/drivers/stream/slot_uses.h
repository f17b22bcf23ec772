// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SlotUses: the nodes of a graph that use each slot (memory or number) of its recording.
#pragma once

#include <cstdint>
#include <span>

#include "base/array.h"
#include "drivers/stream/graph_plan.h"
#include "hal/recording/command.h"
#include "hal/recording/slots.h"

namespace halyard::inline v0::stream {

// The uses of the slots of one recording.
class SlotUses {
 public:
  // Called once. Returns false without memory.
  [[nodiscard]] bool build(const hal::RecordedCommands& recording, const GraphPlan& plan) noexcept {
    base::Array<std::uint32_t> counts;
    if (!counts.grow(recording.slot_count + 1)) return false;
    for_each(recording, plan, [&](std::uint32_t slot, std::uint32_t) { ++counts[slot]; });
    if (!firsts_.grow(recording.slot_count + 1)) return false;
    std::uint32_t total = 0;
    for (std::uint32_t slot = 0; slot < recording.slot_count; ++slot) {
      firsts_[slot] = total;
      total += counts[slot];
      counts[slot] = firsts_[slot];
      if (total != firsts_[slot] && !slots_.push_back(slot)) return false;
    }
    firsts_[recording.slot_count] = total;
    if (!nodes_.grow(total)) return false;
    for_each(recording, plan,
             [&](std::uint32_t slot, std::uint32_t node) { nodes_[counts[slot]++] = node; });
    return true;
  }

  // The slots that at least one node uses.
  std::span<const std::uint32_t> slots() const noexcept { return {slots_.data(), slots_.size()}; }
  std::span<const std::uint32_t> nodes_of(std::uint32_t slot) const noexcept {
    return {nodes_.data() + firsts_[slot], firsts_[slot + 1] - firsts_[slot]};
  }

 private:
  template <class F>
  static void for_each(const hal::RecordedCommands& recording, const GraphPlan& plan, F&& visit) {
    for (std::uint32_t node = 0; node < plan.nodes().size(); ++node) {
      const std::uint32_t index = plan.nodes()[node].command;
      if (index == GraphPlan::kJoin) continue;
      hal::for_each_slot(recording.commands[index], [&](std::uint32_t slot) { visit(slot, node); });
    }
  }

  base::Array<std::uint32_t> slots_;
  base::Array<std::uint32_t> firsts_;  // by slot, and one more
  base::Array<std::uint32_t> nodes_;
};

}  // namespace halyard::inline v0::stream
