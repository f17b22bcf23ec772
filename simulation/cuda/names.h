// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exported functions by name.
#pragma once

#include <span>
#include <string_view>

namespace halyard::inline v0::sim::cuda {

struct Name {
  std::string_view exported;
  std::string_view name;  // for cuGetProcAddress
  int version;            // of CUDA, the first that has it
  bool is_per_thread;     // stream 0 is the calling thread's
  int (*function)();
};

// Sorted by `exported`.
std::span<const Name> names();

}  // namespace halyard::inline v0::sim::cuda
