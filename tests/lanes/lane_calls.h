// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls to a lane without an engine, each within the lane's guard, and the operations for it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/parker.h"
#include "hal/memory/memory.h"
#include "hal/recording/command.h"
#include "halyard/base/clock.h"
#include "halyard/base/ref.h"
#include "timeline/entry_guard.h"
#include "timeline/native_queue.h"

namespace halyard::testing {

using timeline::Abandoned;
using timeline::Edge;

class CountingNotify final : public base::Notify {
 public:
  void notify() noexcept override { ++count; }
  void wait_for(int least) const {
    while (count < least) std::this_thread::yield();
  }
  std::atomic<int> count{0};
};

// ---- Operations

inline const hal::Operation kBarrier;

template <class Memory>
hal::CommandRange range(const Ref<Memory>& memory, std::uint64_t offset, std::uint64_t length) {
  return {{memory.get(), offset, length}};
}

inline hal::Operation command(const hal::Command& command) {
  hal::Operation operation;
  operation.kind = hal::OperationKind::kCommand;
  operation.command = command;
  return operation;
}

inline hal::Operation fill(const hal::CommandRange& target, std::uint32_t pattern) {
  return command(hal::Command(hal::FillCommand{target, pattern, sizeof pattern}));
}
template <class Memory>
hal::Operation fill(const Ref<Memory>& memory, std::uint32_t pattern) {
  return fill(range(memory, 0, memory->size()), pattern);
}

// ---- Calls

inline timeline::Entered<timeline::NativeQueue> enter(timeline::NativeQueue& lane) {
  return {lane, lane.entry_guard()};
}

// With a marker.
inline timeline::IssueResult issue(timeline::NativeQueue& lane, const hal::Operation& operation,
                                   std::uint64_t sequence, const std::vector<Edge>& waits = {},
                                   trace::Stamps* stamps = nullptr) {
  const std::uint32_t depth = operation.native != nullptr ? operation.native->depth() : 1;
  const timeline::Issue issue{.waits = waits,
                              .operation = &operation,
                              .sequence = sequence,
                              .want_marker = true,
                              .commands = {0, depth},
                              .stamps = stamps};
  return enter(lane)->issue({&issue, 1}, timeline::Doorbell::kRing);
}

// Sleeps until the lane has reached `sequence`, as a waiter of the engine does, but for ever: a
// lost notification hangs.
inline void wait_until(timeline::NativeQueue& lane, std::uint64_t sequence) {
  base::Parker& parker = base::ParkerPool::acquire();
  for (;;) {
    const std::uint32_t epoch = parker.prepare();
    const timeline::Progress progress = enter(lane)->poll();
    ASSERT_TRUE(progress.fault.ok()) << progress.fault.to_string();
    if (progress.sequence >= sequence) break;
    ASSERT_TRUE(enter(lane)->arm(sequence, parker).ok());
    parker.park(epoch, Deadline::kForeverTime);
  }
  base::ParkerPool::release(parker);
}

inline const Status kGone(StatusCode::kDeviceLost, "gone");

// Abandons the lane and asks until it has stopped or gives up.
inline Abandoned stop(timeline::NativeQueue& lane, const Status& cause = kGone) {
  for (;;) {
    const Abandoned end = enter(lane)->abandon(cause, 0);
    if (end != Abandoned::kStopping) return end;
    std::this_thread::yield();
  }
}

}  // namespace halyard::testing
