// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "network.h"

#include <cmath>

#include "data.h"

namespace digits {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014), because <random> distributions differ between libraries.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // Uniform in [0, 1), a multiple of 2^-24: exact in a float.
  double next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ (z >> 31)) >> 40) * 0x1p-24;
  }

 private:
  std::uint64_t state_;
};

}  // namespace

std::size_t Schedule::steps() const noexcept { return (epochs * kTrainRows + batch - 1) / batch; }

Part Schedule::rows_of(std::size_t step, std::size_t device, std::size_t devices) const noexcept {
  const std::size_t begin = batch * device / devices, end = batch * (device + 1) / devices;
  const std::size_t batch_begin = (step - 1) * batch % kTrainRows;
  return {static_cast<std::uint32_t>(batch_begin + begin), static_cast<std::uint32_t>(end - begin)};
}

std::size_t Schedule::epochs_after(std::size_t steps) const noexcept {
  return steps * batch / kTrainRows;
}

std::vector<float> initial_parameters(std::uint64_t seed) {
  std::vector<float> parameters(kParameters, 0.0f);
  Random random(seed);
  const auto fill = [&](Part layer, std::size_t inputs, std::size_t outputs) {
    // The variance is the square of this / 3.
    const double limit = std::sqrt(6 / static_cast<double>(inputs));
    for (std::size_t i = 0; i < inputs * outputs; ++i) {
      parameters[layer.first + i] = static_cast<float>((2 * random.next() - 1) * limit);
    }
  };
  fill(kLayer1, kPixels, kHidden);
  fill(kLayer2, kHidden, kClasses);
  return parameters;
}

}  // namespace digits
