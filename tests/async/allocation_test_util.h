// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocations in a steady state, counted on all threads by a replacement of malloc.
#pragma once

#include <algorithm>
#include <cstdint>

#include "async/async_test_util.h"
#include "counts/allocations.h"

namespace halyard::async::testing {

// Skips its tests where allocations are not counted.
class CountingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!counts::counts_allocations()) GTEST_SKIP() << "a sanitizer has replaced malloc";
  }
};

class AllocationTest : public CountingTest {
 protected:
  // The least number of allocations in 1000 calls of `body`; stops early at `expected`. A first run
  // may allocate more: pools grow to the most work that was ever in flight, which a loaded machine
  // reaches late, and threads of the runtime start late.
  template <class F>
  static std::uint64_t least_allocations(F&& body, std::uint64_t expected = 0) {
    std::uint64_t least = ~std::uint64_t{0};
    for (int i = 0; i < 100 && least != expected; ++i) {
      const std::uint64_t before = counts::allocations();
      for (int k = 0; k < 1000; ++k) body();
      least = std::min(least, counts::allocations() - before);
    }
    return least;
  }

  Shared<Tensor<float>> ones_of(const Shape& shape) {
    return sync_wait(ones<float>(shape) | share, runtime);
  }
  Partition<Tensor<float>> tiles_of(const Shape& shape) {
    return sync_wait(ones<float>(shape) | partition(4, 4), runtime);
  }

  Runtime runtime = Runtime::open("cpu://?check=0&workers=1").value();
};

}  // namespace halyard::async::testing
