// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes expressions of random kernels, with the ranges of integers.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernel/random_kernel.h"

namespace halyard::testing::random_kernel {

inline E make(Expression e) {
  if (!is_float(e.type) && e.range.least == 0 && e.range.most == 0 && e.op != Op::kLiteral) {
    e.range = range_of(e.type);
  }
  return std::make_shared<const Expression>(std::move(e));
}

inline E literal(Type type, std::uint64_t value) {
  const Wide number = is_signed(type) ? Wide{static_cast<std::int64_t>(value)} : Wide{value};
  return make({.op = Op::kLiteral, .type = type, .value = value, .range = {number, number}});
}
inline E uint_literal(std::uint64_t value) { return literal(Type::kUint, value); }

inline E ranged(Op op, Type type, Range range, std::vector<E> of) {
  return make({.op = op, .type = type, .range = range, .of = std::move(of)});
}

inline E compared(Op op, std::vector<E> of) {
  return ranged(op, Type::kInt, {0, 1}, std::move(of));
}

// The result is in `exact` if nothing overflows. Otherwise it wraps by unsigned arithmetic and may
// be any value.
inline E computed(Op op, Type type, Range exact, std::vector<E> of) {
  const Range all = range_of(type);
  const bool fits = all.holds(exact);
  return make({.op = op,
               .type = type,
               .wraps = is_signed(type) && !fits,
               .range = fits ? exact : all,
               .of = std::move(of)});
}

inline E add(const E& a, const E& b) {
  return computed(Op::kAdd, a->type,
                  {a->range.least + b->range.least, a->range.most + b->range.most}, {a, b});
}
inline E subtract(const E& a, const E& b) {
  return computed(Op::kSubtract, a->type,
                  {a->range.least - b->range.most, a->range.most - b->range.least}, {a, b});
}
inline E multiply(const E& a, const E& b) {
  // Products of 64-bit numbers may leave what Range holds.
  const auto size = [](const E& e) { return std::max(-e->range.least, e->range.most); };
  const Wide limit = Wide{1} << 62;
  Range exact = range_of(Type::kUlong);
  exact.least = -exact.most;
  if (size(a) < limit && size(b) < limit) {
    const Wide all[] = {a->range.least * b->range.least, a->range.least * b->range.most,
                        a->range.most * b->range.least, a->range.most * b->range.most};
    exact = {*std::min_element(all, all + 4), *std::max_element(all, all + 4)};
  }
  return computed(Op::kMultiply, a->type, exact, {a, b});
}
inline E bits(Op op, const E& a, const E& b) {
  Range range = range_of(a->type);
  const Wide least = std::min(a->range.least, b->range.least);
  if (op == Op::kAnd && a->range.least >= 0) range = {0, a->range.most};
  if (op == Op::kAnd && b->range.least >= 0) {
    range = {0, range.least == 0 ? std::min(range.most, b->range.most) : b->range.most};
  }
  if (op != Op::kAnd && least >= 0) {
    Wide most = 1;
    while (most <= std::max(a->range.most, b->range.most)) most *= 2;
    range = {0, most - 1};
  }
  return ranged(op, a->type, range, {a, b});
}
// Shifts right by a literal or a masked number.
inline E right(const E& a, const E& by) {
  return ranged(Op::kRight, a->type, {std::min<Wide>(a->range.least, 0),
                                      std::max<Wide>(a->range.most, 0)}, {a, by});
}
inline E left(const E& a, const E& by) {
  return make({.op = Op::kLeft, .type = a->type, .wraps = is_signed(a->type), .of = {a, by}});
}
inline E shift_by(Type type, const E& by) {
  return bits(Op::kAnd, by, uint_literal(is_long(type) ? 63 : 31));
}
inline E negate(const E& a) {
  if (is_float(a->type)) return make({.op = Op::kNegate, .type = a->type, .of = {a}});
  return computed(Op::kNegate, a->type, {-a->range.most, -a->range.least}, {a});
}
inline E complement(const E& a) {
  const Range all = range_of(a->type);
  const Range range = is_signed(a->type)
                          ? Range{-1 - a->range.most, -1 - a->range.least}
                          : Range{all.most - a->range.most, all.most - a->range.least};
  return ranged(Op::kComplement, a->type, range, {a});
}
inline E convert(const E& a, Type to) {
  if (a->type == to) return a;
  Range range = is_float(to) ? Range{} : range_of(to);
  if (!is_float(to) && !is_float(a->type) && range.holds(a->range)) range = a->range;
  return ranged(Op::kConvert, to, range, {a});
}
inline E narrow(const E& a, Element to) {
  const Range range = range_of(to);
  return make({.op = Op::kNarrow,
               .type = to == Element::kHalf ? Type::kFloat : Type::kInt,
               .narrow = to,
               .range = range.holds(a->range) && to != Element::kBool ? a->range : range,
               .of = {a}});
}
inline E select(const E& condition, const E& a, const E& b) {
  return ranged(Op::kSelect, a->type, {std::min(a->range.least, b->range.least),
                                       std::max(a->range.most, b->range.most)},
                {condition, a, b});
}

}  // namespace halyard::testing::random_kernel
