// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>

#include "drivers/cpu/ring.h"
#include "drivers/cpu/ring_group.h"
#include "hcq/hcq_test_util.h"
#include "hcq/signal_object.h"

namespace halyard::cpu {

using hcq::CountingNotify;
using hcq::drain;
using hcq::increment;
using hcq::Kernel;
using hcq::mark_group;
using hcq::SignalObject;
using hcq::word;

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

}  // namespace halyard::cpu
