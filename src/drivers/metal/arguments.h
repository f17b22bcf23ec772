// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ArgumentWriter: encodes the bindings of a dispatch into an argument block with the kernel's
// MTLArgumentEncoder, which knows the layout of this device. A replay writes only the bindings that
// have changed.
#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "drivers/metal/allocator.h"
#include "drivers/metal/executable.h"
#include "hal/recording/command.h"

namespace halyard::inline v0::metal {

// Bytes of a command's argument block, aligned; 0 if it needs none.
std::uint64_t argument_bytes(const hal::Command& command) noexcept;

// Locks the argument encoder of the dispatch's kernel for its lifetime, which should be short.
class ArgumentWriter {
 public:
  // `block` has argument_bytes(). Precondition: the device does not read the block.
  ArgumentWriter(const hal::DispatchCommand& command, const hal::ArgumentBlock& block);

  void set(std::uint32_t binding, const hal::BoundRange& range);
  // All bindings of the command.
  void set_all(const hal::DispatchCommand& command, const hal::BoundRange* table);

 private:
  Executable::Entry& entry_;
  base::LockGuard lock_;
};

}  // namespace halyard::inline v0::metal
