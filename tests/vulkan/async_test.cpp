// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of async on a device that takes few workgroups in a dispatch: they are several.
#include "halyard/async.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "drivers/cpu/driver.h"
#include "drivers/vulkan/driver.h"
#include "hal/registry.h"
#include "vulkan/vulkan_test_util.h"

namespace halyard::vulkan {
namespace {

using namespace halyard::async;

class VulkanAsync : public VulkanTest {
 protected:
  void SetUp() override {
    fake().max_groups = 3;
    VulkanTest::SetUp();
  }
  // What `make` gives on a device, as the host has it. The arrays are made there by arange.
  template <class F>
  static auto on(const char* device, F&& make) {
    hal::DriverRegistry registry;  // its destructor closes the device, while Vulkan is there
    check(register_vulkan_driver(registry));
    check(cpu::register_cpu_driver(registry));
    const Runtime runtime = Runtime::create({registry.open(device).value()}).value();
    return sync_wait(make(), runtime);
  }
  template <class F>
  static void expect_same(const char* name, F&& make) {
    EXPECT_EQ(on("vulkan://", make), on("cpu://", make)) << name;
  }
};

auto counted(const Shape& shape) {
  return scale(arange<float>(shape.elements()), 0.25f) | reshape(shape);
}

TEST_F(VulkanAsync, ArraysOfMoreGroupsThanADispatchHas) {
  expect_same("add", [] { return to_host(add(counted(5000), counted(5000))); });
  expect_same("scale", [] { return to_host(scale(counted(5000), 3.0f)); });
  expect_same("relu", [] { return to_host(relu(sub(counted(5000), full<float>(5000, 500)))); });
  expect_same("arange of bytes", [] { return to_host(arange<std::uint8_t>(9000)); });
  expect_same("arange of shorts", [] { return to_host(arange<std::uint16_t>(9001)); });
  expect_same("arange of words", [] { return to_host(arange<std::uint64_t>(1501)); });
  expect_same("full", [] { return to_host(full<std::uint64_t>(3001, 1ull << 40 | 7)); });
  expect_same("rand", [] { return to_host(rand<float>(9001, 42)); });
}

TEST_F(VulkanAsync, BroadcastsOfMoreGroupsThanADispatchHas) {
  const auto sum_of = [](const Shape& a, const Shape& b) {
    return [a, b] { return to_host(add(counted(a), counted(b))); };
  };
  expect_same("a row for many rows", sum_of(Shape(20, 300), Shape(300)));
  expect_same("a column for long rows", sum_of(Shape(5, 2000), Shape(5, 1)));
  expect_same("a number for each row", sum_of(Shape(7, 1), Shape(1, 10)));
  expect_same("a matrix for each", sum_of(Shape(10, 2, 3), Shape(2, 3)));
  expect_same("a row of each matrix", sum_of(Shape(4, 5, 300), Shape(4, 1, 300)));
  expect_same("one long row", sum_of(Shape(2000), Shape(1)));
}

TEST_F(VulkanAsync, RowsOfMoreGroupsThanADispatchHas) {
  expect_same("sum of all", [] { return to_host(sum(full<float>(40'000, 1.0f))); });
  expect_same("max of rows", [] { return to_host(max(counted({20, 7}), 1)); });
  expect_same("min of columns", [] { return to_host(min(counted({9, 4, 300}), 1)); });
  expect_same("argmax of rows", [] { return to_host(argmax(counted({20, 7}), 1)); });
  expect_same("argmax of columns", [] { return to_host(argmax(counted({9, 4, 300}), 1)); });
  expect_same("transpose", [] { return to_host(transpose(counted({65, 33}))); });
  // Within the bounds of docs/kernels.md, not bit for bit.
  const auto softmaxes = [] { return to_host(softmax(scale(counted({20, 7}), 0.01f))); };
  const std::vector<float> got = on("vulkan://", softmaxes), want = on("cpu://", softmaxes);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << i;
  const auto product = [] {
    return to_host(matmul(full<float>({300, 5}, 2.0f), counted({5, 70})));
  };
  const std::vector<float> c = on("vulkan://", product), d = on("cpu://", product);
  ASSERT_EQ(c.size(), d.size());
  for (std::size_t i = 0; i < c.size(); ++i) EXPECT_NEAR(c[i], d[i], 1e-3) << i;
}

}  // namespace
}  // namespace halyard::vulkan
