// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async and mbarrier. A copy reads when it is issued and writes as late as permitted, when its
// thread waits for it. So a program that does not wait reads the old bytes.
#include <algorithm>
#include <string>

#include "simulation/cuda/ptx/access.h"
#include "simulation/cuda/ptx/lowering.h"
#include "simulation/cuda/ptx/shared_checks.h"

namespace halyard::inline v0::sim::ptx {
namespace {

// d: address of the target, of 32 bits if flags has kTarget32, plus extra. a, imm: the source.
// b: source size, or kNoSlot; c: predicate that ignores the source. count: bytes.
constexpr std::uint8_t kTarget32 = 0x40;

void copy(Warp& warp, const Ins& ins) {
  Addresses addresses;
  compute_addresses(warp, ins, addresses);
  each_active(warp.exec, [&](unsigned lane) {
    AsyncCopy copy;
    copy.lane = lane;
    copy.group = warp.commits[lane];
    copy.line = ins.line;
    copy.size = ins.count;
    const auto offset = static_cast<std::int32_t>(ins.extra);
    copy.target = ins.d == kNoSlot ? static_cast<std::uint32_t>(offset)
                  : (ins.flags & kTarget32) != 0
                      ? std::uint64_t{warp.in<std::uint32_t>(ins.d)[lane] +
                                      static_cast<std::uint32_t>(offset)}
                      : warp.in<std::uint64_t>(ins.d)[lane] + static_cast<std::uint64_t>(offset);
    std::uint32_t size = ins.count;
    if (ins.b != kNoSlot) size = std::min(size, warp.in<std::uint32_t>(ins.b)[lane]);
    if (ins.c != kNoSlot && (warp.predicate(ins.c) >> lane & 1) != 0) size = 0;
    if (size != 0) {
      // The address must be aligned to the whole size, even if only a part is read.
      const std::uint64_t address = addresses.at[lane];
      if (address % ins.count != 0) {
        warp.resolve(ins, ins.space, address, ins.count, Warp::Access::kRead, lane);
        return;
      }
      std::byte* bytes = find_in_space(warp, ins.space, address, size, false, lane);
      if (bytes == nullptr) {
        bytes = warp.resolve(ins, ins.space, address, ins.count, Warp::Access::kRead, lane);
        if (bytes == nullptr) return;
      }
      std::memcpy(copy.bytes.data(), bytes, size);
    }
    warp.copies.push_back(copy);
  });
}

void complete(Warp& warp, LaneMask lanes, std::uint32_t pending) {
  std::erase_if(warp.copies, [&](const AsyncCopy& copy) {
    if ((lanes >> copy.lane & 1) == 0) return false;
    if (pending != UINT32_MAX && copy.group + pending >= warp.commits[copy.lane]) return false;
    Ins ins;
    ins.line = copy.line;
    std::byte* const bytes = warp.resolve(ins, MemorySpace::kShared, copy.target, copy.size,
                                          Warp::Access::kWrite, copy.lane);
    if (bytes != nullptr) std::memcpy(bytes, copy.bytes.data(), copy.size);
    return true;
  });
}

void commit(Warp& warp, const Ins&) {
  each_active(warp.exec, [&](unsigned lane) { ++warp.commits[lane]; });
}
void wait_group(Warp& warp, const Ins& ins) { complete(warp, warp.exec, ins.extra); }
void wait_all(Warp& warp, const Ins&) { complete(warp, warp.exec, UINT32_MAX); }

// The state of an mbarrier, in its 64 bits of shared memory. CUDA does not document the layout.
struct State {
  std::uint64_t phase : 1;
  std::uint64_t expected : 20;
  std::uint64_t pending : 20;
  std::int64_t transactions : 22;
  std::uint64_t unused : 1;
};
static_assert(sizeof(State) == 8);

void settle(State& state) {
  if (state.pending != 0 || state.transactions != 0) return;
  state.phase ^= 1;
  state.pending = state.expected;
}

enum class Step : std::uint8_t {
  kCopyArrive,
  kCopyArriveNoIncrease,
  kInit,
  kInvalidate,
  kArrive,
  kArriveDrop,
  kExpect,
  kComplete,
  kTest,
  kTestParity
};

// d: the state or the predicate; b: count, state or parity; flags high bit: arrive expects b
// transactions; count: a Step.
constexpr std::uint8_t kExpectsTransactions = 0x40;
constexpr std::uint8_t kNoComplete = 0x20;

void barrier_step(Warp& warp, const Ins& ins) {
  if (static_cast<Step>(ins.count) <= Step::kCopyArriveNoIncrease) {
    complete(warp, warp.exec, UINT32_MAX);
  }
  Addresses addresses;
  compute_addresses(warp, ins, addresses);
  LaneMask passed = 0;
  each_active(warp.exec, [&](unsigned lane) {
    std::byte* const bytes =
        warp.resolve(ins, ins.space, addresses.at[lane], 8, Warp::Access::kAtomic, lane);
    if (bytes == nullptr) return;
    State state;
    std::memcpy(&state, bytes, 8);
    const std::uint32_t value = ins.b == kNoSlot ? 1 : warp.in<std::uint32_t>(ins.b)[lane];
    const State before = state;
    switch (static_cast<Step>(ins.count)) {
      case Step::kCopyArrive:
        // Adds a pending arrival, and arrives when the copies are done, which is now: no net
        // change.
        break;
      case Step::kCopyArriveNoIncrease:
        state.pending = (state.pending - 1) & 0xfffff;
        settle(state);
        break;
      case Step::kInit:
        state = {};
        state.expected = state.pending = value & 0xfffff;
        break;
      case Step::kInvalidate:
        state = {};
        break;
      case Step::kArriveDrop:
        state.expected = (state.expected - value) & 0xfffff;
        [[fallthrough]];
      case Step::kArrive:
        if ((ins.flags & kExpectsTransactions) != 0) {
          state.transactions += static_cast<std::int32_t>(value);
          state.pending = (state.pending - 1) & 0xfffff;
        } else {
          state.pending = (state.pending - value) & 0xfffff;
        }
        settle(state);
        break;
      case Step::kExpect:
        state.transactions += static_cast<std::int32_t>(value);
        break;
      case Step::kComplete:
        state.transactions -= static_cast<std::int32_t>(value);
        settle(state);
        break;
      case Step::kTest: {
        State old;
        std::memcpy(&old, &warp.in<std::uint64_t>(ins.b)[lane], 8);
        if (old.phase != state.phase) passed |= LaneMask{1} << lane;
        break;
      }
      case Step::kTestParity:
        if ((value & 1) != state.phase) passed |= LaneMask{1} << lane;
        break;
    }
    std::memcpy(bytes, &state, 8);
    if (ins.d != kNoSlot && ins.count < static_cast<std::uint8_t>(Step::kTest)) {
      std::memcpy(&warp.at<std::uint64_t>(ins.d)[lane], &before, 8);
    }
  });
  if (ins.count >= static_cast<std::uint8_t>(Step::kTest)) {
    warp.set_predicate(ins.d, passed);
    // A thread that does not pass will test again.
    if (passed != warp.exec) warp.yields = true;
  }
}

void lower_copy(Lowering& lowering) {
  if (lowering.take("commit_group")) {
    lowering.emit(commit);
    return;
  }
  if (lowering.take("wait_group")) {
    lowering.expect_operands(1, 1);
    const std::uint64_t pending = lowering.immediate(lowering.operand(0));
    lowering.emit(wait_group).extra =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(pending, INT32_MAX));
    return;
  }
  if (lowering.take("wait_all")) {
    lowering.emit(wait_all);
    return;
  }
  if (lowering.has_modifier("bulk")) lowering.fail_modifier();
  if (lowering.take("mbarrier")) {
    if (!lowering.take("arrive")) lowering.fail_modifier();
    Ins ins;
    ins.run = barrier_step;
    ins.count = static_cast<std::uint8_t>(lowering.take("noinc") ? Step::kCopyArriveNoIncrease
                                                                 : Step::kCopyArrive);
    const auto space = take_space(lowering);
    lowering.take("b64");
    lowering.expect_operands(1, 1);
    lowering.address(lowering.operand(0), ins, space);
    lowering.emit(ins);
    return;
  }
  const bool is_cg = lowering.take("cg");
  if (!is_cg && !lowering.take("ca")) lowering.fail_modifier();
  if (!lowering.take("shared") && !lowering.take("shared::cta")) lowering.fail_modifier();
  if (!lowering.take("global")) lowering.fail_modifier();
  constexpr std::string_view kIgnored[] = {"L2::64B", "L2::128B", "L2::256B"};
  lowering.take_any(kIgnored);
  const bool has_hint = lowering.take("L2::cache_hint");
  lowering.expect_operands(3, has_hint ? 5 : 4);
  Ins target, ins;
  lowering.address(lowering.operand(0), target, MemorySpace::kShared);
  lowering.address(lowering.operand(1), ins, MemorySpace::kGlobal);
  ins.run = copy;
  ins.d = target.a;
  ins.extra = static_cast<std::uint32_t>(target.imm);
  if ((target.flags & kAddress32) != 0) ins.flags |= kTarget32;
  const std::uint64_t size = lowering.immediate(lowering.operand(2));
  if (is_cg ? size != 16 : size != 4 && size != 8 && size != 16) {
    lowering.fail("Copy size of 'cp.async' must be 4, 8 or 16");
  }
  ins.count = static_cast<std::uint8_t>(size);
  if (lowering.has_operand(3) && !(has_hint && lowering.operands().size() == 4)) {
    const Operand& last = lowering.operand(3);
    if (lowering.is_register(last) && lowering.register_type(last).kind == Kind::kPredicate) {
      ins.c = lowering.predicate(last);
    } else {
      ins.b = lowering.source(last, kU32);
    }
  }
  lowering.emit(ins);
}

void pending_count(Warp& warp, const Ins& ins) {
  const auto* const a = warp.in<std::uint64_t>(ins.a);
  auto* const d = warp.at<std::uint32_t>(ins.d);
  each_active(warp.exec, [&](unsigned lane) {
    State state;
    std::memcpy(&state, &a[lane], 8);
    d[lane] = static_cast<std::uint32_t>(state.pending);
  });
}

void lower_mbarrier(Lowering& lowering) {
  struct Named {
    std::string_view name;
    Step step;
  };
  constexpr Named kSteps[] = {{"init", Step::kInit},        {"inval", Step::kInvalidate},
                              {"arrive", Step::kArrive},    {"arrive_drop", Step::kArriveDrop},
                              {"expect_tx", Step::kExpect}, {"complete_tx", Step::kComplete},
                              {"test_wait", Step::kTest},   {"try_wait", Step::kTest}};
  if (lowering.take("pending_count")) {
    lowering.take("b64");
    lowering.expect_operands(2, 2);
    lowering.emit(pending_count, lowering.target(lowering.operand(0), kU32),
                  lowering.source(lowering.operand(1), kU64));
    return;
  }
  Ins ins;
  ins.run = barrier_step;
  ins.count = 255;
  for (const Named& each : kSteps) {
    if (!lowering.take(each.name)) continue;
    ins.count = static_cast<std::uint8_t>(each.step);
    break;
  }
  if (ins.count == 255) lowering.fail_modifier();
  auto step = static_cast<Step>(ins.count);
  const bool is_arrival = step == Step::kArrive || step == Step::kArriveDrop;
  if (is_arrival && lowering.take("expect_tx")) ins.flags |= kExpectsTransactions;
  if (is_arrival && lowering.take("noComplete")) ins.flags |= kNoComplete;
  const bool is_test = step == Step::kTest;
  if (is_test && lowering.take("parity")) step = Step::kTestParity;
  constexpr std::string_view kIgnored[] = {"relaxed", "acquire", "release", "cta", "cluster"};
  while (lowering.take_any(kIgnored)) {
  }
  const auto space = take_space(lowering);
  lowering.take("b64");
  ins.count = static_cast<std::uint8_t>(step);
  const bool has_target =
      is_test || (is_arrival && lowering.operand(0).kind != Operand::Kind::kAddress);
  std::size_t at = 0;
  if (has_target) {
    ins.d = is_test ? lowering.predicate_target(lowering.operand(0))
                    : lowering.target(lowering.operand(0), kU64);
    ++at;
  }
  lowering.address(lowering.operand(at++), ins, space);
  if (lowering.has_operand(at)) {
    ins.b = lowering.source(lowering.operand(at++), step == Step::kTest ? kU64 : kU32);
  } else if (is_test) {
    lowering.fail_modifier();
  }
  lowering.expect_operands(at, is_test ? at + 1 : at);  // try_wait may have a time
  lowering.emit(ins);
}

}  // namespace

bool lower_async(Lowering& lowering) {
  if (lowering.opcode() == "cp" && lowering.take("async")) {
    lower_copy(lowering);
  } else if (lowering.opcode() == "mbarrier") {
    lower_mbarrier(lowering);
  } else {
    return false;
  }
  return true;
}

}  // namespace halyard::inline v0::sim::ptx
