// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GraphPlan: which calls of a graph wait for which others, with as few waits as their order allows.
//
// A call is ordered behind its dependencies (dependencies.h). One that the queue knows to be
// complete by then needs no wait: by the queue's own order, by an earlier wait of the queue, or
// because a call that it waited for had itself started after it. No wait of a plan can be left out.
//
// What is relied on: every queue handles its commands in order, and goes on to the next only once a
// wait is over. On a queue that is `fifo_complete`, a command also starts only when the one before
// it is complete, so a position that is reached covers all before it. On any other, reaching a
// position says that this one call is complete and nothing of its neighbours: the signals there
// must take effect in the order of their positions all the same, or a wait for "at least" would end
// early, and the end of the queue takes more than the signal of its last call.
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
  // Until the call at `position` of `queue` is complete.
  struct Wait {
    std::uint32_t queue;
    std::uint32_t position;
    friend bool operator==(const Wait&, const Wait&) = default;
  };

  // `calls` in the order of the program, fewer than 2^32 - 1. Keeps nothing of the arguments.
  //
  // With N calls on Q queues: the dependencies' tracking, plus O(N) for each pair of queues of
  // which one waits for the other. Holds N * Q words and bits meanwhile.
  GraphPlan(std::span<const Queue> queues, std::span<const Call> calls);

  // The place of a call in its queue, from 1: the value that it signals.
  std::uint32_t position(std::size_t call) const noexcept { return calls_[call].position; }
  // Before the call starts, newest call first; at most one for each queue that is fifo_complete.
  std::span<const Wait> waits(std::size_t call) const noexcept {
    const std::size_t begin = call == 0 ? 0 : calls_[call - 1].waits_end;
    return {waits_.data() + begin, calls_[call].waits_end - begin};
  }
  // Somebody waits for this call.
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
