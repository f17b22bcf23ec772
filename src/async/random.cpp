// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/random.h"

#include "async/shipped.h"
#include "base/format.h"
#include "halyard/async/detail/operations.h"

namespace halyard::inline v0::async::detail {
namespace {

constexpr KernelParameter kRandom[] = {kOutput, kSize, kSize, kSize, kSize, kSize, kSize, kSize};

}  // namespace

Result<Tensor<float>> random(Context& context, const char* function, const char* kernel,
                             const Shape& shape, std::uint64_t seed) {
  constexpr std::uint64_t kEach = 1024;  // elements of a group in random.hyk
  HALYARD_RETURN_IF_ERROR(check_size(function, shape.elements()));
  HALYARD_ASSIGN_OR_RETURN(Tensor<float> result, allocate_tensor<float>(context, shape));
  const std::uint32_t zero = 0, low = to_size(seed), high = to_size(seed >> 32);
  HALYARD_RETURN_IF_ERROR(
      launch_elements<kEach>(context, result.size(), [&](std::uint64_t first, std::uint64_t n) {
        return launch_flat(context, {kernel, "random", kRandom, true},
                           {behind(result.memory(), first * sizeof(float))},
                           {to_size(first / 4), zero, zero, zero, low, high, to_size(n)},
                           {.groups = (n + kEach - 1) / kEach});
      }));
  return result;
}

}  // namespace halyard::inline v0::async::detail
