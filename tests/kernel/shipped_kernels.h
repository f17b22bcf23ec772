// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels that Halyard ships, run on the device of shipped_device.h.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/shipped_device.h"

namespace halyard::testing {

// Zero, one, and sizes around those of groups and blocks.
inline constexpr std::uint32_t kSizes[] = {0,    1,    3,    255,  256,  257,  1023,
                                           1024, 1025, 4095, 4096, 4097, 70001};

// Elements in the device's memory, followed by one more that no kernel may write.
template <class T>
class Array {
 public:
  // Initial value of an output; finite as a float and as a double.
  static constexpr T kUntouched = [] {
    if constexpr (sizeof(T) == 8) return std::bit_cast<T>(0xdeadbeefdeadbeefu);
    if constexpr (sizeof(T) == 4) return std::bit_cast<T>(0xdeadbeefu);
  }();

  explicit Array(std::size_t size) : Array(std::vector<T>(size, kUntouched)) {}
  explicit Array(const std::vector<T>& values)
      : memory_(device_memory((values.size() + 1) * sizeof(T))) {
    std::ranges::copy(values, elements().begin());
    elements().back() = kUntouched;
  }

  operator const DeviceMemory*() const { return memory_.get(); }

  std::vector<T> values() const {
    const std::span<T> all = elements();
    EXPECT_EQ(all.back(), kUntouched) << "written beyond element " << all.size() - 1;
    return {all.begin(), all.end() - 1};
  }

 private:
  std::span<T> elements() const {
    const std::span<std::byte> bytes = memory_->bytes();
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  std::unique_ptr<DeviceMemory> memory_;
};

// One file of kernels.
class Shipped {
 public:
  explicit Shipped(std::string_view file) : kernels_(device_kernels(file)) {}

  // Runs the kernel and returns at its end.
  void run(std::string_view kernel, const hal::Grid::Extent& groups,
           hal::View<const DeviceMemory*> buffers, hal::View<hal::Constant> constants) const {
    const Status ran = kernels_->run(kernel, groups, buffers, constants);
    ASSERT_TRUE(ran.ok()) << kernel << ": " << ran.message();
  }

 private:
  std::unique_ptr<DeviceKernels> kernels_;
};

// Groups of `size` that cover all items: at least one, since some kernels have a result for none.
inline std::uint32_t groups_of(std::size_t size, std::size_t items) {
  return static_cast<std::uint32_t>(std::max<std::size_t>(1, (items + size - 1) / size));
}

template <class T>
struct Reduced {
  T value{};
  int launches = 0;
};

// Launches `kernel` of reduce.hyk until one value is left.
template <class T>
Reduced<T> reduce(const Shipped& file, std::string_view kernel, const std::vector<T>& x) {
  Array<T> from(x);
  std::size_t left = x.size();
  Reduced<T> result;
  do {
    const std::uint32_t groups = groups_of(4096, left);
    Array<T> to(groups);
    file.run(kernel, groups, {from, to}, {static_cast<std::uint32_t>(left)});
    from = std::move(to);
    left = groups;
    ++result.launches;
  } while (left > 1);
  result.value = from.values().at(0);
  return result;
}

// Launches `kernel`, then `next`, of argmax.hyk until one index is left.
template <class T>
std::uint32_t argmax(const Shipped& file, std::string_view kernel, std::string_view next,
                     const std::vector<T>& x) {
  const Array<T> from(x);
  std::uint32_t left = groups_of(4096, x.size());
  Array<std::uint32_t> indices(left);
  file.run(kernel, left, {from, indices}, {static_cast<std::uint32_t>(x.size())});
  while (left > 1) {
    const std::uint32_t groups = groups_of(4096, left);
    Array<std::uint32_t> fewer(groups);
    file.run(next, groups, {from, indices, fewer}, {left});
    indices = std::move(fewer);
    left = groups;
  }
  return indices.values().at(0);
}

// The index of the greatest, or of the first of several.
template <class T>
std::uint32_t first_greatest(const std::vector<T>& x) {
  return static_cast<std::uint32_t>(std::ranges::max_element(x) - x.begin());
}

// Prefix sums of any length: `kernel` is scan_inclusive or scan_exclusive.
inline Array<std::uint32_t> scan(std::string_view kernel, const Array<std::uint32_t>& x,
                                 std::uint32_t size) {
  const Shipped file("scan");
  const std::uint32_t groups = groups_of(1024, size);
  Array<std::uint32_t> y(size);
  const Array<std::uint32_t> sums(groups);
  file.run(kernel, groups, {x, y, sums}, {size});
  if (groups > 1) {
    file.run("scan_add", groups, {scan("scan_exclusive", sums, groups), y}, {size});
  }
  return y;
}

// The engine's own numbers: unlike those of the library's distributions they are portable.
inline std::vector<std::uint32_t> random_uints(std::size_t size, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<std::uint32_t> values(size);
  for (std::uint32_t& value : values) value = engine();
  return values;
}

// Values from -scale up to scale.
inline std::vector<float> random_floats(std::size_t size, unsigned seed, float scale = 1.0f) {
  std::vector<float> values;
  for (const std::uint32_t bits : random_uints(size, seed)) {
    values.push_back(static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31f * scale);
  }
  return values;
}

}  // namespace halyard::testing
