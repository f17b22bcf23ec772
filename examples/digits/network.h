// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The network: 64 pixels -> 128 hidden units (ReLU) -> 10 classes. All parameters are one flat
// array, which one copy moves and one kernel updates:
//
//   w1[64][128]   b1[128]   w2[128][10]   b2[10]
//
// A layer is one part of the array: its weights, with its biases as a last row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace digits {

inline constexpr std::uint32_t kPixels = 64;
inline constexpr std::uint32_t kHidden = 128;
inline constexpr std::uint32_t kClasses = 10;

// The parameters or rows [first, first + count).
struct Part {
  std::uint32_t first;
  std::uint32_t count;
};
inline constexpr Part kLayer1{0, (kPixels + 1) * kHidden};
inline constexpr Part kLayer2{kLayer1.count, (kHidden + 1) * kClasses};
inline constexpr std::uint32_t kParameters = kLayer1.count + kLayer2.count;

// A training schedule. The training rows form a ring; each step takes the next `batch` rows.
struct Schedule {
  std::size_t epochs;
  std::size_t batch;
  float rate;

  std::size_t steps() const noexcept;
  // The rows of a device in a step: the same number in each step. Steps count from 1.
  Part rows_of(std::size_t step, std::size_t device, std::size_t devices) const noexcept;
  // The epochs that are complete after `steps` steps.
  std::size_t epochs_after(std::size_t steps) const noexcept;
};

// Uniform weights with variance 2 / inputs (He et al. 2015, for ReLU) and biases of 0. The same on
// every platform.
std::vector<float> initial_parameters(std::uint64_t seed);

}  // namespace digits
