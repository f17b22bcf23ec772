// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of an executing warp, as the handlers of instructions see it.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "simulation/cuda/ptx/program.h"

namespace halyard::inline v0::sim::ptx {

struct Block;
struct Worker;
class SharedChecks;

// Lanes of a warp that are at the same instruction of the same call.
struct Split {
  enum class State : std::uint8_t {
    kReady,
    kAtBarrier,  // `barrier` of the block
    kAtSync,     // at a .sync instruction at `pc`, which waits for other lanes of `wanted`
  };
  LaneMask mask = 0;
  std::uint32_t pc = 0;
  std::uint32_t call = 0;  // index in Warp::calls; 0: the entry
  std::uint32_t turns = 0;
  State state = State::kReady;
  bool is_forced = false;  // executes its .sync instruction with the lanes it has
  std::uint8_t barrier = 0;
  LaneMask wanted = 0;
  const Ins* ins = nullptr;  // kAtBarrier: the instruction, which may want a result
};

// An activation of a function by the lanes of a split.
struct Activation {
  std::uint32_t parent = 0;
  std::uint32_t function = 0;
  std::uint32_t return_pc = 0;
  std::uint32_t call = 0;   // index in Program::calls
  std::uint32_t frame = 0;  // byte offset of its registers
  std::uint32_t local = 0;  // offset of its local memory
  std::uint32_t depth = 0;
  bool is_free = false;
};

// A cp.async that its thread has not waited for.
struct AsyncCopy {
  std::uint32_t lane = 0;
  std::uint32_t group = 0;  // number of commits of the lane before it
  std::uint32_t line = 0;
  std::uint64_t target = 0;
  std::uint32_t size = 0;
  std::array<std::byte, 16> bytes{};
};

struct Warp {
  std::array<std::byte*, kBases> bases{};
  LaneMask exec = 0;                   // lanes that execute the current instruction
  LaneMask active = 0;                 // lanes of the running split; a handler may change it
  std::uint32_t pc = 0;                // the next instruction; a handler may change it
  std::uint32_t limit = 0;             // at this pc the running split checks the other splits
  std::uint32_t call = 0;              // of the running split
  std::uint32_t frame = 0, local = 0;  // of the running call
  bool is_forced = false;
  bool is_paused = false;  // no lanes to run until a barrier opens
  bool yields = false;     // ends its turn
  LaneMask alive = 0;
  LaneMask born = 0;
  LaneMask blended = 0;
  alignas(64) std::array<std::uint32_t, kLanes> blend{};  // ~0 for each lane of `blended`

  const Module::Program* program = nullptr;
  Block* block = nullptr;
  Worker* worker = nullptr;
  std::uint32_t index = 0;  // in the block
  std::uint32_t rescheds = 0;
  std::uint32_t turns = 0;    // of the running split
  std::vector<Split> others;  // the splits that do not run
  std::vector<Activation> calls;
  std::vector<std::byte> frames;  // registers, with room for their alignment
  std::vector<std::byte> locals;  // `local_stride` bytes for each lane
  alignas(
      64) std::array<std::byte, kLanes * 8 * static_cast<std::size_t>(Special::kCount)> specials{};
  std::uint32_t local_stride = 0;
  LaneMask carries = 0;  // CC.CF of each lane
  std::vector<AsyncCopy> copies;
  std::array<std::uint32_t, kLanes> commits{};
  std::uint64_t clock = 0;  // instructions executed in earlier turns
  std::uint64_t clock_reads = 0;

  template <class T>
  T* at(Slot slot) {
    return reinterpret_cast<T*>(bases[slot & 3] + (slot & ~Slot{3}));
  }
  template <class T>
  const T* in(Slot slot) {
    return at<T>(slot);
  }
  LaneMask& predicate(Slot slot) { return *at<LaneMask>(slot); }

  [[gnu::always_inline]] void expand_blend() {
    for (unsigned lane = 0; lane < kLanes; ++lane) blend[lane] = 0 - (exec >> lane & 1);
    blended = exec;
  }
  void set_predicate(Slot slot, LaneMask value) {
    LaneMask& p = predicate(slot);
    p = (p & ~exec) | (value & exec);
  }

  // Ends the run; the first error counts.
  void fail(OutcomeKind kind, const Ins& ins, unsigned lane, std::string message,
            std::uint64_t address = 0);
  bool has_failed() const;

  // The host's bytes of an access by `lane`, or null after fail().
  enum class Access : std::uint8_t { kRead, kWrite, kAtomic };
  std::byte* resolve(const Ins& ins, MemorySpace space, std::uint64_t address, std::uint32_t size,
                     Access access, unsigned lane);

  // Control, in schedule.cpp. Each is called by the handler of an instruction.
  void jump(std::uint32_t target);  // only the lanes of exec
  void leave(LaneMask lanes);       // threads end
  // `threads`: 0 for all of the block. `values`: the predicate of bar.red.
  void wait_at_barrier(const Ins& ins, unsigned barrier, std::uint32_t threads, LaneMask values);
  void arrive_at_barrier(unsigned barrier, std::uint32_t threads);
  // Returns true if all living lanes of `wanted` execute the instruction. Otherwise they wait, and
  // execute the instruction again later.
  bool gather(const Ins& ins, LaneMask wanted) {
    return (wanted & alive & ~exec) == 0 || gather_others(ins, wanted);
  }
  bool gather_others(const Ins& ins, LaneMask wanted);
  void meet(const Ins& ins, LaneMask wanted);  // bar.warp.sync
  void split_off(LaneMask lanes, std::uint32_t at);
  void enter(const Ins& ins, const Call& call, std::uint32_t function);
  void return_from();
  // Chooses the split that runs next. Returns false if no split can run.
  bool choose();
  void force();
  // Executes up to `slice` instructions; returns how many.
  std::uint64_t execute(std::uint64_t slice);

 private:
  void park(LaneMask lanes, std::uint32_t at);
  void select_call(std::uint32_t selected);
  bool is_in_use(std::uint32_t searched) const;
};

// f(lane) for all lanes; results are written only for the lanes that execute. f also runs for the
// other lanes, so it must be defined for all values.
template <class D, class F>
inline void each_lane(Warp& warp, D* d, F f) {
  alignas(64) D result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) result[lane] = f(lane);
  if (warp.exec == kAllLanes) {
    std::memcpy(d, result, sizeof(result));
    return;
  }
  if (warp.blended != warp.exec) warp.expand_blend();
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    d[lane] = warp.blend[lane] != 0 ? result[lane] : d[lane];
  }
}

// f(lane) for the lanes that execute, in order.
template <class F>
inline void each_active(LaneMask mask, F f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

}  // namespace halyard::inline v0::sim::ptx
