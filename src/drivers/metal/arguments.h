// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ArgumentWriter: encodes the bindings of a dispatch into an argument block, by the kernel's
// MTLArgumentEncoder, which knows how this device lays it out. A block may be written again in
// part: a replay writes the bindings that have changed.
#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "drivers/metal/allocator.h"
#include "drivers/metal/executable.h"
#include "hal/recording/command.h"

namespace halyard::inline v0::metal {

// Bytes of the argument block of a command, aligned; 0: it needs none.
std::uint64_t argument_bytes(const hal::Command& command) noexcept;

// Holds the encoder of the dispatch's kernel, which other threads wait for. Short-lived.
class ArgumentWriter {
 public:
  // `block` has argument_bytes(). Precondition: the device does not read it now.
  ArgumentWriter(const hal::DispatchCommand& command, const hal::ArgumentBlock& block);

  void set(std::uint32_t binding, const hal::BoundRange& range);
  // All bindings of the command.
  void set_all(const hal::DispatchCommand& command, const hal::BoundRange* table);

 private:
  Executable::Entry& entry_;
  base::LockGuard lock_;
};

}  // namespace halyard::inline v0::metal
