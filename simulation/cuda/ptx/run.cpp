// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <bit>
#include <new>
#include <numeric>
#include <string>
#include <thread>

#include "simulation/cuda/ptx/block.h"
#include "simulation/cuda/ptx/shared_checks.h"

namespace halyard::inline v0::sim::ptx {
namespace {

// A warp's turn, in instructions.
constexpr std::uint64_t kSlice = 4096;
// A block that has not ended after so many instructions is suspended, and another block begins,
// because the first may wait for it.
constexpr std::uint64_t kBlockSlice = 400'000;
constexpr std::uint64_t kSharedSlice = 20'000;                      // while there are others
constexpr std::size_t kMostResidentBytes = std::size_t{512} << 20;  // of a host thread's blocks

std::uint64_t mix(std::uint64_t value) {  // splitmix64
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

__extension__ typedef unsigned __int128 Unsigned128;

// The block that runs as number `index`: multiplication by a number that is coprime to the count
// visits each once.
std::uint64_t permuted(std::uint64_t index, std::uint64_t count, std::uint64_t seed) {
  if (seed == 0 || count < 2) return index;
  std::uint64_t factor = mix(seed) % count | 1;
  while (std::gcd(factor, count) != 1) factor += 1;
  const auto product = Unsigned128{index} * factor + mix(seed + 1) % count;
  return static_cast<std::uint64_t>(product % count);
}

std::string text_of(const Extent& extent) {
  std::string text = "(";
  text.append(std::to_string(extent[0])).append(", ").append(std::to_string(extent[1]));
  return text.append(", ").append(std::to_string(extent[2])).append(")");
}

std::string text_of(const Place& place) {
  return place.kernel + ", line " + std::to_string(place.line) + ", block " + text_of(place.block) +
         ", thread " + text_of(place.thread);
}

class Execution {
 public:
  explicit Execution(Run& run) : run_(run) {
    worker_.run = &run;
    const std::size_t warp_bytes = sizeof(Warp) + std::size_t{kLanes} * run.local_stride +
                                   run.program->functions[run.function].frame_bytes;
    const std::size_t bytes = (run.threads + kLanes - 1) / kLanes * warp_bytes +
                              run.launch->dynamic_shared_bytes + run.entry->static_shared_bytes;
    most_resident_ = std::clamp<std::size_t>(kMostResidentBytes / bytes, 2, 2048);
  }

  // Executes blocks until none is left.
  void work() {
    std::size_t next = 0;
    const bool must_admit_all = run_.program->functions[run_.function].uses_workspace;
    for (;;) {
      if (run_.is_over.load(std::memory_order_relaxed)) break;
      if (resident_.empty() && !admit()) break;
      while (must_admit_all && resident_.size() < most_resident_ && admit()) {
      }
      next = next < resident_.size() ? next : 0;
      Block& block = *resident_[next];
      const bool has_others = resident_.size() > 1;
      const bool is_done = advance(block, has_others ? kSharedSlice : kBlockSlice);
      if (is_done) {
        free_.push_back(std::move(resident_[next]));
        resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(next));
        continue;
      }
      const bool is_long = block.executed >= kBlockSlice;
      if (is_long && resident_.size() < most_resident_ && admit()) {
        next = resident_.size() - 1;
      } else {
        ++next;
      }
    }
    const std::lock_guard lock(run_.mutex);
    run_.outcome.warp_instructions += worker_.warp_instructions;
    run_.outcome.thread_instructions += worker_.thread_instructions;
  }

 private:
  bool admit() {
    const std::uint64_t index = run_.next_block.fetch_add(1, std::memory_order_relaxed);
    if (index >= run_.blocks) return false;
    if (free_.empty()) {
      resident_.push_back(std::make_unique<Block>());
      allocate(*resident_.back());
    } else {
      resident_.push_back(std::move(free_.back()));
      free_.pop_back();
    }
    begin(*resident_.back(), permuted(index, run_.blocks, run_.options->seed));
    return true;
  }

  void allocate(Block& block) {
    const Function& function = run_.program->functions[run_.function];
    block.run = &run_;
    const std::uint32_t static_bytes = run_.entry->static_shared_bytes;
    block.dynamic_offset = (static_bytes + 255) & ~255u;
    block.shared.resize(block.dynamic_offset + run_.launch->dynamic_shared_bytes);
    block.warps.resize((run_.threads + kLanes - 1) / kLanes);
    block.order.resize(block.warps.size());
    for (std::size_t i = 0; i < block.warps.size(); ++i) {
      Warp& warp = block.warps[i];
      warp.program = run_.program;
      warp.block = &block;
      warp.worker = &worker_;
      warp.index = static_cast<std::uint32_t>(i);
      const std::uint32_t threads = run_.threads - warp.index * kLanes;
      warp.born = threads >= kLanes ? kAllLanes : (LaneMask{1} << threads) - 1;
      warp.local_stride = run_.local_stride;
      warp.locals.resize(std::size_t{kLanes} * run_.local_stride);
      warp.frames.resize(function.frame_bytes + kSlotAlignment);
      // Never written to.
      warp.bases[static_cast<std::size_t>(Base::kConstants)] =
          const_cast<std::byte*>(run_.program->constants.data());
      warp.bases[static_cast<std::size_t>(Base::kSpecials)] = warp.specials.data();
      warp.bases[static_cast<std::size_t>(Base::kSink)] = worker_.sink.data();
      fill_specials(warp);
    }
  }

  template <class F>
  static void fill(Warp& warp, Special special, F f) {
    auto* const values = warp.at<std::uint32_t>(
        slot_of(Base::kSpecials, static_cast<std::uint32_t>(special) * kSpecialBytes));
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) values[lane] = f(lane);
  }

  void fill_specials(Warp& warp) {
    const Extent& size = run_.launch->block;
    const Extent& grid = run_.launch->grid;
    const auto same = [](std::uint32_t value) { return [value](std::uint32_t) { return value; }; };
    const std::uint32_t first = warp.index * kLanes;
    fill(warp, Special::kTidX, [&](std::uint32_t lane) { return (first + lane) % size[0]; });
    fill(warp, Special::kTidY,
         [&](std::uint32_t lane) { return (first + lane) / size[0] % size[1]; });
    fill(warp, Special::kTidZ,
         [&](std::uint32_t lane) { return (first + lane) / size[0] / size[1]; });
    fill(warp, Special::kNtidX, same(size[0]));
    fill(warp, Special::kNtidY, same(size[1]));
    fill(warp, Special::kNtidZ, same(size[2]));
    fill(warp, Special::kNctaidX, same(grid[0]));
    fill(warp, Special::kNctaidY, same(grid[1]));
    fill(warp, Special::kNctaidZ, same(grid[2]));
    fill(warp, Special::kLaneid, [](std::uint32_t lane) { return lane; });
    fill(warp, Special::kWarpid, same(warp.index));
    fill(warp, Special::kNwarpid, same(64));
    fill(warp, Special::kNsmid, same(run_.options->multiprocessors));
    fill(warp, Special::kLanemaskEq, [](std::uint32_t lane) { return 1u << lane; });
    fill(warp, Special::kLanemaskLt, [](std::uint32_t lane) { return (1u << lane) - 1; });
    fill(warp, Special::kLanemaskLe, [](std::uint32_t lane) { return (2u << lane) - 1; });
    fill(warp, Special::kLanemaskGt, [](std::uint32_t lane) { return ~((2u << lane) - 1); });
    fill(warp, Special::kLanemaskGe, [](std::uint32_t lane) { return ~((1u << lane) - 1); });
    fill(warp, Special::kDynamicSharedSize, same(run_.launch->dynamic_shared_bytes));
    fill(warp, Special::kTotalSharedSize,
         same(run_.launch->dynamic_shared_bytes + run_.entry->static_shared_bytes));
    fill(warp, Special::kZero, same(0));
    fill(warp, Special::kOne, same(1));
  }

  void begin(Block& block, std::uint64_t number) {
    const Extent& grid = run_.launch->grid;
    block.number = number;
    block.index = {static_cast<std::uint32_t>(number % grid[0]),
                   static_cast<std::uint32_t>(number / grid[0] % grid[1]),
                   static_cast<std::uint32_t>(number / grid[0] / grid[1])};
    block.exited = 0;
    block.executed = 0;
    block.barriers = {};
    block.random = mix(run_.options->seed ^ mix(number));
    // Shared and local memory and registers begin undefined. In strict mode they are the same in
    // every run; otherwise registers keep the values of an earlier block of this thread.
    std::ranges::fill(block.shared, std::byte{0});
    std::iota(block.order.begin(), block.order.end(), 0u);
    if (run_.options->seed != 0) {
      for (std::size_t i = block.order.size(); i > 1; --i) {
        std::swap(block.order[i - 1], block.order[(block.random = mix(block.random)) % i]);
      }
    }
    if (run_.options->strict) {
      block.checks = std::make_unique<SharedChecks>(block.shared.size(), block.warps.size());
    }
    const auto same = [](std::uint32_t value) { return [value](std::uint32_t) { return value; }; };
    for (Warp& warp : block.warps) {
      if (run_.options->strict) {
        std::ranges::fill(warp.frames, std::byte{0});
        std::ranges::fill(warp.locals, std::byte{0});
      }
      fill(warp, Special::kCtaidX, same(block.index[0]));
      fill(warp, Special::kCtaidY, same(block.index[1]));
      fill(warp, Special::kCtaidZ, same(block.index[2]));
      fill(warp, Special::kSmid,
           same(static_cast<std::uint32_t>(number % run_.options->multiprocessors)));
      warp.alive = warp.born;
      warp.active = 0;
      warp.calls.assign(1, {});
      warp.calls[0].function = run_.function;
      warp.others.clear();
      Split& split = warp.others.emplace_back();
      split.mask = warp.born;
      split.pc = run_.program->functions[run_.function].first;
      warp.is_paused = false;
      warp.is_forced = false;
      warp.limit = 0;
      warp.turns = warp.rescheds = 0;
      warp.carries = 0;
      warp.copies.clear();
      warp.commits = {};
      warp.clock = 0;
    }
  }

  // Runs the block's warps in turns. Returns true once the block has ended.
  bool advance(Block& block, std::uint64_t slice) {
    const std::uint64_t end = block.executed + slice;
    while (block.executed < end) {
      bool has_run = false;
      for (const std::uint32_t index : block.order) {
        Warp& warp = block.warps[index];
        if (warp.alive == 0 || warp.is_paused) continue;
        std::uint64_t turn = kSlice;
        if (run_.options->seed != 0) {
          block.random = mix(block.random);
          turn = 16 + block.random % 512;
        }
        block.executed += warp.execute(turn);
        has_run = true;
        if (run_.is_over.load(std::memory_order_relaxed)) return true;
        if (!check_limits(block, warp)) return true;
      }
      if (block.is_over()) return true;
      if (!has_run && !force(block)) return true;
    }
    return false;
  }

  bool check_limits(Block& block, Warp& warp) {
    const Options& options = *run_.options;
    const bool is_timeout = options.max_instructions != 0 && warp.clock > options.max_instructions;
    const bool is_stopped =
        options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
    if (!is_timeout && !is_stopped) return true;
    const Ins& ins = run_.program->code[warp.pc == 0 ? 0 : warp.pc - 1];
    if (warp.exec == 0) warp.exec = warp.born;
    static_cast<void>(block);
    warp.fail(is_stopped ? OutcomeKind::kStopped : OutcomeKind::kTimeout, ins,
              static_cast<unsigned>(std::countr_zero(warp.exec)),
              is_stopped ? "stopped by the caller" : "more instructions than allowed");
    return false;
  }

  // Called if all warps wait. Lanes that wait for other lanes continue without them; threads at
  // barriers cannot.
  bool force(Block& block) {
    for (Warp& warp : block.warps) {
      if (warp.alive == 0) continue;
      warp.force();
      if (!warp.is_paused) return true;
    }
    for (Warp& warp : block.warps) {
      for (const Split& split : warp.others) {
        if (split.state != Split::State::kAtBarrier) continue;
        const Barrier& barrier = block.barriers[split.barrier];
        warp.exec = split.mask;
        warp.fail(OutcomeKind::kDeadlock, *split.ins,
                  static_cast<unsigned>(std::countr_zero(split.mask)),
                  "barrier " + std::to_string(split.barrier) + " has " +
                      std::to_string(barrier.arrived) + " threads, and no other thread can arrive");
        return false;
      }
    }
    return false;
  }

  Run& run_;
  Worker worker_;
  std::size_t most_resident_ = 0;
  std::vector<std::unique_ptr<Block>> resident_, free_;
};

std::string check_launch(const Module& module, const Launch& launch) {
  const Module::Program& program = module.program();
  if (launch.entry >= program.entries.size()) return "no such entry";
  const Entry& entry = program.entries[launch.entry];
  for (int i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.block[i] == 0) return "an extent of the launch is 0";
    if (entry.required_block[i] != 0 && launch.block[i] != entry.required_block[i]) {
      return "block " + text_of(launch.block) + ", required is " + text_of(entry.required_block);
    }
  }
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (launch.block[0] > 1024 || launch.block[1] > 1024 || launch.block[2] > 64 || threads > 1024 ||
      (entry.max_threads != 0 && threads > entry.max_threads)) {
    return "block " + text_of(launch.block) + " is too large";
  }
  if (launch.grid[0] > INT32_MAX || launch.grid[1] > 65535 || launch.grid[2] > 65535) {
    return "grid " + text_of(launch.grid) + " is too large";
  }
  if (launch.dynamic_shared_bytes + std::uint64_t{entry.static_shared_bytes} > (228u << 10)) {
    return "too much shared memory";
  }
  if (launch.parameters.size() < entry.parameter_bytes) {
    return std::to_string(launch.parameters.size()) + " bytes of parameters, the entry takes " +
           std::to_string(entry.parameter_bytes);
  }
  if (launch.addresses.size() < program.variables.size()) return "addresses of variables missing";
  return {};
}

}  // namespace

std::byte* Worker::find_others(std::uint64_t address, std::uint32_t size, bool is_write) {
  const auto holds = [&](const Mapping& mapping) {
    return address >= mapping.begin && address < mapping.end && size <= mapping.end - address;
  };
  const auto bytes_of = [&](const Mapping& mapping) {
    return is_write && !mapping.writable ? nullptr : mapping.host + (address - mapping.begin);
  };
  for (const Mapping& each : mappings) {
    if (holds(each)) return bytes_of(each);
  }
  const Mapping workspace{kWorkspaceAddress, kWorkspaceAddress + sizeof(run->workspace),
                          reinterpret_cast<std::byte*>(run->workspace.data()), true};
  if (holds(workspace)) return bytes_of(workspace);
  const std::optional<Mapping> found = run->memory->find(address);
  if (!found || !holds(*found)) return nullptr;
  mappings[next_mapping] = *found;
  next_mapping = (next_mapping + 1) % mappings.size();
  return bytes_of(*found);
}

Place Run::place_of(const Block& block, std::uint32_t line, std::uint32_t thread) const {
  const Extent& size = launch->block;
  return {entry->name,
          line,
          block.index,
          {thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1]}};
}

void Run::report(FindingKind kind, const Block& block, std::uint32_t line, std::uint32_t thread,
                 const std::string& message) {
  const std::lock_guard lock(mutex);
  ++outcome.findings_count;
  // At most one finding for each line and kind.
  const bool is_known = std::ranges::any_of(outcome.findings, [&](const Finding& each) {
    return each.kind == kind && each.place.line == line;
  });
  if (is_known || outcome.findings.size() >= options->max_findings) return;
  const Place place = place_of(block, line, thread);
  outcome.findings.push_back(
      {kind, place, text_of(place) + ": " + std::string(to_string(kind)) + ": " + message});
}

void Warp::fail(OutcomeKind kind, const Ins& ins, unsigned lane, std::string message,
                std::uint64_t address) {
  Run& run = *block->run;
  limit = 0;
  const std::lock_guard lock(run.mutex);
  if (run.is_over.exchange(true)) return;
  run.outcome.kind = kind;
  run.outcome.place = run.place_of(*block, ins.line, index * kLanes + lane);
  run.outcome.address = address;
  run.outcome.message =
      text_of(run.outcome.place) + ": " + std::string(to_string(kind)) + ": " + message;
}

Outcome run(const Module& module, const Launch& launch, Memory& memory, const Options& options) {
  Run run;
  if (std::string wrong = check_launch(module, launch); !wrong.empty()) {
    run.outcome.kind = OutcomeKind::kInvalidLaunch;
    run.outcome.message = "invalid launch: " + wrong;
    return run.outcome;
  }
  run.program = &module.program();
  run.entry = &run.program->entries[launch.entry];
  run.function = run.program->entry_functions[launch.entry];
  run.launch = &launch;
  run.options = &options;
  run.memory = &memory;
  run.parameters.assign(launch.parameters.begin(), launch.parameters.end());
  run.threads = launch.block[0] * launch.block[1] * launch.block[2];
  run.blocks = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  const std::uint64_t local =
      run.program->functions[run.function].calls_unknown
          ? std::max<std::uint64_t>(options.stack_bytes, run.entry->local_bytes)
          : run.entry->local_bytes;
  run.local_stride =
      static_cast<std::uint32_t>((std::min<std::uint64_t>(local, 1 << 20) + 15) & ~15u);
  const auto work = [&run] {
    try {
      Execution(run).work();
    } catch (const std::bad_alloc&) {
      const std::lock_guard lock(run.mutex);
      if (run.is_over.exchange(true)) return;
      run.outcome.kind = OutcomeKind::kInvalidLaunch;
      run.outcome.message = "out of host memory";
    }
  };
  const auto workers = static_cast<unsigned>(
      std::clamp<std::uint64_t>(options.threads, 1, std::min<std::uint64_t>(run.blocks, 256)));
  if (workers == 1) {
    work();
  } else {
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < workers; ++i) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
  }
  return std::move(run.outcome);
}

std::string_view to_string(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kOk:
      return "ok";
    case OutcomeKind::kInvalidLaunch:
      return "invalid launch";
    case OutcomeKind::kIllegalAddress:
      return "illegal address";
    case OutcomeKind::kMisalignedAddress:
      return "misaligned address";
    case OutcomeKind::kInvalidAddressSpace:
      return "invalid address space";
    case OutcomeKind::kIllegalInstruction:
      return "illegal instruction";
    case OutcomeKind::kInvalidPc:
      return "invalid program counter";
    case OutcomeKind::kTrap:
      return "trap";
    case OutcomeKind::kAssert:
      return "assertion failed";
    case OutcomeKind::kStackOverflow:
      return "stack overflow";
    case OutcomeKind::kDeadlock:
      return "deadlock";
    case OutcomeKind::kTimeout:
      return "timeout";
    case OutcomeKind::kStopped:
      return "stopped";
  }
  return "";
}

std::string_view to_string(FindingKind kind) {
  switch (kind) {
    case FindingKind::kSharedRace:
      return "race in shared memory";
    case FindingKind::kDivergentBarrier:
      return "divergent barrier";
    case FindingKind::kBarrierAfterExit:
      return "barrier after exit";
    case FindingKind::kMissingLane:
      return "missing lane";
  }
  return "";
}

}  // namespace halyard::inline v0::sim::ptx
