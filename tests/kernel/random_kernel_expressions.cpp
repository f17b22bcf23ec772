// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel/random_kernel_expressions.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "kernel/random_kernel_build.h"

namespace halyard::testing::random_kernel {

Type ExpressionDraw::whole32() { return random_.one_in(3) ? Type::kInt : Type::kUint; }
Type ExpressionDraw::whole() {
  if (k_.wide && random_.one_in(3)) return random_.one_in(2) ? Type::kLong : Type::kUlong;
  return whole32();
}
// Types of elements of shared and private storage.
Type ExpressionDraw::number() {
  const auto r = random_.below(6);
  return r < 3 ? whole32() : r < 5 || !k_.wide ? Type::kFloat : Type::kDouble;
}
Type ExpressionDraw::floating() {
  return k_.wide && random_.one_in(3) ? Type::kDouble : Type::kFloat;
}
Type ExpressionDraw::any() { return random_.one_in(3) ? floating() : whole(); }

E ExpressionDraw::variable(Type type) {
  std::vector<std::uint32_t> of_type;
  for (const std::uint32_t id : scope_) {
    if (k_.variables[id] == type) of_type.push_back(id);
  }
  if (of_type.empty()) return nullptr;
  const std::uint32_t id = of_type[random_.below(of_type.size())];
  return make({.op = Op::kVariable, .type = type, .id = id});
}

E ExpressionDraw::index(std::uint32_t count, int depth) {
  if (count == 1) return uint_literal(0);
  if (random_.one_in(4)) return uint_literal(random_.below(count));
  const E at = depth <= 0 ? place() : whole(Type::kUint, depth);
  if (std::has_single_bit(count) && random_.one_in(2)) {
    return bits(Op::kAnd, at, uint_literal(count - 1));
  }
  return ranged(Op::kRemainder, Type::kUint, {0, count - 1}, {at, uint_literal(count)});
}

E ExpressionDraw::constant(Type type) {
  if (is_float(type)) {
    static constexpr double kNumbers[] = {1, -1, 2, 0.5, 3, -7.25, 255, 65536, 4294967296.0, 1e-3,
                                          1e10, 16777217, -2147483648.0, 0.1};
    // operand() ensures that a 0 is not an operand of arithmetic.
    const double x = random_.one_in(12) ? (random_.one_in(2) ? -0.0 : 0.0) : pick(kNumbers);
    if (type == Type::kDouble) return literal(type, std::bit_cast<std::uint64_t>(x));
    return literal(type, std::bit_cast<std::uint32_t>(static_cast<float>(x)));
  }
  static constexpr std::int64_t kNumbers[] = {0, 1, 2, 3, 5, 7, 8, 31, 127, 128, 255, 256, 32767,
                                              65535, 65536, 0x7fffffff, 0x12345678};
  std::int64_t x = pick(kNumbers);
  if (random_.one_in(4)) x = -x;
  if (is_long(type) && random_.one_in(3)) x = static_cast<std::int64_t>(random_.next());
  if (type == Type::kUint) return literal(type, static_cast<std::uint32_t>(x));
  return literal(type, static_cast<std::uint64_t>(x));
}

// The item's position, or a number that needs no load.
E ExpressionDraw::place() {
  if (random_.one_in(3) || in_function_) {
    E found = variable(Type::kUint);
    if (found != nullptr) return found;
    if (in_function_) return constant(Type::kUint);
  }
  const Wide items = k_.items(), groups = k_.groups;
  switch (random_.below(5)) {
    case 0:
      return make({.op = Op::kItem, .type = Type::kUint, .range = {0, items}});
    case 1:
      return make({.op = Op::kGroup, .type = Type::kUint, .range = {0, groups}});
    case 2:
      return make({.op = Op::kScalar, .type = Type::kUint, .id = 1, .range = {0, 40}});
    default:
      return make({.op = Op::kGlobal, .type = Type::kUint, .range = {0, items * groups}});
  }
}

// A value that varies, from memory or the item's place.
E ExpressionDraw::leaf(Type type) {
  if (random_.one_in(5)) return constant(type);
  if (random_.one_in(2)) {
    if (E found = variable(type); found != nullptr) return found;
  }
  if (in_function_) {
    E found = random_.one_in(2) ? array_element(type) : nullptr;
    if (found == nullptr) found = variable(type);
    return found != nullptr ? found : constant(type);
  }
  if (type == Type::kUint && random_.one_in(5)) return place();
  if (random_.one_in(8) && !is_long(type) && type != Type::kUint) {
    const std::uint32_t id = type == Type::kInt ? 2 : type == Type::kFloat ? 3 : 4;
    return make({.op = Op::kScalar, .type = type, .id = id});
  }
  return load(type);
}

E ExpressionDraw::array_element(Type type) {
  for (const std::uint32_t id : arrays_) {
    if (type != k_.array_types[id] || random_.one_in(2)) continue;
    return make({.op = Op::kArray, .type = type, .id = id, .of = {index(k_.array_sizes[id], 0)}});
  }
  return nullptr;
}

E ExpressionDraw::load(Type type) {
  std::vector<E> all;
  const E at = index(kInputs, 0);
  const auto input = [&](std::uint32_t id) {
    all.push_back(make({.op = Op::kInput, .type = type, .id = id, .of = {at}}));
  };
  if (type == Type::kUint) input(0);
  if (type == Type::kInt) input(1);
  if (type == Type::kFloat) input(2);
  if (type == Type::kDouble) input(4);
  if (type == (k_.narrow_in == Element::kHalf ? Type::kFloat : Type::kInt)) {
    all.push_back(make({.op = Op::kInput, .type = type, .id = 3,
                        .range = range_of(k_.narrow_in), .of = {at}}));
  }
  if (has_private_ && type == k_.private_type) {
    for (int i = 0; i < 2; ++i) {
      all.push_back(
          make({.op = Op::kPrivate, .type = type, .of = {index(k_.private_count, 0)}}));
    }
  }
  for (std::uint32_t i = 0; i < kShared; ++i) {
    if (!reads_shared_[i] || type != k_.shared_types[i]) continue;
    const std::uint32_t count = i + 1 == kShared ? kBins : k_.shared_count;
    all.push_back(make({.op = Op::kShared, .type = type, .id = i, .of = {index(count, 0)}}));
  }
  if (E found = array_element(type); found != nullptr) all.push_back(std::move(found));
  if (all.empty()) return convert(load(random_.one_in(2) ? Type::kUint : Type::kInt), type);
  return all[random_.below(all.size())];
}

// 0 or 1, an int.
E ExpressionDraw::condition(int depth) {
  static constexpr Op kCompare[] = {Op::kLess, Op::kLessEqual, Op::kGreater, Op::kGreaterEqual,
                                    Op::kEqual, Op::kUnequal, Op::kEqual};
  switch (depth <= 0 ? 0 : random_.below(7)) {
    case 1:
      return compared(random_.one_in(2) ? Op::kBoth : Op::kEither,
                      {condition(depth - 1), condition(depth - 1)});
    case 2:
      return compared(Op::kNot, {value(whole(), depth - 1)});
    case 3: {
      const Type type = floating();
      return compared(pick(kCompare), {value(type, depth - 1), value(type, depth - 1)});
    }
    case 4: {
      const E by = uint_literal(random_.below(32));
      return convert(bits(Op::kAnd, right(whole(Type::kUint, depth - 1), by), uint_literal(1)),
                     Type::kInt);
    }
    default: {
      const Type type = whole();
      const E a = value(type, depth - 1);
      return compared(pick(kCompare), {a, random_.one_in(2) ? constant(type)
                                                            : value(type, depth - 1)});
    }
  }
}

// All bits 0 or 1, or almost: a comparison turned into a number.
E ExpressionDraw::mask(Type type, int depth) {
  const E c = convert(condition(depth), type);
  const E is_not = convert(compared(Op::kNot, {c}), type);
  switch (random_.below(8)) {
    case 0:
      return subtract(c, literal(type, 1));
    case 1:
      return negate(c);
    case 2:
      return complement(is_not);
    case 3:
      return complement(c);
    case 4:
      return multiply(c, constant(type));
    case 5:
      return left(c, uint_literal(random_.below(is_long(type) ? 64 : 32)));
    case 6:
      return add(c, constant(type));
    default:
      return bits(Op::kAnd, negate(c), value(type, depth - 1));
  }
}

E ExpressionDraw::value(Type type, int depth) {
  return is_float(type) ? real(type, depth) : whole(type, depth);
}

E ExpressionDraw::whole(Type type, int depth) {
  if (depth <= 0) return leaf(type);
  const auto next = [&] { return whole(type, depth - 1); };
  switch (random_.below(24)) {
    case 0:
    case 1:
      return add(next(), next());
    case 2:
      return subtract(next(), next());
    case 3:
      return multiply(next(), next());
    case 4: {
      static constexpr Op kBitwise[] = {Op::kAnd, Op::kOr, Op::kXor};
      const E a = next();
      return bits(pick(kBitwise), a, next());
    }
    case 5:
      return left(next(), shift_by(type, whole(Type::kUint, depth - 1)));
    case 6:
      return right(next(), shift_by(type, whole(Type::kUint, depth - 1)));
    case 7:
      return right(next(), uint_literal(random_.below(is_long(type) ? 64 : 32)));
    case 8:
      return quotient(type, depth);
    case 9:
    case 10:
    case 11:
      return mask(type, depth - 1);
    case 12: {
      const E c = condition(depth - 1);
      const E a = next();
      return select(c, a, next());
    }
    case 13:
      return random_.one_in(2) ? negate(next()) : complement(next());
    case 14:
    case 15: {
      static constexpr Element kTo[] = {Element::kBool, Element::kChar, Element::kUchar,
                                        Element::kShort, Element::kUshort};
      return convert(narrow(value(whole(), depth - 1), pick(kTo)), type);
    }
    case 16:
      return convert(value(any(), depth - 1), type);
    case 17:
    case 18:
      if (type == Type::kUint) {
        return make({.op = Op::kBits, .type = type, .of = {real(Type::kFloat, depth - 1)}});
      }
      if (type == Type::kUlong) {
        return make({.op = Op::kBits, .type = type, .of = {real(Type::kDouble, depth - 1)}});
      }
      return convert(next(), type);
    case 19:
      if (type == Type::kUint) {
        return ranged(Op::kMulHigh, type, range_of(type), {next(), next()});
      }
      if (type != Type::kInt) return next();
      return ranged(Op::kPopcount, type, {0, 32}, {whole(Type::kUint, depth - 1)});
    case 20:
      if (is_long(type)) return next();
      {
        const E a = next();
        const E b = next();
        // The range of both operands bounds the result well enough.
        return ranged(random_.one_in(2) ? Op::kMin : Op::kMax, type,
                      {std::min(a->range.least, b->range.least),
                       std::max(a->range.most, b->range.most)},
                      {a, b});
      }
    case 21:
      return call(type, depth);
    default:
      return leaf(type);
  }
}

E ExpressionDraw::quotient(Type type, int depth) {
  const Op op = random_.one_in(2) ? Op::kDivide : Op::kRemainder;
  E a = whole(type, depth - 1);
  // The least value, divided by -1, would overflow.
  if (is_signed(type)) a = right(a, uint_literal(1));
  if (is_signed(type)) {
    const Wide half = range_of(type).most / 2;
    Expression bounded = *a;
    bounded.range = {std::max(a->range.least, -half - 1), std::min(a->range.most, half)};
    a = make(std::move(bounded));
  }
  const E b = whole(type, depth - 1);
  Expression e{.op = op, .type = type, .divisor = Divisor::kOdd, .of = {a, b}};
  if (random_.one_in(3)) {
    e.divisor = Divisor::kChecked;
    e.of.push_back(constant(type));
  }
  return make(std::move(e));
}

// Lavapipe of Mesa 22.3 folds products and quotients with a constant 0 to 0, and ignores the sign
// of a constant 0 in a sum. x - x and x / x of the same x may not be numbers either. So operands in
// shaders are loads, sums and products, or have their last bit set at run time.
E ExpressionDraw::operand(const E& a, bool may_be_literal) {
  if (k_.wide || a->type != Type::kFloat) return a;
  const bool is_number = a->op == Op::kLiteral && a->value << 33 != 0;
  const bool is_computed = a->op == Op::kAdd || a->op == Op::kSubtract || a->op == Op::kMultiply;
  if ((is_number && may_be_literal) || a->op == Op::kInput || is_computed) return a;
  if (in_function_ && a->op == Op::kVariable) return a;
  return opaque(a);
}
E ExpressionDraw::opaque(const E& a) {
  if (k_.wide || in_function_) return a;
  return make({.op = Op::kOpaque, .type = Type::kFloat, .of = {a}});
}

E ExpressionDraw::real(Type type, int depth) {
  if (depth <= 0) return leaf(type);
  const auto next = [&] { return real(type, depth - 1); };
  const auto made = [&](Op op, std::vector<E> of) {
    return make({.op = op, .type = type, .of = std::move(of)});
  };
  // In a shader's function the operands would be unknown.
  const bool computes = k_.wide || !in_function_;
  switch (random_.below(20)) {
    case 0:
    case 1:
      if (!computes) return leaf(type);
      return made(Op::kAdd, {operand(next(), true), opaque(next())});
    case 2:
      if (!computes) return leaf(type);
      return made(Op::kSubtract, {operand(next(), true), opaque(next())});
    case 3:
    case 4:
      if (!computes) return leaf(type);
      return made(Op::kMultiply, {operand(next(), true), opaque(next())});
    case 5:
      if (!computes) return leaf(type);
      return made(Op::kDivide, {operand(next(), true), opaque(next())});
    case 6:
      return negate(next());
    case 7:
      return made(random_.one_in(2) ? Op::kAbs : Op::kFloor, {next()});
    case 8:
      return made(random_.one_in(2) ? Op::kMin : Op::kMax, {next(), next()});
    case 9:
      if (random_.one_in(2)) return made(Op::kSqrt, {next()});
      return made(Op::kCopySign, {next(), next()});
    case 10: {
      const E c = condition(depth - 1);
      const E a = next();
      return select(c, a, next());
    }
    case 11:
      return convert(narrow(real(floating(), depth - 1), Element::kHalf), type);
    case 12:
      return made(Op::kOfBits,
                  {whole(type == Type::kFloat ? Type::kUint : Type::kUlong, depth - 1)});
    case 13:
      return call(type, depth);
    case 14:
      return leaf(type);
    case 15:
      return convert(real(floating(), depth - 1), type);
    case 16:
    case 17:
      return convert(mask(whole(), depth - 1), type);
    default:
      return convert(whole(whole(), depth - 1), type);
  }
}

E ExpressionDraw::call(Type type, int depth) {
  std::vector<std::uint32_t> of_type;
  for (std::uint32_t i = 0; i < k_.functions.size(); ++i) {
    if (k_.functions[i].type == type) of_type.push_back(i);
  }
  if (of_type.empty() || in_function_) return leaf(type);
  return call_of(of_type[random_.below(of_type.size())], depth);
}
E ExpressionDraw::call_of(std::uint32_t id, int depth) {
  std::vector<E> arguments;
  for (const std::uint32_t parameter : k_.functions[id].parameters) {
    arguments.push_back(value(k_.variables[parameter], depth - 1));
  }
  return make({.op = Op::kCall, .type = k_.functions[id].type, .id = id,
               .of = std::move(arguments)});
}

}  // namespace halyard::testing::random_kernel
