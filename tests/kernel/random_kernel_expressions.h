// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws the expressions of random kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel/random_kernel.h"
#include "simulation/random.h"

namespace halyard::testing::random_kernel {

using sim::Random;

class ExpressionDraw {
 protected:
  explicit ExpressionDraw(Random random) : random_(random) {}

  template <class T, std::size_t N>
  T pick(const T (&all)[N]) {
    return all[random_.below(N)];
  }

  // Types: number() of elements of shared and private storage, any() of variables.
  Type whole32();
  Type whole();
  Type number();
  Type floating();
  Type any();

  // Expressions of a type; `depth` bounds how deep they are.
  E variable(Type type);
  E index(std::uint32_t count, int depth);
  E constant(Type type);
  E place();
  E leaf(Type type);
  E array_element(Type type);
  E load(Type type);
  E condition(int depth);
  E mask(Type type, int depth);
  E value(Type type, int depth);
  E whole(Type type, int depth);
  E quotient(Type type, int depth);
  E operand(const E& a, bool may_be_literal);
  E opaque(const E& a);
  E real(Type type, int depth);
  E call(Type type, int depth);
  E call_of(std::uint32_t id, int depth);

  Random random_;
  Kernel k_;
  bool in_function_ = false, has_private_ = false;
  std::array<bool, kShared> writes_shared_{}, reads_shared_{};  // of the group's arrays, in a block
  std::vector<std::uint32_t> scope_, assignable_;               // variables in sight
  std::vector<std::uint32_t> arrays_;
};

}  // namespace halyard::testing::random_kernel
