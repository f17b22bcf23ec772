// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run(): executes a compute function on the CPU, in the calling thread, and finds what a GPU would
// not report: accesses outside of buffers, races, barriers that not all threads reach.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "simulation/metal/msl/library.h"

namespace halyard::inline v0::sim::msl {

struct Size {
  std::uint32_t x = 1, y = 1, z = 1;
};

// A buffer or bytes at [[buffer(index)]]. Device addresses are addresses of this process: a pointer
// in an argument buffer is dereferenced as it is.
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

// How a function may use memory that no binding covers, such as that behind a pointer in an
// argument buffer.
enum class Residency : std::uint8_t {
  kUnknown,      // no memory of the device
  kNotDeclared,  // memory of the device, but no useResource, useHeap or residency set names it
  kRead,
  kReadWrite,
};

struct MemoryRange {
  std::uint64_t begin = 0;  // the range around the address for which the answer holds
  std::uint64_t end = 0;
  Residency residency = Residency::kUnknown;
};

enum class Fault : std::uint8_t {
  kNone,
  kOutOfBounds,   // an access outside of all memory that the function was given
  kReadOnly,      // a write to memory that was declared only for reading
  kNotDeclared,   // an access to memory that was not declared at all
  kRace,          // two threads, one of them writing, with nothing between that orders them
  kDivergence,    // a barrier that not all threads of the group reach
  kInactiveLane,  // a value from a lane that does not take part
  kBudget,        // more steps than the budget
  kTrap,          // __builtin_trap, a division by zero, a stack overflow, an unmapped address
  kUnsupported,   // what the function needs and the launch lacks: arguments, 64-bit atomics
};
std::string_view name(Fault fault) noexcept;

struct Report {
  Fault fault = Fault::kNone;
  std::string text;  // one sentence: kernel, threads, address, sizes
  std::uint64_t address = 0;
  std::uint32_t group = 0;   // linear index of the threadgroup
  std::uint32_t thread = 0;  // linear index of the thread in it
};

// Asked and told during run(), by the calling thread, on the stack of a kernel's thread (256 KiB,
// most of it free). May lock; must not call run().
class Observer {
 public:
  virtual ~Observer() = default;
  // The memory around `address`, which no binding covers. Answers are kept until run() returns.
  virtual MemoryRange memory_at(std::uint64_t address) noexcept = 0;
  // One of the faults kReadOnly, kNotDeclared, kRace, kDivergence, kInactiveLane. True: go on,
  // as hardware may; false: end the launch with this fault. Each place is reported once.
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
  // Looks at each access to memory: bounds and declarations. Five to ten times slower.
  bool check_bounds = true;
  // Also looks for races, within a group and between groups; implies check_bounds.
  bool check_races = false;
  // Every other atomic_compare_exchange_weak fails although the value is the expected one.
  bool fail_weak_exchange = false;
  // Otherwise a 64-bit atomic ends the launch with kUnsupported.
  bool has_64_bit_atomics = true;
};

struct Outcome {
  Fault fault = Fault::kNone;  // the one that ended the launch
  Report report;               // of that fault
  std::uint64_t steps = 0;     // basic blocks executed
};

// Executes the whole grid and returns when it is done or has failed. A grid with a size of 0 does
// nothing. Without an observer every report ends the launch. May be called by several threads at
// once, also for the same function.
Outcome run(const Function& function, const Launch& launch, Observer* observer = nullptr);

}  // namespace halyard::inline v0::sim::msl
