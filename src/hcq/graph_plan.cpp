// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hcq/graph_plan.h"

#include <cassert>
#include <ranges>

namespace halyard::inline v0::hcq {
namespace {

constexpr std::uint32_t kNoCall = ~std::uint32_t{0};

// The calls that each queue knows to be complete when its next call starts: for each queue a list
// of calls in the order in which it learnt of them.
//
// Entries are never removed, so the calls known when a call started are a prefix of its queue's
// list. One number per call is therefore its vector clock. A clock of positions needs no lists but
// is exact only if a position covers the earlier ones, which requires fifo_complete queues. Each
// queue reads each other queue's list once in all.
class Knowledge {
 public:
  Knowledge(std::size_t queues, std::size_t calls)
      : queues_(queues),
        calls_(calls),
        known_(queues * calls),
        lists_(queues * calls),
        counts_(queues),
        taken_(queues * queues),
        starts_(calls) {}

  bool has(std::uint32_t queue, std::uint32_t call) const { return known_[queue * calls_ + call]; }

  void add(std::uint32_t queue, std::uint32_t call) {
    if (has(queue, call)) return;
    known_[queue * calls_ + call] = true;
    lists_[queue * calls_ + counts_[queue]++] = call;
  }

  // The next call of `queue` starts after `call` of `other`: adds it and the calls complete before
  // it.
  void add_wait(std::uint32_t queue, std::uint32_t other, std::uint32_t call) {
    add(queue, call);
    std::uint32_t& taken = taken_[queue * queues_ + other];
    for (; taken < starts_[call]; ++taken) add(queue, lists_[other * calls_ + taken]);
  }

  void start(std::uint32_t queue, std::uint32_t call) { starts_[call] = counts_[queue]; }

 private:
  const std::size_t queues_;
  const std::size_t calls_;
  std::vector<bool> known_;            // [queue][call]
  std::vector<std::uint32_t> lists_;   // [queue][0, counts_[queue])
  std::vector<std::uint32_t> counts_;  // [queue]
  std::vector<std::uint32_t> taken_;   // [queue][other]: taken from the other's list
  std::vector<std::uint32_t> starts_;  // [call]: known of its queue's list
};

}  // namespace

GraphPlan::GraphPlan(std::span<const Queue> queues, std::span<const Call> calls)
    : calls_(calls.size()) {
  assert(calls.size() < kNoCall);
  DependencyTracker tracker;
  Knowledge knowledge(queues.size(), calls.size());
  std::vector<std::uint32_t> last_calls(queues.size(), kNoCall);
  std::vector<std::uint32_t> dependencies;
  for (std::uint32_t call = 0; call < calls.size(); ++call) {
    const std::uint32_t queue = calls[call].queue;
    assert(queue < queues.size());
    std::uint32_t& previous = last_calls[queue];
    if (queues[queue].fifo_complete && previous != kNoCall) knowledge.add(queue, previous);
    tracker.access(call, calls[call].accesses, dependencies);
    // Newest first: a call may have started after older ones, never after newer ones.
    for (const std::uint32_t dependency : dependencies | std::views::reverse) {
      if (knowledge.has(queue, dependency)) continue;
      const std::uint32_t other = calls[dependency].queue;
      waits_.push_back({other, calls_[dependency].position});
      calls_[dependency].signals = true;
      knowledge.add_wait(queue, other, dependency);
    }
    knowledge.start(queue, call);
    const std::uint32_t position = previous == kNoCall ? 1 : calls_[previous].position + 1;
    calls_[call] = {position, false, waits_.size()};
    previous = call;
  }
}

}  // namespace halyard::inline v0::hcq
