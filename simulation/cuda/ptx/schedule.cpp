// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Divergence, reconvergence and barriers. A warp runs the split with the deepest call and, among
// those, with the lowest program counter, so that splits meet again where their paths join. Other
// splits get an occasional turn, because a lane may wait in a loop for another lane of its warp.
#include <algorithm>
#include <bit>

#include "simulation/cuda/ptx/block.h"
#include "simulation/cuda/ptx/shared_checks.h"

namespace halyard::inline v0::sim::ptx {
namespace {

constexpr std::uint32_t kNever = UINT32_MAX;
// One choice in this many goes to the split that ran least.
constexpr std::uint32_t kFairness = 64;
constexpr std::size_t kMostFrameBytes = std::size_t{64} << 20;
constexpr std::uint32_t kMostDepth = 10000;

}  // namespace

void Warp::park(LaneMask lanes, std::uint32_t at) {
  Split& split = others.emplace_back();
  split.mask = lanes;
  split.pc = at;
  split.call = call;
}

void Warp::split_off(LaneMask lanes, std::uint32_t at) {
  park(lanes, at);
  active &= ~lanes;
  limit = 0;
}

void Warp::select_call(std::uint32_t selected) {
  call = selected;
  const Activation& activation = calls[selected];
  frame = activation.frame;
  local = activation.local;
  auto start = reinterpret_cast<std::uintptr_t>(frames.data());
  start = (start + kSlotAlignment - 1) & ~std::uintptr_t{kSlotAlignment - 1};
  bases[static_cast<std::size_t>(Base::kFrame)] = reinterpret_cast<std::byte*>(start) + frame;
}

bool Warp::choose() {
  limit = kNever;
  if (has_failed()) {
    is_paused = true;
    return false;
  }
  if (active != 0) {
    park(active, pc);
    others.back().turns = turns;
    active = 0;
  }
  for (std::size_t i = 0; i < others.size(); ++i) {
    Split& split = others[i];
    if (split.state == Split::State::kAtBarrier) continue;
    for (std::size_t j = others.size() - 1; j > i; --j) {
      const Split& other = others[j];
      if (other.pc != split.pc || other.call != split.call ||
          other.state == Split::State::kAtBarrier) {
        continue;
      }
      split.mask |= other.mask;
      split.turns = std::max(split.turns, other.turns);
      split.state = Split::State::kReady;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
  const bool is_fair = ++rescheds % kFairness == 0;
  std::size_t best = others.size();
  bool has_barrier = false;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const Split& split = others[i];
    has_barrier = has_barrier || split.state == Split::State::kAtBarrier;
    if (split.state != Split::State::kReady) continue;
    if (best == others.size()) {
      best = i;
      continue;
    }
    const Split& other = others[best];
    const std::uint32_t depth = calls[split.call].depth, other_depth = calls[other.call].depth;
    const bool is_better = is_fair                ? split.turns < other.turns
                           : depth != other_depth ? depth > other_depth
                                                  : split.pc < other.pc;
    if (is_better) best = i;
  }
  if (best == others.size()) {
    if (others.empty() || has_barrier) {
      is_paused = true;
      return false;
    }
    // Lanes wait for lanes that are in other .sync instructions, which is undefined, so continue
    // without them.
    best = 0;
    others[0].is_forced = true;
  }
  const Split chosen = others[best];
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(best));
  active = chosen.mask;
  pc = chosen.pc;
  turns = chosen.turns + 1;
  is_forced = chosen.is_forced;
  is_paused = false;
  select_call(chosen.call);
  for (const Split& split : others) {
    if (split.state != Split::State::kAtBarrier && split.call == call && split.pc > pc) {
      limit = std::min(limit, split.pc);
    }
  }
  return true;
}

void Warp::force() {
  for (Split& split : others) {
    if (split.state == Split::State::kAtSync) {
      split.state = Split::State::kReady;
      split.is_forced = true;
      is_paused = false;
      return;
    }
  }
}

void Warp::jump(std::uint32_t target) {
  if (exec != active) {
    park(active & ~exec, pc);
    active = exec;
  }
  pc = target;
  if (!others.empty()) limit = 0;
}

void Warp::leave(LaneMask lanes) {
  alive &= ~lanes;
  active &= ~lanes;
  block->exited += static_cast<std::uint32_t>(std::popcount(lanes));
  for (Split& split : others) {
    if (split.state == Split::State::kAtSync) split.state = Split::State::kReady;
  }
  limit = 0;
  for (unsigned i = 0; i < block->barriers.size(); ++i) {
    if (block->barriers[i].arrived != 0) block->check_barrier(i);
  }
}

void Warp::wait_at_barrier(const Ins& ins, unsigned barrier, std::uint32_t threads,
                           LaneMask values) {
  // The lanes of the warp meet at an aligned barrier, whatever paths they took to it.
  if (ins.flags == 0 && !gather(ins, kAllLanes)) return;
  Run& run = *block->run;
  const auto first_thread = index * kLanes + static_cast<std::uint32_t>(std::countr_zero(exec));
  if (run.options->strict) {
    if ((exec & alive) != alive && ins.flags == 0) {
      run.report(FindingKind::kDivergentBarrier, *block, ins.line, first_thread,
                 "some lanes of the warp do not reach the barrier together with this thread");
    } else if (threads == 0 && block->exited != 0) {
      run.report(FindingKind::kBarrierAfterExit, *block, ins.line, first_thread,
                 "threads of the block have exited before the barrier");
    }
  }
  const LaneMask waiting = exec;
  if (active != exec) park(active & ~exec, pc);
  park(waiting, pc);
  Split& split = others.back();
  split.state = Split::State::kAtBarrier;
  split.barrier = static_cast<std::uint8_t>(barrier);
  split.ins = &ins;
  active = 0;
  limit = 0;
  Barrier& at = block->barriers[barrier];
  at.arrived += static_cast<std::uint32_t>(std::popcount(waiting));
  at.votes += static_cast<std::uint32_t>(std::popcount(values & waiting));
  at.expected = threads;
  if (block->checks) block->checks->arrive(index, barrier);
  block->check_barrier(barrier);
}

void Warp::arrive_at_barrier(unsigned barrier, std::uint32_t threads) {
  Barrier& at = block->barriers[barrier];
  at.arrived += static_cast<std::uint32_t>(std::popcount(exec));
  at.expected = threads;
  if (block->checks) block->checks->arrive(index, barrier);
  block->check_barrier(barrier);
}

void Block::check_barrier(unsigned barrier) {
  Barrier& at = barriers[barrier];
  const std::uint32_t expected = at.expected != 0 ? at.expected : run->threads - exited;
  if (at.arrived < expected) return;
  for (Warp& warp : warps) {
    for (Split& split : warp.others) {
      if (split.state != Split::State::kAtBarrier || split.barrier != barrier) continue;
      split.state = Split::State::kReady;
      warp.is_paused = false;
      if (checks) checks->depart(warp.index, barrier);
      const Ins& ins = *split.ins;
      if (ins.d == kNoSlot) continue;
      // bar.red; count selects the operation.
      std::byte* const base = warp.bases[0];
      warp.bases[0] = base + warp.calls[split.call].frame - warp.frame;
      const bool all = at.votes == at.arrived, any = at.votes != 0;
      if (ins.count == 0) {
        std::uint32_t* const d = warp.at<std::uint32_t>(ins.d);
        each_active(split.mask, [&](unsigned lane) { d[lane] = at.votes; });
      } else {
        LaneMask& d = warp.predicate(ins.d);
        const bool value = ins.count == 1 ? all : any;
        d = value ? d | split.mask : d & ~split.mask;
      }
      warp.bases[0] = base;
    }
  }
  if (checks) checks->open(barrier);
  at = {};
}

bool Warp::gather_others(const Ins& ins, LaneMask wanted) {
  if (is_forced) {
    is_forced = false;
    if (block->run->options->strict && !ins.is_barrier) {
      block->run->report(FindingKind::kMissingLane, *block, ins.line,
                         index * kLanes + static_cast<std::uint32_t>(std::countr_zero(exec)),
                         "the mask names lane " +
                             std::to_string(std::countr_zero(wanted & alive & ~exec)) +
                             ", which does not arrive");
    }
    return true;
  }
  if (active != exec) park(active & ~exec, pc);
  park(exec, pc - 1);
  others.back().state = Split::State::kAtSync;
  others.back().wanted = wanted;
  active = 0;
  limit = 0;
  return false;
}

void Warp::meet(const Ins& ins, LaneMask wanted) {
  LaneMask here = exec;
  const auto is_here = [&](const Split& split) {
    return split.state == Split::State::kAtSync && program->code[split.pc].run == ins.run &&
           (split.wanted & wanted) != 0;
  };
  for (const Split& split : others) {
    if (is_here(split)) here |= split.mask;
  }
  if ((wanted & alive & ~here) != 0) {
    gather(ins, wanted);
    return;
  }
  for (Split& split : others) {
    if (!is_here(split)) continue;
    split.state = Split::State::kReady;
    ++split.pc;
  }
  if (!others.empty()) limit = 0;
}

void Warp::enter(const Ins& ins, const Call& to, std::uint32_t function) {
  const Function& callee = program->functions[function];
  const Activation caller = calls[call];
  const Function& from = program->functions[caller.function];
  // The new frame follows the registers of all calls, including those of other splits, because the
  // lanes of registers of different widths overlap.
  std::uint32_t new_frame = 0;
  for (const Activation& each : calls) {
    if (each.is_free) continue;
    new_frame = std::max(new_frame, each.frame + program->functions[each.function].frame_bytes);
  }
  const std::uint32_t new_local = caller.local + from.local_bytes;
  const unsigned first = static_cast<unsigned>(std::countr_zero(exec));
  if (new_local + callee.local_bytes > local_stride || caller.depth >= kMostDepth ||
      new_frame + callee.frame_bytes > kMostFrameBytes) {
    fail(OutcomeKind::kStackOverflow, ins, first, "stack overflow in a call");
    return;
  }
  if (active != exec) {
    park(active & ~exec, pc);
    active = exec;
  }
  std::size_t slot = 0;
  while (slot < calls.size() && !calls[slot].is_free) ++slot;
  if (slot == calls.size()) calls.emplace_back();
  calls[slot] = {call,
                 function,
                 pc,
                 static_cast<std::uint32_t>(&to - program->calls.data()),
                 new_frame,
                 new_local,
                 caller.depth + 1,
                 false};
  const std::size_t needed = new_frame + callee.frame_bytes + kSlotAlignment;
  if (frames.size() < needed) {
    // Registers move to satisfy the alignment of the new block.
    std::vector<std::byte> larger(needed * 2);
    const auto shift_of = [](const std::vector<std::byte>& bytes) {
      return (kSlotAlignment - reinterpret_cast<std::uintptr_t>(bytes.data()) % kSlotAlignment) %
             kSlotAlignment;
    };
    std::copy(frames.begin() + static_cast<std::ptrdiff_t>(shift_of(frames)), frames.end(),
              larger.begin() + static_cast<std::ptrdiff_t>(shift_of(larger)));
    frames = std::move(larger);
  }
  each_active(exec, [&](unsigned lane) {
    std::byte* const stack = locals.data() + std::size_t{lane} * local_stride;
    for (std::size_t i = 0; i < std::min(to.arguments.size(), callee.parameters.size()); ++i) {
      std::memcpy(stack + new_local + callee.parameters[i].offset,
                  stack + caller.local + to.arguments[i].offset,
                  std::min(to.arguments[i].size, callee.parameters[i].size));
    }
  });
  select_call(static_cast<std::uint32_t>(slot));
  pc = callee.first;
  limit = others.empty() ? limit : 0;
}

bool Warp::is_in_use(std::uint32_t searched) const {
  return std::ranges::any_of(others, [&](const Split& split) {
    for (std::uint32_t at = split.call; at != 0; at = calls[at].parent) {
      if (at == searched) return true;
    }
    return false;
  });
}

void Warp::return_from() {
  if (call == 0) {
    leave(exec);
    return;
  }
  const std::uint32_t index_of_call = call;
  const Activation activation = calls[call];
  const Function& callee = program->functions[activation.function];
  const Call& to = program->calls[activation.call];
  const std::uint32_t caller_local = calls[activation.parent].local;
  each_active(exec, [&](unsigned lane) {
    std::byte* const stack = locals.data() + std::size_t{lane} * local_stride;
    for (std::size_t i = 0; i < std::min(to.results.size(), callee.results.size()); ++i) {
      std::memcpy(stack + caller_local + to.results[i].offset,
                  stack + activation.local + callee.results[i].offset,
                  std::min(to.results[i].size, callee.results[i].size));
    }
  });
  const bool is_last = active == exec;
  if (!is_last) park(active & ~exec, pc);
  active = exec;
  pc = activation.return_pc;
  if (is_last && (others.empty() || !is_in_use(index_of_call))) {
    calls[index_of_call].is_free = true;
  }
  select_call(activation.parent);
  if (!others.empty()) limit = 0;
}

std::uint64_t Warp::execute(std::uint64_t slice) {
  const Ins* const code = program->code.data();
  std::uint64_t executed = 0, lanes = 0;
  if (active == 0 && !choose()) return 0;
  while (executed < slice) {
    if (pc >= limit) [[unlikely]] {
      if (!choose()) break;
    }
    const Ins& ins = code[pc++];
    ++executed;
    exec = active;
    if (ins.guard != kNoSlot) {
      const LaneMask guard = predicate(ins.guard);
      exec &= ins.guard_negated ? ~guard : guard;
      if (exec == 0) continue;
    }
    lanes += exec == kAllLanes ? kLanes : static_cast<std::uint32_t>(std::popcount(exec));
    ins.run(*this, ins);
    if (yields) [[unlikely]] {
      yields = false;
      break;
    }
  }
  clock += executed;
  worker->warp_instructions += executed;
  worker->thread_instructions += lanes;
  return executed;
}

}  // namespace halyard::inline v0::sim::ptx
