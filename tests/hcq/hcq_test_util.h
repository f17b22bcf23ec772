// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "base/parker.h"
#include "drivers/cpu/ring_group.h"
#include "drivers/cpu/slice.h"
#include "halyard/hcq/cpu.h"

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
inline int drain(cpu::RingGroup& group) {
  int visits = 0;
  for (;; ++visits) {
    cpu::Slice slice;
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

}  // namespace halyard::hcq
