// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the measurements run: on the first two cores that this process may use.
#pragma once

#include <cstddef>
#include <string>

namespace halyard::testing::cuda {

// Keeps this thread, and all that it starts from now on, libcuda's among them, on the two. Which
// they are, "pinned to CPUs 2 and 3", or "not pinned: " and why. Once, before other threads start.
std::string pin_to_two_cores();

// This thread on one of the two for as long as this lives. Throws std::runtime_error where it
// cannot be, as when nothing was pinned.
class OneCore {
 public:
  explicit OneCore(std::size_t which);  // 0 or 1
  ~OneCore();
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;
};

}  // namespace halyard::testing::cuda
