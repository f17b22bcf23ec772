// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run(): executes a compute function on the CPU, in the calling thread, and detects errors that a
// GPU does not report: accesses outside buffers, data races, barriers that not all threads reach.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "simulation/metal/msl/library.h"

namespace halyard::inline v0::sim::msl {

struct Size {
  std::uint32_t x = 1, y = 1, z = 1;
};

// A buffer or bytes at [[buffer(index)]]. Device addresses are addresses of this process, so
// pointers in argument buffers can be dereferenced.
struct BufferBinding {
  std::uint32_t index = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;  // bytes from `address` on that the function may access
  bool writable = true;      // false for bytes and for `constant`
};

struct ThreadgroupBinding {
  std::uint32_t index = 0;
  std::uint32_t length = 0;
};

// How a function may use memory that no binding covers, such as the target of a pointer in an
// argument buffer.
enum class Residency : std::uint8_t {
  kUnknown,      // not device memory
  kNotDeclared,  // device memory that no useResource, useHeap or residency set names
  kRead,
  kReadWrite,
};

struct MemoryRange {
  std::uint64_t begin = 0;  // the range around the address that the result covers
  std::uint64_t end = 0;
  Residency residency = Residency::kUnknown;
};

enum class Fault : std::uint8_t {
  kNone,
  kOutOfBounds,   // an access outside all memory of the launch
  kReadOnly,      // a write to memory declared only for reading
  kNotDeclared,   // an access to memory that was not declared
  kRace,          // unordered accesses by two threads, one of them a write
  kDivergence,    // a barrier that not all threads of the group reach
  kInactiveLane,  // a read of the value of an inactive lane
  kBudget,        // more steps than the budget
  kTrap,          // __builtin_trap, a division by zero, a stack overflow, an unmapped address
  kUnsupported,   // the launch lacks an argument, or 64-bit atomics
};
std::string_view name(Fault fault) noexcept;

struct Report {
  Fault fault = Fault::kNone;
  std::string text;  // one sentence: kernel, threads, address, sizes
  std::uint64_t address = 0;
  std::uint32_t group = 0;   // linear index of the threadgroup
  std::uint32_t thread = 0;  // linear index of the thread in it
};

// Called during run(), by the calling thread, on the stack of a kernel's thread (256 KiB, most of
// it free). May lock; must not call run().
class Observer {
 public:
  virtual ~Observer() = default;
  // Returns the memory around `address`, which no binding covers. run() keeps the result until it
  // returns.
  virtual MemoryRange memory_at(std::uint64_t address) noexcept = 0;
  // One of the faults kReadOnly, kNotDeclared, kRace, kDivergence, kInactiveLane. Return true to
  // continue, as hardware may, or false to end the launch with this fault. Each place is reported
  // once.
  virtual bool report(const Report& report) noexcept = 0;
};

struct Launch {
  Size grid;   // in threads; the last groups of each dimension may be smaller
  Size group;  // threads of a group, the product at most 1024
  std::span<const BufferBinding> buffers;
  std::span<const ThreadgroupBinding> threadgroups;
  std::uint32_t simd_width = 32;  // threadExecutionWidth: a power of two, at most 64
  std::uint64_t seed = 0;  // order of groups, threads, and of atomics; 0: the order of indices
  // Basic blocks that all threads together may execute. 0: no limit.
  std::uint64_t budget = 0;
  // Checks the bounds and declarations of each access to memory. Five to ten times slower.
  bool check_bounds = true;
  // Also detects races, within a group and between groups; implies check_bounds.
  bool check_races = false;
  // Every other atomic_compare_exchange_weak fails although the value is the expected one.
  bool fail_weak_exchange = false;
  // Otherwise a 64-bit atomic ends the launch with kUnsupported.
  bool has_64_bit_atomics = true;
};

struct Outcome {
  Fault fault = Fault::kNone;  // the fault that ended the launch
  Report report;               // of that fault
  std::uint64_t steps = 0;     // basic blocks executed
};

// Executes the whole grid and returns when it is done or has failed. A grid with a size of 0 does
// nothing. Without an observer every report ends the launch. Several threads may call it at once,
// even for the same function.
Outcome run(const Function& function, const Launch& launch, Observer* observer = nullptr);

}  // namespace halyard::inline v0::sim::msl
