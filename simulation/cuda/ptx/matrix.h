// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes and elements of matrix instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "simulation/cuda/ptx/lowering.h"

namespace halyard::inline v0::sim::ptx {

enum class Element : std::uint8_t {
  kHalf,
  kBfloat,
  kTfloat,
  kSingle,
  kDouble,
  kInteger,
  kS8,
  kU8,
  kS4,
  kU4,
  kB1
};

// d = a * b + c, a of m x k and b of k x n elements.
struct Shape {
  std::uint16_t m = 0, n = 0, k = 0;
  Element a{}, b{}, c{}, d{};
  bool saturates = false;
  bool is_xor = false;  // b1: xor and popc, not and and popc
  bool operator==(const Shape&) const = default;
};

unsigned bits_of(Element element);
bool take_shape(Lowering& lowering, Shape& shape);
bool lower_wmma(Lowering& lowering);
bool take_element(Lowering& lowering, Element& element);    // the next modifier that is an element
std::optional<std::size_t> find_shape(const Shape& shape);  // nullopt: no such instruction
const Shape* shape_of(std::int64_t index);

}  // namespace halyard::inline v0::sim::ptx
