// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipeline: the packets that a compute queue has begun and not ended. Its processor continues while
// dispatches run. Dispatches between two ends of pipe may run in any order; an end of pipe comes
// after all that is before it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <variant>
#include <vector>

#include "simulation/kfd/kernel_code.h"
#include "simulation/random.h"

namespace halyard::inline v0::sim::kfd {

struct Dispatch {
  KernelRegisters kernel;
  std::array<std::uint32_t, 3> groups{}, block{};
  std::vector<std::uint32_t> user_data;
  // Of AQL: the packet's number, the signal that the end decrements, and that it came from such a
  // packet.
  std::uint64_t packet = 0, signal = 0;
  bool is_aql = false;
};

// RELEASE_MEM: a write and an interrupt.
struct EndOfPipe {
  std::uint64_t address = 0, value = 0;
  unsigned bytes = 0;     // 0: writes nothing
  bool is_clock = false;  // writes the device's clock
  bool interrupts = false;
  std::uint32_t context = 0;
  std::uint64_t before = 0;  // the value in memory when the packet was executed
};

using PipelineItem = std::variant<Dispatch, EndOfPipe>;

class Pipeline {
 public:
  void push(PipelineItem item) { items_.push_back(std::move(item)); }
  bool empty() const { return items_.empty(); }
  bool has_dispatch() const;
  // Whether a dispatch that has not ended has its code in [begin, end).
  bool runs_code_in(std::uint64_t begin, std::uint64_t end) const;
  // Removes and returns one of the items that may be next. Precondition: !empty().
  PipelineItem take(Random& random);

 private:
  std::deque<PipelineItem> items_;
};

}  // namespace halyard::inline v0::sim::kfd
