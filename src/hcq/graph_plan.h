// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GraphPlan: determines which calls of a graph wait for which others, with as few waits as their
// order allows.
//
// A call follows its dependencies (dependencies.h). A dependency needs no wait if the queue knows
// that it is complete: from the queue's own order, from an earlier wait of the queue, or because an
// awaited call started after it. No wait of a plan can be omitted.
//
// The plan assumes that every queue handles its commands in order, and that a wait blocks the
// commands after it. On a queue that is `fifo_complete`, a command also starts only when the one
// before it is complete, so a reached position covers all earlier ones. On any other queue a
// reached position says that this one call is complete. The signals there must still take effect in
// the order of their positions, or a wait for "at least" would end early; and the end of such a
// queue needs more than the signal of its last call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hcq/dependencies.h"

namespace halyard::inline v0::hcq {

// Immutable.
class GraphPlan {
 public:
  struct Queue {
    bool fifo_complete;
  };
  struct Call {
    std::uint32_t queue;
    std::span<const Access> accesses;
  };
  // A wait until the call at `position` of `queue` is complete.
  struct Wait {
    std::uint32_t queue;
    std::uint32_t position;
    friend bool operator==(const Wait&, const Wait&) = default;
  };

  // `calls` are in the order of the program, fewer than 2^32 - 1. Keeps no reference to the
  // arguments.
  //
  // Time for N calls on Q queues: the dependencies' tracking, plus O(N) for each pair of queues one
  // of which waits for the other. Uses N * Q words and bits meanwhile.
  GraphPlan(std::span<const Queue> queues, std::span<const Call> calls);

  // The position of a call in its queue, from 1: the value that it signals.
  std::uint32_t position(std::size_t call) const noexcept { return calls_[call].position; }
  // The waits before the call, newest awaited call first; at most one for each queue that is
  // fifo_complete.
  std::span<const Wait> waits(std::size_t call) const noexcept {
    const std::size_t begin = call == 0 ? 0 : calls_[call - 1].waits_end;
    return {waits_.data() + begin, calls_[call].waits_end - begin};
  }
  // True if a call of another queue waits for this one.
  bool signals(std::size_t call) const noexcept { return calls_[call].signals; }

 private:
  struct PlannedCall {
    std::uint32_t position;
    bool signals;
    std::size_t waits_end;  // in waits_
  };

  std::vector<PlannedCall> calls_;
  std::vector<Wait> waits_;
};

}  // namespace halyard::inline v0::hcq
