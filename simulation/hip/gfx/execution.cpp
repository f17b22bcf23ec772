// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/execution.h"

#include <algorithm>
#include <numeric>

#include "simulation/hip/gfx/launch.h"
#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

// A wave's turn, in instructions.
constexpr std::uint64_t kSlice = 4096;
// A workgroup that has not ended after so many instructions is suspended.
constexpr std::uint64_t kGroupSlice = 400'000;
constexpr std::uint64_t kSharedSlice = 20'000;                      // while there are others
constexpr std::size_t kMostResidentBytes = std::size_t{512} << 20;  // of a host thread

std::uint64_t mix(std::uint64_t value) {  // splitmix64
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

__extension__ typedef unsigned __int128 Unsigned128;

// The workgroup that runs as number `index`: multiplication by a number that is coprime to the
// count visits each once.
std::uint64_t permuted(std::uint64_t index, std::uint64_t count, std::uint64_t seed) {
  if (seed == 0 || count < 2) return index;
  std::uint64_t factor = mix(seed) % count | 1;
  while (std::gcd(factor, count) != 1) factor += 1;
  const auto product = Unsigned128{index} * factor + mix(seed + 1) % count;
  return static_cast<std::uint64_t>(product % count);
}

}  // namespace

Execution::Execution(Run& run) : run_(run) {
  worker_.run = &run;
  const std::size_t wave_bytes = sizeof(Wave) + std::size_t{kVectorRows} * kLanes * 4 +
                                 std::size_t{kLanes} * run.scratch_bytes;
  const std::size_t bytes = (run.items + kLanes - 1) / kLanes * wave_bytes +
                            run.launch->dynamic_lds_bytes + run.kernel->static_lds_bytes;
  most_resident_ = std::clamp<std::size_t>(kMostResidentBytes / bytes, 2, 2048);
}

void Execution::work() {
  std::size_t next = 0;
  while (!run_.is_over.load(std::memory_order_relaxed)) {
    if (resident_.empty() && !admit()) break;
    next = next < resident_.size() ? next : 0;
    Workgroup& group = *resident_[next];
    const bool has_others = resident_.size() > 1;
    if (advance(group, has_others ? kSharedSlice : kGroupSlice)) {
      free_.push_back(std::move(resident_[next]));
      resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(next));
      continue;
    }
    const bool is_long = group.executed >= kGroupSlice;
    if (is_long && resident_.size() < most_resident_ && admit()) {
      next = resident_.size() - 1;
    } else {
      ++next;
    }
  }
  const std::lock_guard lock(run_.mutex);
  run_.outcome.wave_instructions += worker_.wave_instructions;
  run_.outcome.lane_instructions += worker_.lane_instructions;
}

bool Execution::admit() {
  const std::uint64_t index = run_.next_workgroup.fetch_add(1, std::memory_order_relaxed);
  if (index >= run_.workgroups) return false;
  if (free_.empty()) {
    resident_.push_back(std::make_unique<Workgroup>());
    allocate(*resident_.back());
  } else {
    resident_.push_back(std::move(free_.back()));
    free_.pop_back();
  }
  begin(*resident_.back(), permuted(index, run_.workgroups, run_.options->seed));
  return true;
}

void Execution::allocate(Workgroup& group) {
  group.run = &run_;
  group.lds.resize(run_.kernel->static_lds_bytes + std::size_t{run_.launch->dynamic_lds_bytes});
  group.waves = std::vector<Wave>((run_.items + kLanes - 1) / kLanes);
  group.order.resize(group.waves.size());
  for (std::size_t i = 0; i < group.waves.size(); ++i) {
    Wave& wave = group.waves[i];
    wave.code = run_.executable->code.data();
    wave.group = &group;
    wave.worker = &worker_;
    wave.index = static_cast<std::uint32_t>(i);
    wave.scratch_bytes = run_.scratch_bytes;
    wave.scratch.resize(std::size_t{kLanes} * run_.scratch_bytes);
    constexpr std::size_t kAlignment = 64;
    wave.registers.resize(std::size_t{kVectorRows} * kLanes + kAlignment / 4);
    const auto begin = reinterpret_cast<std::uintptr_t>(wave.registers.data());
    wave.v = wave.registers.data() + ((kAlignment - begin % kAlignment) % kAlignment) / 4;
    if (run_.options->strict) {
      group.checks.push_back(std::make_unique<Checks>());
      wave.checks = group.checks.back().get();
    }
  }
}

void Execution::begin(Workgroup& group, std::uint64_t number) {
  const Extent& grid = run_.launch->grid;
  group.number = number;
  group.index = {static_cast<std::uint32_t>(number % grid[0]),
                 static_cast<std::uint32_t>(number / grid[0] % grid[1]),
                 static_cast<std::uint32_t>(number / grid[0] / grid[1])};
  group.ended = group.arrived = 0;
  group.executed = 0;
  group.random = mix(run_.options->seed ^ mix(number));
  // LDS, scratch and registers begin undefined. In strict mode they are the same in every run;
  // otherwise registers and scratch keep the contents of an earlier workgroup of this thread.
  std::ranges::fill(group.lds, std::byte{0});
  std::iota(group.order.begin(), group.order.end(), 0u);
  if (run_.options->seed != 0) {
    for (std::size_t i = group.order.size(); i > 1; --i) {
      std::swap(group.order[i - 1], group.order[(group.random = mix(group.random)) % i]);
    }
  }
  if (run_.options->strict) group.lds_checks = std::make_unique<LdsChecks>(group.lds.size());
  for (Wave& wave : group.waves) {
    if (run_.options->strict) {
      std::ranges::fill(wave.registers, 0u);
      std::ranges::fill(wave.scratch, std::byte{0});
      wave.s.fill(0);
    }
    const auto defined = begin_registers(wave);
    if (wave.checks != nullptr) wave.checks->reset(defined);
    wave.pc = run_.code->entry;
    wave.scc = false;
    wave.state = WaveState::kReady;
    wave.executed = 0;
  }
}

bool Execution::advance(Workgroup& group, std::uint64_t slice) {
  const std::uint64_t end = group.executed + slice;
  while (group.executed < end) {
    bool has_run = false;
    for (const std::uint32_t index : group.order) {
      Wave& wave = group.waves[index];
      if (wave.state != WaveState::kReady) continue;
      std::uint64_t turn = kSlice;
      if (run_.options->seed != 0) {
        group.random = mix(group.random);
        turn = 16 + group.random % 512;
      }
      group.executed += wave.checks != nullptr ? wave.execute_checked(turn) : wave.execute(turn);
      has_run = true;
      if (run_.is_over.load(std::memory_order_relaxed)) return true;
      if (!check_limits(wave)) return true;
    }
    if (group.is_over()) return true;
    if (!has_run) {
      report_deadlock(group);
      return true;
    }
  }
  return false;
}

bool Execution::check_limits(Wave& wave) {
  const Options& options = *run_.options;
  const bool is_timeout = options.max_instructions != 0 && wave.executed > options.max_instructions;
  const bool is_stopped = options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
  if (!is_timeout && !is_stopped) return true;
  const Ins& ins = wave.code[wave.pc == 0 ? 0 : wave.pc - 1];
  wave.fail(is_stopped ? OutcomeKind::kStopped : OutcomeKind::kTimeout, *ins.from, 0,
            is_stopped ? "stopped by the caller" : "more instructions than allowed");
  return false;
}

void Execution::report_deadlock(Workgroup& group) {
  for (Wave& wave : group.waves) {
    if (wave.state == WaveState::kEnded) continue;
    const bool is_halted = wave.state == WaveState::kHalted;
    wave.fail(OutcomeKind::kDeadlock, *wave.code[wave.pc - 1].from, 0,
              is_halted
                  ? "the wave has halted, and no other can go on"
                  : join("the barrier has ", group.arrived, " of ",
                         group.waves.size() - group.ended, " waves, and no other can arrive"));
    return;
  }
}

}  // namespace halyard::inline v0::sim::gfx
