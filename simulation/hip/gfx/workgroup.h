// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An executing workgroup, and the host thread that executes it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "simulation/hip/gfx/checks.h"
#include "simulation/hip/gfx/machine.h"

namespace halyard::inline v0::sim::gfx {

// State that the threads of a run share.
struct Run {
  const CodeObject::Program* program = nullptr;
  const Executable* executable = nullptr;
  const Kernel* kernel = nullptr;
  const CodeObject::Program::KernelCode* code = nullptr;
  const Launch* launch = nullptr;
  const Options* options = nullptr;
  Memory* memory = nullptr;
  std::uint32_t items = 0;  // of a workgroup
  std::uint32_t scratch_bytes = 0;
  std::uint64_t workgroups = 0;
  alignas(16) std::array<std::byte, 64> packet{};
  std::vector<std::uint64_t> kernarg;  // bytes, aligned
  std::vector<std::uint64_t> heap;     // what hidden pointers point to: zeros
  std::array<Mapping, 3> windows{};
  std::atomic<std::uint64_t> next_workgroup{0};
  std::atomic<bool> is_over{false};
  std::mutex mutex;  // of the members below
  Outcome outcome;

  Place place_of(const Wave& wave, const Instruction& at, unsigned lane) const;
  void report(FindingKind kind, const Wave& wave, const Instruction& at, unsigned lane,
              const std::string& message);
};

struct Workgroup {
  Run* run = nullptr;
  std::uint64_t number = 0;
  Extent index{};
  std::uint32_t ended = 0;    // waves
  std::uint32_t arrived = 0;  // at the barrier
  std::vector<Wave> waves;
  std::vector<std::uint32_t> order;  // of the waves
  std::vector<std::byte> lds;
  std::uint64_t executed = 0;
  std::uint64_t random = 0;
  std::unique_ptr<LdsChecks> lds_checks;        // in strict mode
  std::vector<std::unique_ptr<Checks>> checks;  // of each wave, in strict mode

  // Opens the barrier if all remaining waves have arrived.
  void check_barrier();
  bool is_over() const { return ended == waves.size(); }
};

struct Worker {
  Run* run = nullptr;
  std::array<Mapping, 8> mappings{};  // of the last accesses
  std::size_t next_mapping = 0;       // the next to replace
  std::uint64_t wave_instructions = 0;
  std::uint64_t lane_instructions = 0;

  // The host's bytes, or null.
  std::byte* find(std::uint64_t address, std::uint32_t size, bool is_write) {
    const Mapping& last = mappings[0];  // for most kernels, their first buffer
    if (address >= last.begin && address < last.end && size <= last.end - address &&
        (last.writable || !is_write)) {
      return last.host + (address - last.begin);
    }
    return find_others(address, size, is_write);
  }
  std::byte* find_others(std::uint64_t address, std::uint32_t size, bool is_write);
};

inline bool Wave::has_failed() const { return group->run->is_over.load(std::memory_order_relaxed); }

}  // namespace halyard::inline v0::sim::gfx
