// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions by which the lanes of a warp exchange values: shfl, vote, match, redux, elect,
// activemask, bar.warp.sync.
#include <array>
#include <string>

#include "simulation/cuda/ptx/block.h"
#include "simulation/cuda/ptx/lowering.h"

namespace halyard::inline v0::sim::ptx {
namespace {

// Whether all lanes that execute name the same mask in Ins::e, or the instruction has none.
bool has_one_mask(Warp& warp, const Ins& ins) {
  if (ins.e == kNoSlot || (ins.e & 3) == static_cast<Slot>(Base::kConstants)) return true;
  const auto* const masks = warp.in<std::uint32_t>(ins.e);
  const std::uint32_t first = masks[std::countr_zero(warp.exec)];
  std::uint32_t differences = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    differences |= (masks[lane] ^ first) & (0 - (warp.exec >> lane & 1));
  }
  return differences == 0;
}

// f(mask, lanes) for the executing lanes that name the same mask in Ins::e: each tile of a warp
// executes the instruction independently.
template <class F>
void each_mask(Warp& warp, const Ins& ins, F f) {
  const auto* const masks = warp.in<std::uint32_t>(ins.e);
  for (LaneMask rest = warp.exec; rest != 0;) {
    const LaneMask mask = masks[std::countr_zero(rest)];
    LaneMask lanes = 0;
    each_active(rest, [&](unsigned lane) {
      if (masks[lane] == mask) lanes |= LaneMask{1} << lane;
    });
    f(mask, lanes);
    rest &= ~lanes;
  }
}

LaneMask all_masks(Warp& warp, const Ins& ins) {
  LaneMask result = 0;
  each_mask(warp, ins, [&](LaneMask mask, LaneMask) { result |= mask; });
  return result;
}

// Waits for the lanes that the masks in Ins::e name. An instruction without .sync has none.
bool gather(Warp& warp, const Ins& ins) {
  if (ins.e == kNoSlot) return true;
  if (has_one_mask(warp, ins)) {
    return warp.gather(ins, warp.in<std::uint32_t>(ins.e)[std::countr_zero(warp.exec)]);
  }
  const LaneMask wanted = all_masks(warp, ins);
  if ((wanted & warp.alive & ~warp.exec) != 0 && !warp.is_forced) {
    // Tiles that are complete do not wait for the others.
    LaneMask complete = 0;
    each_mask(warp, ins, [&](LaneMask mask, LaneMask lanes) {
      if ((mask & warp.alive & ~warp.exec) == 0) complete |= lanes;
    });
    if (complete != 0) {
      warp.split_off(warp.exec & ~complete, warp.pc - 1);
      warp.exec = complete;
      return true;
    }
  }
  return warp.gather(ins, wanted);
}

// f() with the lanes of each mask as those that execute.
template <class F>
void each_tile(Warp& warp, const Ins& ins, F f) {
  if (has_one_mask(warp, ins)) {
    f();
    return;
  }
  const LaneMask all = warp.exec;
  each_mask(warp, ins, [&](LaneMask, LaneMask lanes) {
    warp.exec = lanes;
    f();
    warp.exec = all;
  });
}

// Handler of an instruction whose result depends on all lanes of a tile.
template <Handler Run>
void in_tiles(Warp& warp, const Ins& ins) {
  if (!gather(warp, ins)) return;
  each_tile(warp, ins, [&] { Run(warp, ins); });
}

enum class Shuffle : std::uint8_t { kUp, kDown, kButterfly, kIndex };

// d, a, b, c; extra: the predicate, or kNoSlot.
void shuffle(Warp& warp, const Ins& ins) {
  if (!gather(warp, ins)) return;
  const auto* const a = warp.in<std::uint32_t>(ins.a);
  const auto* const b = warp.in<std::uint32_t>(ins.b);
  const auto* const c = warp.in<std::uint32_t>(ins.c);
  std::array<std::uint32_t, kLanes> values;
  std::memcpy(values.data(), a, sizeof(values));
  auto* const d = warp.at<std::uint32_t>(ins.d);
  LaneMask in_range = 0;
  std::array<std::uint32_t, kLanes> results;
  each_active(warp.exec, [&](unsigned lane) {
    const std::uint32_t amount = b[lane] & 31, clamp = c[lane] & 31, mask = c[lane] >> 8 & 31;
    const auto most = static_cast<std::int32_t>((lane & mask) | (clamp & ~mask));
    const std::uint32_t least = lane & mask;
    std::int32_t from = 0;
    bool is_in = false;
    switch (static_cast<Shuffle>(ins.count)) {
      case Shuffle::kUp:
        from = static_cast<std::int32_t>(lane) - static_cast<std::int32_t>(amount);
        is_in = from >= most;
        break;
      case Shuffle::kDown:
        from = static_cast<std::int32_t>(lane + amount);
        is_in = from <= most;
        break;
      case Shuffle::kButterfly:
        from = static_cast<std::int32_t>(lane ^ amount);
        is_in = from <= most;
        break;
      case Shuffle::kIndex:
        from = static_cast<std::int32_t>(least | (amount & ~mask));
        is_in = from <= most;
        break;
    }
    if (is_in) in_range |= LaneMask{1} << lane;
    results[lane] = values[is_in ? static_cast<std::uint32_t>(from) & 31 : lane];
  });
  each_active(warp.exec, [&](unsigned lane) { d[lane] = results[lane]; });
  if (ins.extra != kNoSlot) warp.set_predicate(ins.extra, in_range);
}

enum class Vote : std::uint8_t { kAll, kAny, kUniform, kBallot };

// a: the predicate, negated if flags is 1.
void vote(Warp& warp, const Ins& ins) {
  const LaneMask value = (warp.predicate(ins.a) ^ (ins.flags != 0 ? kAllLanes : 0)) & warp.exec;
  switch (static_cast<Vote>(ins.count)) {
    case Vote::kAll:
      warp.set_predicate(ins.d, value == warp.exec ? kAllLanes : 0);
      return;
    case Vote::kAny:
      warp.set_predicate(ins.d, value != 0 ? kAllLanes : 0);
      return;
    case Vote::kUniform:
      warp.set_predicate(ins.d, value == warp.exec || value == 0 ? kAllLanes : 0);
      return;
    case Vote::kBallot:
      each_lane(warp, warp.at<std::uint32_t>(ins.d), [&](unsigned) { return value; });
      return;
  }
}

// extra: the predicate of match.all, or kNoSlot; count: 1 for .all
template <class T>
void match(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  std::array<LaneMask, kLanes> masks{};
  each_active(warp.exec, [&](unsigned lane) {
    each_active(warp.exec, [&](unsigned other) {
      if (a[other] == a[lane]) masks[lane] |= LaneMask{1} << other;
    });
  });
  auto* const d = warp.at<std::uint32_t>(ins.d);
  if (ins.count == 0) {
    each_active(warp.exec, [&](unsigned lane) { d[lane] = masks[lane]; });
    return;
  }
  const bool all = masks[static_cast<unsigned>(std::countr_zero(warp.exec))] == warp.exec;
  each_active(warp.exec, [&](unsigned lane) { d[lane] = all ? warp.exec : 0; });
  if (ins.extra != kNoSlot) warp.set_predicate(ins.extra, all ? kAllLanes : 0);
}

enum class Reduction : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor };

template <class T>
void reduce(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  T result = a[static_cast<unsigned>(std::countr_zero(warp.exec))];
  each_active(warp.exec & (warp.exec - 1), [&](unsigned lane) {
    switch (static_cast<Reduction>(ins.count)) {
      case Reduction::kAdd:
        result = static_cast<T>(static_cast<std::uint32_t>(result) +
                                static_cast<std::uint32_t>(a[lane]));
        break;
      case Reduction::kMin:
        result = a[lane] < result ? a[lane] : result;
        break;
      case Reduction::kMax:
        result = a[lane] > result ? a[lane] : result;
        break;
      case Reduction::kAnd:
        result &= a[lane];
        break;
      case Reduction::kOr:
        result |= a[lane];
        break;
      case Reduction::kXor:
        result ^= a[lane];
        break;
    }
  });
  each_lane(warp, warp.at<T>(ins.d), [&](unsigned) { return result; });
}

void active_mask(Warp& warp, const Ins& ins) {
  const LaneMask mask = warp.exec;
  each_lane(warp, warp.at<std::uint32_t>(ins.d), [&](unsigned) { return mask; });
}

void elect(Warp& warp, const Ins& ins) {
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(warp.exec));
  each_lane(warp, warp.at<std::uint32_t>(ins.d), [&](unsigned) { return leader; });
  warp.set_predicate(ins.extra, LaneMask{1} << leader);
}

void meet(Warp& warp, const Ins& ins) { warp.meet(ins, all_masks(warp, ins)); }

// d or d|p
void take_pair(Lowering& lowering, Ins& ins) {
  const Operand& d = lowering.operand(0);
  ins.extra = kNoSlot;
  if (d.kind == Operand::Kind::kPair) {
    ins.d = lowering.target(d.elements[0], kB32);
    ins.extra = lowering.predicate_target(d.elements[1]);
  } else {
    ins.d = lowering.target(d, kB32);
  }
}

void lower_shuffle(Lowering& lowering) {
  const bool is_sync = lowering.take("sync");
  constexpr std::string_view kModes[] = {"up", "down", "bfly", "idx"};
  Ins ins;
  ins.run = shuffle;
  ins.count = 4;
  for (std::uint8_t i = 0; i < 4; ++i) {
    if (lowering.take(kModes[i])) ins.count = i;
  }
  if (ins.count == 4) lowering.fail_modifier();
  if (lowering.take_type().bytes != 4) lowering.fail_modifier();
  lowering.expect_operands(is_sync ? 5 : 4, is_sync ? 5 : 4);
  take_pair(lowering, ins);
  ins.a = lowering.source(lowering.operand(1), kB32);
  ins.b = lowering.source(lowering.operand(2), kU32);
  ins.c = lowering.source(lowering.operand(3), kU32);
  if (is_sync) ins.e = lowering.source(lowering.operand(4), kU32);
  lowering.emit(ins);
}

void lower_vote(Lowering& lowering) {
  const bool is_sync = lowering.take("sync");
  constexpr std::string_view kModes[] = {"all", "any", "uni", "ballot"};
  Ins ins;
  ins.run = in_tiles<vote>;
  ins.count = 4;
  for (std::uint8_t i = 0; i < 4; ++i) {
    if (lowering.take(kModes[i])) ins.count = i;
  }
  if (ins.count == 4) lowering.fail_modifier();
  lowering.take_type();
  lowering.expect_operands(is_sync ? 3 : 2, is_sync ? 3 : 2);
  ins.d = ins.count == 3 ? lowering.target(lowering.operand(0), kB32)
                         : lowering.predicate_target(lowering.operand(0));
  Operand a = lowering.operand(1);
  ins.flags = a.negated ? 1 : 0;
  a.negated = false;
  ins.a = lowering.predicate(a);
  if (is_sync) ins.e = lowering.source(lowering.operand(2), kU32);
  lowering.emit(ins);
}

void lower_match(Lowering& lowering) {
  const bool is_all = lowering.take("all");
  if (!is_all && !lowering.take("any")) lowering.fail_modifier();
  if (!lowering.take("sync")) lowering.fail_modifier();
  const Type type = lowering.take_type();
  if (type.bytes != 4 && type.bytes != 8) lowering.fail_modifier();
  lowering.expect_operands(3, 3);
  Ins ins;
  ins.run = type.bytes == 4 ? in_tiles<match<std::uint32_t>> : in_tiles<match<std::uint64_t>>;
  ins.count = is_all ? 1 : 0;
  take_pair(lowering, ins);
  ins.a = lowering.source(lowering.operand(1), type);
  ins.e = lowering.source(lowering.operand(2), kU32);
  lowering.emit(ins);
}

void lower_reduce(Lowering& lowering) {
  if (!lowering.take("sync")) lowering.fail_modifier();
  constexpr std::string_view kModes[] = {"add", "min", "max", "and", "or", "xor"};
  Ins ins;
  ins.count = 6;
  for (std::uint8_t i = 0; i < 6; ++i) {
    if (lowering.take(kModes[i])) ins.count = i;
  }
  const Type type = lowering.take_type();
  if (ins.count == 6 || !type.is_integer() || type.bytes != 4) lowering.fail_modifier();
  lowering.expect_operands(3, 3);
  ins.run = type.is_signed() ? in_tiles<reduce<std::int32_t>> : in_tiles<reduce<std::uint32_t>>;
  ins.d = lowering.target(lowering.operand(0), type);
  ins.a = lowering.source(lowering.operand(1), type);
  ins.e = lowering.source(lowering.operand(2), kU32);
  lowering.emit(ins);
}

}  // namespace

bool lower_warp(Lowering& lowering) {
  const std::string_view opcode = lowering.opcode();
  if (opcode == "shfl") {
    lower_shuffle(lowering);
  } else if (opcode == "vote") {
    lower_vote(lowering);
  } else if (opcode == "match") {
    lower_match(lowering);
  } else if (opcode == "redux") {
    lower_reduce(lowering);
  } else if (opcode == "activemask") {
    lowering.take_type();
    lowering.expect_operands(1, 1);
    lowering.emit(active_mask, lowering.target(lowering.operand(0), kB32));
  } else if (opcode == "elect") {
    if (!lowering.take("sync")) lowering.fail_modifier();
    lowering.expect_operands(2, 2);
    Ins ins;
    ins.run = in_tiles<elect>;
    take_pair(lowering, ins);
    if (ins.extra == kNoSlot) lowering.fail_modifier();
    ins.e = lowering.source(lowering.operand(1), kU32);
    lowering.emit(ins);
  } else if ((opcode == "bar" || opcode == "barrier") && lowering.take("warp")) {
    if (!lowering.take("sync")) lowering.fail_modifier();
    lowering.expect_operands(1, 1);
    Ins ins;
    ins.run = meet;
    ins.e = lowering.source(lowering.operand(0), kU32);
    lowering.emit(ins);
  } else {
    return false;
  }
  return true;
}

}  // namespace halyard::inline v0::sim::ptx
