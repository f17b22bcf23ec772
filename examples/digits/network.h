// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The network: 64 pixels -> 128 hidden units (ReLU) -> 10 classes. All its parameters are one flat
// array, so that one copy moves them and one kernel updates them:
//
//   w1[64][128]   b1[128]   w2[128][10]   b2[10]
//
// A layer is one part of it: its weights, and its biases as one more row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace digits {

inline constexpr std::uint32_t kPixels = 64;
inline constexpr std::uint32_t kHidden = 128;
inline constexpr std::uint32_t kClasses = 10;

// A part of the parameters, or of the rows: those [first, first + count).
struct Part {
  std::uint32_t first;
  std::uint32_t count;
};
inline constexpr Part kLayer1{0, (kPixels + 1) * kHidden};
inline constexpr Part kLayer2{kLayer1.count, (kHidden + 1) * kClasses};
inline constexpr std::uint32_t kParameters = kLayer1.count + kLayer2.count;

// How to train. The training rows form a ring; each step takes the next `batch` of them.
struct Schedule {
  std::size_t epochs;
  std::size_t batch;
  float rate;

  std::size_t steps() const noexcept;
  // Of the ring, what a device takes in a step: in each, as many. Steps count from 1.
  Part rows_of(std::size_t step, std::size_t device, std::size_t devices) const noexcept;
  // How often the first `steps` steps have gone through the training rows, rounded down.
  std::size_t epochs_after(std::size_t steps) const noexcept;
};

// The weights of a layer uniform with variance 2 / inputs (He et al. 2015, for ReLU), the biases 0.
// The same numbers on every platform.
std::vector<float> initial_parameters(std::uint64_t seed);

}  // namespace digits
