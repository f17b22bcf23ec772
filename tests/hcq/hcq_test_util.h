// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>

#include "base/parker.h"
#include "halyard/hcq/cpu.h"
#include "hcq/ring.h"
#include "hcq/ring_group.h"
#include "hcq/signal_object.h"
#include "hcq/slice.h"

namespace halyard::hcq {

class CountingNotify final : public base::Notify {
 public:
  void notify() noexcept override { ++count; }
  std::atomic<int> count{0};
};

template <class T>
std::uint64_t word(T* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// Visits the group's rings until there is no work; returns the number of visits that worked.
inline int drain(RingGroup& group) {
  int visits = 0;
  for (;; ++visits) {
    Slice slice;
    if (!group.step(slice)) return visits;
  }
}

// Kernels.
inline void increment(const Workgroup*, void* const* buffers, const void*) {
  ++*static_cast<std::uint64_t*>(buffers[0]);
}
inline Program increment_program() {
  return cpu_program(&increment, {.name = "increment", .buffer_count = 1}).value();
}
// buffers[0][linear index] += constants.
inline void mark_group(const Workgroup* group, void* const* buffers, const void* constants) {
  const std::size_t index =
      (group->group[2] * group->count[1] + group->group[1]) * group->count[0] + group->group[0];
  static_cast<std::uint32_t*>(buffers[0])[index] += *static_cast<const std::uint32_t*>(constants);
}

// A ring that the test steps.
struct SteppedRing {
  explicit SteppedRing(std::size_t capacity = 16) {
    ring = Ring::create(group, &sequence, capacity).value();
  }
  ~SteppedRing() { ring->close(); }
  void push_increment(std::uint64_t lane_value = 0) {
    ring->push(PacketKind::kExec, lane_value, word(&increment), word(&buffers), std::uint64_t{0},
               std::uint64_t{1} << 32 | 1, std::uint64_t{1});
  }

  std::uint64_t counter = 0;
  void* buffers[1] = {&counter};
  SignalObject sequence{0};
  RingGroup group{0};
  std::unique_ptr<Ring> ring;
};

}  // namespace halyard::hcq
