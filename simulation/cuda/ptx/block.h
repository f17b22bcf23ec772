// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An executing block, and the host thread that executes it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "simulation/cuda/ptx/lowering.h"
#include "simulation/cuda/ptx/machine.h"

namespace halyard::inline v0::sim::ptx {

// State that the threads of a run share.
struct Run {
  const Module::Program* program = nullptr;
  const Entry* entry = nullptr;
  std::uint32_t function = 0;
  const Launch* launch = nullptr;
  const Options* options = nullptr;
  Memory* memory = nullptr;
  std::vector<std::byte> parameters;
  std::uint32_t threads = 0;  // of a block
  std::uint32_t local_stride = 0;
  std::uint64_t blocks = 0;
  std::atomic<std::uint64_t> next_block{0};
  std::atomic<bool> is_over{false};
  std::array<std::uint64_t, 8> workspace{8};  // at kWorkspaceAddress
  std::mutex mutex;                           // of the members below
  Outcome outcome;

  Place place_of(const Block& block, std::uint32_t line, std::uint32_t thread) const;
  void report(FindingKind kind, const Block& block, std::uint32_t line, std::uint32_t thread,
              const std::string& message);
};

struct Barrier {
  std::uint32_t arrived = 0;
  std::uint32_t expected = 0;  // 0: all threads of the block
  std::uint32_t votes = 0;     // lanes with a true predicate
};

struct Block {
  Run* run = nullptr;
  std::uint64_t number = 0;
  Extent index{};
  std::uint32_t exited = 0;  // threads
  std::array<Barrier, 16> barriers{};
  std::vector<Warp> warps;
  std::vector<std::uint32_t> order;  // of its warps
  std::vector<std::byte> shared;     // static, then dynamic
  std::uint32_t dynamic_offset = 0;  // in `shared`
  std::uint64_t executed = 0;
  std::unique_ptr<SharedChecks> checks;  // in strict mode
  std::uint64_t random = 0;

  // Opens the barrier if all have arrived.
  void check_barrier(unsigned barrier);
  bool is_over() const { return exited == run->threads; }
};

// Operands of a matrix product (mma).
struct MatrixScratch {
  double a[16][256], b[256][8];
  std::int32_t ia[16][256], ib[256][8];
};

struct Worker {
  Run* run = nullptr;
  std::array<Mapping, 8> mappings{};  // of the last accesses
  std::size_t next_mapping = 0;       // the next to replace
  alignas(64) std::array<std::byte, kLanes * 16> sink{};
  std::unique_ptr<MatrixScratch> matrices;  // once there was a product
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;

  // Returns the bytes, or null.
  std::byte* find(std::uint64_t address, std::uint32_t size, bool is_write) {
    const Mapping& last = mappings[0];  // for most kernels, their first buffer
    if (address >= last.begin && size <= last.end - address && address < last.end &&
        (last.writable || !is_write)) {
      return last.host + (address - last.begin);
    }
    return find_others(address, size, is_write);
  }
  std::byte* find_others(std::uint64_t address, std::uint32_t size, bool is_write);
};

inline bool Warp::has_failed() const { return block->run->is_over.load(std::memory_order_relaxed); }

}  // namespace halyard::inline v0::sim::ptx
