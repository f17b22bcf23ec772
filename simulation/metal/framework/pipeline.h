// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipeline: a compute function of the msl library with the limits of the simulated device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic.h"
#include "simulation/metal/msl/library.h"

namespace halyard::inline v0::sim::metal {

struct Pipeline {
  std::shared_ptr<const msl::Function> function;
  std::string label;
  std::uint32_t max_threads = 1024;
  std::uint32_t execution_width = 32;
  std::uint32_t static_threadgroup_bytes = 0;
  bool is_multiple_of_width = false;  // threadGroupSizeIsMultipleOfThreadExecutionWidth
  bool supports_indirect_command_buffers = false;
  bool has_64_bit_atomics = false;  // from the device
  // The program's object is deallocated. A dispatch that still runs with it is an error.
  mutable base::Atomic<bool> is_freed{false};

  const std::string& name() const { return function->info().name; }
};

}  // namespace halyard::inline v0::sim::metal
