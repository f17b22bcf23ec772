// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of tensor parameters are at the offsets that the kernel uses, on this device.
#include <array>

#include "kernel/shipped_kernels.h"

namespace halyard::testing {
namespace {

using Extents = std::array<std::uint32_t, 3>;

constexpr std::uint32_t kFactor = 1000003;

// Runs `kernel` with tensors of this rank, whose rows (and planes) have gaps. `order` is the order
// of the parameters: 's' the scalar, 'x' the input, 'y' the output.
void expect_all_elements(const char* kernel, std::size_t rank, Extents size, Extents tile,
                         bool run_time_tile, std::string_view order) {
  SCOPED_TRACE(kernel);
  // Strides by dimension; the input's and the output's differ.
  const auto strides = [&](std::uint32_t gap) {
    Extents stride = {1, 1, 1};
    for (std::size_t d = rank - 1; d-- > 0;) stride[d] = stride[d + 1] * size[d + 1] + gap;
    return stride;
  };
  const Extents in = strides(3), out = strides(5);
  const Array<std::uint32_t> x(random_uints(in[0] * size[0], 1)), y(out[0] * size[0]);

  std::vector<hal::Constant> constants;
  for (const char parameter : order) {
    if (parameter == 's') {
      constants.push_back(kFactor);
      continue;
    }
    const Extents& stride = parameter == 'x' ? in : out;
    for (std::size_t d = 0; d < rank; ++d) constants.push_back(size[d]);
    for (std::size_t d = 0; d + 1 < rank; ++d) constants.push_back(stride[d]);
    for (std::size_t d = 0; d < rank && run_time_tile && parameter == 'y'; ++d) {
      constants.push_back(tile[d]);
    }
  }
  const auto groups = [&](std::size_t d) { return d < rank ? groups_of(tile[d], size[d]) : 1u; };
  // Group x belongs to the last dimension.
  const hal::Grid::Extent grid{groups(rank - 1), rank > 1 ? groups(rank - 2) : 1,
                               rank > 2 ? groups(rank - 3) : 1};
  Shipped("tensors").run(kernel, grid, {x, y}, constants);

  std::vector<std::uint32_t> want(out[0] * size[0], Array<std::uint32_t>::kUntouched);
  const std::vector<std::uint32_t> from = x.values();
  std::uint32_t index = 0;
  const Extents whole = {size[0], rank > 1 ? size[1] : 1, rank > 2 ? size[2] : 1};
  for (std::uint32_t i = 0; i < whole[0]; ++i) {
    for (std::uint32_t j = 0; j < whole[1]; ++j) {
      for (std::uint32_t k = 0; k < whole[2]; ++k, ++index) {
        want[i * out[0] + j * out[1] + k * out[2]] =
            kFactor * from[i * in[0] + j * in[1] + k * in[2]] + index;
      }
    }
  }
  EXPECT_EQ(y.values(), want);
}

TEST(TensorPacking, OfOneDimension) {
  expect_all_elements("static1", 1, {1000}, {48}, false, "sxy");
  expect_all_elements("run_time1", 1, {1000}, {7}, true, "xsy");
}

TEST(TensorPacking, OfTwoDimensions) {
  expect_all_elements("static2", 2, {33, 100}, {4, 24}, false, "xys");
  expect_all_elements("run_time2", 2, {33, 100}, {5, 9}, true, "sxy");
}

TEST(TensorPacking, OfThreeDimensions) {
  expect_all_elements("static3", 3, {5, 7, 50}, {2, 3, 16}, false, "xsy");
  expect_all_elements("run_time3", 3, {5, 7, 50}, {3, 2, 11}, true, "xys");
}

}  // namespace
}  // namespace halyard::testing
