// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels that Halyard ships, run on a cpu device through the HAL.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/halyard.h"

namespace halyard::testing {

// One for the process, which ends without its threads.
inline const hal::Device& shipped_device() {
  static struct Process {
    ~Process() {
      device = {};
      check(hal::shutdown(std::chrono::seconds(20)));
    }
    hal::Device device = hal::open("cpu://?workers=2").value();
  } process;
  return process.device;
}

// Elements in the device's memory, with one more behind them that no kernel may write.
template <class T>
class Array {
 public:
  // What an output holds before; a finite number as a float.
  static constexpr T kUntouched = std::bit_cast<T>(0xdeadbeefu);

  explicit Array(std::size_t size) : Array(std::vector<T>(size, kUntouched)) {}
  explicit Array(const std::vector<T>& values)
      : buffer_(shipped_device()
                    .allocate({.size = (values.size() + 1) * sizeof(T),
                               .memory = hal::MemoryType::kHostVisible})
                    .value()),
        mapping_(buffer_.map().value()) {
    std::ranges::copy(values, mapping_.as<T>().begin());
    mapping_.as<T>().back() = kUntouched;
  }

  operator hal::BufferRange() const { return buffer_; }

  std::vector<T> values() const {
    const auto all = mapping_.as<T>();
    EXPECT_EQ(all.back(), kUntouched) << "written beyond element " << all.size() - 1;
    return {all.begin(), all.end() - 1};
  }

 private:
  hal::Buffer buffer_;
  hal::Mapping mapping_;
};

// One file of kernels.
class Shipped {
 public:
  explicit Shipped(std::string_view file)
      : executable_(
            shipped_device().load(HALYARD_KERNELS_DIR + std::string(file) + ".hyx").value()) {}

  // Returns when it has run.
  void run(std::string_view kernel, const hal::Grid::Extent& groups,
           hal::View<hal::BufferRange> bindings, hal::View<hal::Constant> constants) const {
    const hal::Semaphore done = shipped_device().create_semaphore().value();
    const Status submitted =
        shipped_device().queue().dispatch(executable_.function(kernel).value(), {.groups = groups},
                                          bindings, constants, {.signal = {{done, 1}}});
    ASSERT_TRUE(submitted.ok()) << kernel << ": " << submitted.message();
    const Status ran = done.wait(1, std::chrono::seconds(60));
    ASSERT_TRUE(ran.ok()) << kernel << ": " << ran.message();
  }

 private:
  hal::Executable executable_;
};

// Groups of `size` that hold all items: at least one, since some kernels have a result for nothing.
inline std::uint32_t groups_of(std::size_t size, std::size_t items) {
  return static_cast<std::uint32_t>(std::max<std::size_t>(1, (items + size - 1) / size));
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

// The engine's own numbers: unlike the library's distributions they are the same everywhere.
inline std::vector<std::uint32_t> random_uints(std::size_t size, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<std::uint32_t> values(size);
  for (std::uint32_t& value : values) value = engine();
  return values;
}

// From -scale up to scale.
inline std::vector<float> random_floats(std::size_t size, unsigned seed, float scale = 1.0f) {
  std::vector<float> values;
  for (const std::uint32_t bits : random_uints(size, seed)) {
    values.push_back(static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31f * scale);
  }
  return values;
}

}  // namespace halyard::testing
