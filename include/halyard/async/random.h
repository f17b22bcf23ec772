// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random numbers of float: rand uniform in [0, 1), a multiple of 2^-24; randn of the standard
// normal distribution, from -6.34 to 6.34.
//
// Element i depends only on i and the seed: it is computed from word i % 4 of Philox4x32-10 (Salmon
// et al., SC 2011) for the counter i / 4 and the key `seed` (kernels/random.hyk). So it depends on
// no device, queue, target or number of threads, nor on the size of the tensor. rand and randn use
// the same words: use another seed for each tensor. Not for cryptography.
//
// kOutOfRange for more than 2^31 - 1 elements.
#pragma once

#include <cstdint>
#include <type_traits>

#include "halyard/async/context.h"
#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

namespace detail {

// Runs `kernel` of random.hyk. `function` was called; for messages.
HALYARD_EXPORT Result<Tensor<float>> random(Context& context, const char* function,
                                            const char* kernel, const Shape& shape,
                                            std::uint64_t seed);

struct CallRandom {
  Result<Tensor<float>> operator()(Context& context) const {
    return random(context, function, kernel, shape, seed);
  }
  const char* function;
  const char* kernel;
  Shape shape;
  std::uint64_t seed;
};

}  // namespace detail

template <Element T>
auto rand(const Shape& shape, std::uint64_t seed) {
  static_assert(std::is_same_v<T, float>, "rand, randn: numbers of float");
  return detail::operation(detail::CallRandom{"rand", "random_uniform", shape, seed});
}
template <Element T>
auto randn(const Shape& shape, std::uint64_t seed) {
  static_assert(std::is_same_v<T, float>, "rand, randn: numbers of float");
  return detail::operation(detail::CallRandom{"randn", "random_normal", shape, seed});
}

}  // namespace halyard::inline v0::async
