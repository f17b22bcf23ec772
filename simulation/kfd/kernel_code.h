// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels as a device finds them: instructions in memory and registers, without an ELF. They become
// code objects of the interpreter in simulation/hip/gfx.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulation/hip/gfx/gfx.h"
#include "simulation/kfd/memory.h"

namespace halyard::inline v0::sim::kfd {

// The facts that a queue has of a kernel.
struct KernelRegisters {
  std::uint64_t code = 0;  // the address of the first instruction
  std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  std::uint32_t scratch_bytes = 0;  // per lane
  std::uint32_t lds_bytes = 0;
  bool is_wave32 = true;

  friend bool operator==(const KernelRegisters&, const KernelRegisters&) = default;
};

struct KernelCode {
  std::shared_ptr<const gfx::CodeObject> object;  // null if the code cannot be executed
  std::uint64_t image_address = 0;
  std::string error;  // one sentence
};

// Decoded kernels, and the parts that the device's instruction caches may hold. A kernel is decoded
// again when its code or registers changed. Not thread-safe.
class KernelCodeCache {
 public:
  // The kernel at `registers.code`, which is in `buffer`. Sets `is_stale` if other instructions
  // were executed there, and the instruction caches have not been invalidated since.
  const KernelCode& find(const KernelRegisters& registers, const Buffer& buffer, bool& is_stale);
  void invalidate_instructions() { executed_.clear(); }

 private:
  struct Entry {
    KernelRegisters registers;
    std::vector<std::byte> bytes;
    KernelCode code;
  };
  // By the address of the first instruction.
  std::map<std::uint64_t, Entry> entries_;
  std::map<std::uint64_t, std::vector<std::byte>> executed_;  // the first bytes, as they were
};

}  // namespace halyard::inline v0::sim::kfd
