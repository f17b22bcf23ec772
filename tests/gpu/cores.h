// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pins the measurements to the first two cores that this process may use.
#pragma once

#include <cstddef>
#include <string>

namespace halyard::testing::cuda {

// Pins this thread, and all threads that it starts later, libcuda's among them, to the two cores.
// Returns "pinned to CPUs 2 and 3", or "not pinned: " and the reason. Call it once, before other
// threads start.
std::string pin_to_two_cores();

// Pins this thread to one of the two cores while it exists. Throws std::runtime_error if that
// fails, or if pin_to_two_cores() failed.
class OneCore {
 public:
  explicit OneCore(std::size_t which);  // 0 or 1
  ~OneCore();
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;
};

}  // namespace halyard::testing::cuda
