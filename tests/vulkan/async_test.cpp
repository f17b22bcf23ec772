// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of async on a device that limits the workgroups of a dispatch, so each needs several
// dispatches.
#include "halyard/async.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "drivers/cpu/driver.h"
#include "drivers/vulkan/driver.h"
#include "hal/device/registry.h"
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
  // Returns the elements that `make` computes on a device. Its arrays are created there by arange.
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
  // Within a bound of docs/kernels.md, not bit for bit.
  template <class F>
  static void expect_near(const char* name, F&& make, double bound) {
    const std::vector<float> got = on("vulkan://", make), want = on("cpu://", make);
    ASSERT_EQ(got.size(), want.size()) << name;
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], bound) << name << ", element " << i;
    }
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
  const auto softmaxes = [] { return to_host(softmax(scale(counted({20, 7}), 0.01f))); };
  expect_near("softmax", softmaxes, 1e-6);
}

// A group takes 256 columns.
TEST_F(VulkanAsync, ColumnsOfMoreGroupsThanADispatchHas) {
  for (const std::uint64_t columns : {769, 1024, 1536, 1537, 2305, 5000}) {
    SCOPED_TRACE(columns);
    expect_same("sum", [=] { return to_host(sum(counted({3, columns}), 0)); });
    expect_same("max", [=] { return to_host(max(counted({2, 3, columns}), 1)); });
    expect_same("argmax", [=] { return to_host(argmax(counted({2, 3, columns}), 1)); });
  }
  expect_same("min of ints", [] {
    return to_host(min(arange<std::int32_t>(3 * 900) | reshape({3, 900}), 0));
  });
}

TEST_F(VulkanAsync, ArgmaxOfMoreGroupsThanADispatchHas) {
  // The greatest is in the first, a middle and the last group; the last size has three levels.
  for (const std::uint64_t n : {3 * 4096 + 1, 40'000, 27 * 4096}) {
    SCOPED_TRACE(n);
    const auto x = [n] { return arange<std::int32_t>(n); };
    expect_same("last", [=] { return to_host(argmax(x())); });
    expect_same("first", [=] { return to_host(argmax(scale(x(), -1))); });
    expect_same("middle", [=] {
      const auto middle = static_cast<std::int32_t>(n / 2);
      return to_host(argmax(mul(x(), sub(full<std::int32_t>(n, 2 * middle), x()))));
    });
  }
}

// A group takes 64 rows and 64 columns.
TEST_F(VulkanAsync, MatricesOfMoreGroupsThanADispatchHas) {
  const auto product = [](std::uint64_t m, std::uint64_t k, std::uint64_t n) {
    return [=] {
      return to_host(matmul(scale(counted({m, k}), 0.01f), scale(counted({k, n}), 0.01f)));
    };
  };
  expect_near("rows", product(300, 5, 70), 1e-2);
  expect_near("columns", product(3, 33, 193), 1e-2);
  expect_near("both", product(197, 7, 449), 1e-1);
  expect_near("columns of whole tiles", product(1, 1, 640), 1e-2);
}

// Dispatches of recordings are divided as well.
TEST_F(VulkanAsync, RecordedOperationsOfMoreGroupsThanADispatchHas) {
  expect_same("sum of columns", []() -> Task<std::vector<float>> {
    auto step = co_await record(
        [](Shared<Tensor<float>> x, Tensor<float> y) { return sum(x, 0, std::move(y)); },
        Shape{3, 2000}, Shape{2000});
    auto [x, y] =
        co_await step.replay(co_await (counted({3, 2000}) | share), co_await empty<float>(2000));
    co_return co_await to_host(std::move(y));
  });
}

}  // namespace
}  // namespace halyard::vulkan
