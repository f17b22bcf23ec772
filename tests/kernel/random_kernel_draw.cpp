// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws a kernel from a seed. Ranges of integers are known, so that a signed operation which cannot
// overflow is written as such, and others by unsigned ones.
#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "kernel/random_kernel.h"
#include "kernel/random_kernel_build.h"
#include "kernel/random_kernel_expressions.h"

namespace halyard::testing::random_kernel {
namespace {

class Draw : ExpressionDraw {
 public:
  explicit Draw(std::uint64_t seed) : ExpressionDraw(Random(Random::mix(seed) ^ 0x6b65'726e)) {
    k_.seed = seed;
  }

  Kernel run() {
    k_.wide = random_.one_in(3);
    static constexpr std::pair<std::uint32_t, std::uint32_t> kSizes[] = {
        {1, 1}, {3, 1}, {8, 1}, {16, 1}, {33, 1}, {64, 1}, {8, 4}, {5, 3}};
    std::tie(k_.nx, k_.ny) = pick(kSizes);
    k_.groups = static_cast<std::uint32_t>(random_.between(1, 3));
    k_.shared_count = k_.items();
    k_.private_count = static_cast<std::uint32_t>(random_.between(2, 5));
    k_.private_type = number();
    k_.shared_types = {whole32(), number(), whole32()};
    static constexpr Element kNarrow[] = {Element::kChar, Element::kUchar, Element::kShort,
                                          Element::kUshort, Element::kHalf};
    k_.narrow_in = pick(kNarrow);
    k_.narrow_out = pick(kNarrow);
    k_.scalars.n = static_cast<std::uint32_t>(random_.between(1, 40));
    k_.scalars.m = static_cast<std::int32_t>(random_.next());
    k_.scalars.s = static_cast<float>(random_.between(1, 1000)) * 0.37f;
    k_.scalars.d = static_cast<double>(random_.between(1, 1000)) * -0.37;
    counters_op_ = buffer_op_ = Op::kAdd;
    buffer_op_ = pick(kAtomicOps);

    in_function_ = true;
    for (std::uint64_t i = random_.between(1, 3); i > 0; --i) function();
    in_function_ = false;

    first_block();
    for (std::uint64_t i = random_.between(0, 2); i > 0; --i) group_statement(2);
    last_block();
    return std::move(k_);
  }

 private:
  static constexpr Op kAtomicOps[] = {Op::kAdd, Op::kAnd, Op::kOr, Op::kXor, Op::kMin, Op::kMax};

  // ---- Statements -----------------------------------------------------------------------------

  std::uint32_t new_variable(Type type) {
    k_.variables.push_back(type);
    return static_cast<std::uint32_t>(k_.variables.size() - 1);
  }

  std::vector<Statement> statements(std::uint64_t count, int depth) {
    const auto variables = scope_.size(), assignable = assignable_.size(), arrays = arrays_.size();
    std::vector<Statement> all;
    for (; count > 0; --count) statement(all, depth);
    scope_.resize(variables);
    assignable_.resize(assignable);
    arrays_.resize(arrays);
    return all;
  }

  void declare(std::vector<Statement>& all, const E& first) {
    const std::uint32_t id = new_variable(first->type);
    all.push_back({.kind = Kind::kDeclare, .id = id, .type = first->type, .e = {first}});
    scope_.push_back(id);
    assignable_.push_back(id);
  }

  void statement(std::vector<Statement>& all, int depth) {
    switch (random_.below(in_function_ ? 10 : 20)) {
      case 0:
      case 1:
        return declare(all, value(any(), 3));
      case 2:
      case 3: {
        if (assignable_.empty()) return declare(all, value(any(), 3));
        const std::uint32_t id = assignable_[random_.below(assignable_.size())];
        const Type type = k_.variables[id];
        static constexpr Op kOps[] = {Op::kAdd, Op::kSubtract, Op::kMultiply,
                                      Op::kAnd, Op::kOr,       Op::kXor};
        if (!is_float(type) && !is_signed(type) && random_.one_in(2)) {
          all.push_back({.kind = Kind::kCompound, .id = id, .type = type, .op = pick(kOps),
                         .e = {value(type, 3)}});
        } else {
          all.push_back({.kind = Kind::kAssign, .id = id, .type = type, .e = {value(type, 3)}});
        }
        return;
      }
      case 4:
      case 5: {
        if (depth <= 0) return declare(all, value(any(), 2));
        Statement s{.kind = Kind::kIf, .e = {condition(2)}};
        s.bodies.push_back(statements(random_.between(1, 2), depth - 1));
        s.bodies.push_back(statements(random_.below(3), depth - 1));
        all.push_back(std::move(s));
        return;
      }
      case 6:
        return loop(all, depth);
      case 7: {
        if (depth <= 0) return;
        const auto cases = static_cast<std::uint32_t>(random_.between(2, 4));
        Statement s{.kind = Kind::kSwitch, .e = {index(cases + 1, 2)}};
        const bool in_loop = std::exchange(in_loop_, false);
        for (std::uint32_t i = 0; i < cases; ++i) {
          s.bodies.push_back(statements(random_.below(3), depth - 1));
          if (i + 1 < cases && random_.one_in(4)) s.falls_through |= 1u << i;
        }
        in_loop_ = in_loop;
        all.push_back(std::move(s));
        return;
      }
      case 8:
        if (in_loop_) {
          all.push_back({.kind = random_.one_in(2) ? Kind::kBreakIf : Kind::kContinueIf,
                         .e = {condition(2)}});
        } else if (in_function_ && is_return_possible_) {
          all.push_back({.kind = Kind::kReturnIf, .e = {condition(2), value(function_type_, 2)}});
        }
        return;
      case 9:
        return local_array(all);
      case 10:
      case 11:
        return scatter(all);
      case 12: {
        if (!has_private_) return;
        const E at = index(k_.private_count, 2);
        all.push_back({.kind = Kind::kStorePrivate, .e = {at, value(k_.private_type, 3)}});
        return;
      }
      case 13:
        return shared(all);
      case 14:
      case 15:
        return row(all);
      case 16: {
        const Type type = whole32();
        if (atomics_in_block_ && k_.shared_types[kShared - 1] == type) {
          all.push_back({.kind = Kind::kAtomicShared, .type = type, .op = counters_op_,
                         .e = {index(kBins, 2), atomic_operand(type)}});
        } else {
          all.push_back({.kind = Kind::kAtomicBuffer, .type = Type::kUint, .op = buffer_op_,
                         .e = {index(kBins, 2), atomic_operand(Type::kUint)}});
        }
        return;
      }
      default:
        return output(all, uint_literal(random_.below(kSlots)));
    }
  }

  // Lavapipe does not add the bits of a computed float atomically, but does add the sum of these
  // bits and a number.
  E atomic_operand(Type type) {
    const E one = make({.op = Op::kScalar, .type = Type::kUint, .id = 0});
    return add(whole(type, 2), convert(one, type));
  }

  void loop(std::vector<Statement>& all, int depth) {
    if (depth <= 0) return;
    static constexpr Kind kLoops[] = {Kind::kFor, Kind::kFor, Kind::kWhile, Kind::kDo};
    const Kind kind = pick(kLoops);
    E count = uint_literal(random_.between(1, 5));
    if (random_.one_in(2)) count = bits(Op::kAnd, whole(Type::kUint, 2), uint_literal(3));
    // A bound that a for-loop evaluates again may not change.
    const std::uint32_t id = new_variable(Type::kUint);
    if (kind == Kind::kFor && count->op != Op::kLiteral) {
      const std::uint32_t bound = new_variable(Type::kUint);
      all.push_back({.kind = Kind::kDeclare, .id = bound, .type = Type::kUint, .e = {count}});
      count = make({.op = Op::kVariable, .type = Type::kUint, .id = bound});
    }
    Statement s{.kind = kind, .id = id, .e = {count}};
    const bool in_loop = std::exchange(in_loop_, true);
    // `continue` is allowed: in a do-loop it goes to the condition, which counts.
    scope_.push_back(id);
    s.bodies.push_back(statements(random_.between(1, 3), depth - 1));
    scope_.pop_back();
    in_loop_ = in_loop;
    all.push_back(std::move(s));
  }

  void local_array(std::vector<Statement>& all) {
    if (arrays_.empty() || random_.one_in(3)) {
      const Type type = any();
      Statement s{.kind = Kind::kDeclareArray, .type = type};
      s.id = static_cast<std::uint32_t>(k_.array_sizes.size());
      for (std::uint64_t i = random_.between(2, 5); i > 0; --i) s.e.push_back(value(type, 2));
      k_.array_sizes.push_back(static_cast<std::uint32_t>(s.e.size()));
      k_.array_types.push_back(type);
      // Cases of a switch have braces, so an array may be declared there.
      arrays_.push_back(s.id);
      all.push_back(std::move(s));
      return;
    }
    const std::uint32_t id = arrays_[random_.below(arrays_.size())];
    const E at = index(k_.array_sizes[id], 2);
    all.push_back(
        {.kind = Kind::kStoreArray, .id = id, .e = {at, value(k_.array_types[id], 3)}});
  }

  // Computes a value and others from it, and stores them at indices that depend on it.
  void scatter(std::vector<Statement>& all) {
    if (!has_private_) return;
    declare(all, random_.one_in(2)
                     ? make({.op = Op::kBits, .type = Type::kUint,
                             .of = {convert(mask(whole(), 1), Type::kFloat)}})
                     : whole(Type::kUint, 3));
    const E b = make({.op = Op::kVariable, .type = Type::kUint, .id = all.back().id});
    const E values[] = {b, right(b, uint_literal(random_.between(1, 9))), complement(b)};
    for (std::uint32_t i = 0; i < 3; ++i) {
      const E at = ranged(Op::kRemainder, Type::kUint, {0, k_.private_count - 1},
                          {i == 0 ? b : add(b, uint_literal(i)), uint_literal(k_.private_count)});
      all.push_back({.kind = Kind::kStorePrivate, .e = {at, convert(values[i], k_.private_type)}});
    }
  }

  // A block either reads or writes an array of the group.
  void shared(std::vector<Statement>& all) {
    for (std::uint32_t i = 0; i + 1 < kShared; ++i) {
      if (!writes_shared_[i]) continue;
      const E next = value(k_.shared_types[i], 3);
      if (i == 0 && random_.one_in(3)) {
        std::vector<std::uint32_t> ids;
        for (const std::uint32_t id : assignable_) {
          if (k_.variables[id] == k_.shared_types[0]) ids.push_back(id);
        }
        if (!ids.empty()) {
          const std::uint32_t id = ids[random_.below(ids.size())];
          all.push_back({.kind = Kind::kExchange, .id = id, .e = {next}});
          return;
        }
      }
      all.push_back({.kind = Kind::kStoreShared, .id = i, .e = {next}});
      return;
    }
  }

  Type output_type(std::uint32_t id) const {
    static constexpr Type kTypes[] = {Type::kUint, Type::kInt, Type::kFloat, Type::kInt,
                                      Type::kDouble};
    return id == 3 && k_.narrow_out == Element::kHalf ? Type::kFloat : kTypes[id];
  }
  void output(std::vector<Statement>& all, const E& slot) {
    const auto id = static_cast<std::uint32_t>(random_.below(k_.wide ? 5 : 4));
    all.push_back({.kind = Kind::kStoreOutput, .id = id, .e = {slot, value(output_type(id), 4)}});
  }

  // Stores the same computation of neighbouring inputs to neighbouring elements.
  void row(std::vector<Statement>& all) {
    const auto id = static_cast<std::uint32_t>(random_.below(k_.wide ? 5 : 4));
    const Type type = output_type(id);
    const E base = index(kInputs - kSlots, 1);
    const std::uint32_t from = static_cast<std::uint32_t>(random_.below(2));
    const auto input = [&](std::uint32_t i) {
      return make({.op = Op::kInput, .type = from == 0 ? Type::kUint : Type::kInt, .id = from,
                   .of = {add(base, uint_literal(i))}});
    };
    const auto form = random_.below(4);
    const Type by = whole();
    const E other = constant(Type::kInt);
    const auto shift = random_.below(8);
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      const E x = input(i);
      const E is_zero = compared(Op::kNot, {x});
      const E one = convert(is_zero, by);
      E y = form == 0   ? subtract(one, literal(by, 1))
            : form == 1 ? complement(one)
            : form == 2 ? right(negate(one), uint_literal(shift))
                        : multiply(convert(narrow(x, Element::kShort), by), convert(other, by));
      if (type == Type::kInt && random_.one_in(2)) y = convert(y, Type::kFloat);
      all.push_back(
          {.kind = Kind::kStoreOutput, .id = id, .e = {uint_literal(i), convert(y, type)}});
    }
  }

  // ---- The group ------------------------------------------------------------------------------

  void function() {
    Function f;
    f.type = function_type_ = any();
    const auto variables = scope_.size(), assignable = assignable_.size();
    for (std::uint64_t i = random_.between(1, 3); i > 0; --i) {
      f.parameters.push_back(new_variable(any()));
      scope_.push_back(f.parameters.back());
    }
    is_return_possible_ = true;
    f.body = statements(random_.below(4), 2);
    is_return_possible_ = false;
    f.result = value(f.type, 3);
    scope_.resize(variables);
    assignable_.resize(assignable);
    k_.functions.push_back(std::move(f));
  }

  // First writes everything that later blocks may read.
  void first_block() {
    Statement block{.kind = Kind::kItems};
    std::vector<Statement> body;
    for (std::uint32_t i = 0; i < k_.private_count; ++i) {
      body.push_back({.kind = Kind::kStorePrivate,
                      .e = {uint_literal(i), value(k_.private_type, 2)}});
    }
    for (std::uint32_t i = 0; i < kShared; ++i) {
      body.push_back({.kind = Kind::kStoreShared, .id = i, .e = {value(k_.shared_types[i], 2)}});
    }
    has_private_ = true;
    block.bodies.push_back(std::move(body));
    k_.body.push_back(std::move(block));
  }

  Statement block() {
    Statement s{.kind = Kind::kItems};
    const auto which = random_.below(4);
    if (which == 0) {
      const E n = make({.op = Op::kScalar, .type = Type::kUint, .id = 1});
      s = {.kind = Kind::kItemsBelow, .e = {n}};
    }
    if (which == 1) s = {.kind = Kind::kItemsFirst, .e = {uint_literal(random_.between(0, 9))}};
    for (std::uint32_t i = 0; i < kShared; ++i) {
      writes_shared_[i] = random_.one_in(2);
      reads_shared_[i] = !writes_shared_[i];
    }
    atomics_in_block_ = writes_shared_[kShared - 1];
    // With fewer items than counters, some counters are never set.
    if (k_.items() < kBins) reads_shared_[kShared - 1] = atomics_in_block_ = false;
    counters_op_ = pick(kAtomicOps);
    s.bodies.push_back(statements(random_.between(2, 6), 2));
    writes_shared_ = reads_shared_ = {};
    atomics_in_block_ = false;
    return s;
  }

  void group_statement(int depth) { k_.body.push_back(group(depth)); }

  Statement group(int depth) {
    if (depth > 0 && random_.one_in(4)) {
      Statement s{.kind = Kind::kFor, .id = new_variable(Type::kUint),
                  .e = {uint_literal(random_.between(1, 3))}};
      scope_.push_back(s.id);
      s.bodies.resize(1);
      s.bodies[0].push_back(group(depth - 1));
      scope_.pop_back();
      return s;
    }
    if (depth > 0 && random_.one_in(6)) {
      const E n = make({.op = Op::kScalar, .type = Type::kUint, .id = 1, .range = {0, 40}});
      Statement s{.kind = Kind::kIf,
                  .e = {compared(Op::kLess, {n, uint_literal(random_.between(1, 40))})}};
      s.bodies.resize(2);
      s.bodies[0].push_back(group(depth - 1));
      return s;
    }
    return block();
  }

  void last_block() {
    for (std::uint32_t i = 0; i < kShared; ++i) reads_shared_[i] = true;
    if (k_.items() < kBins) reads_shared_[kShared - 1] = false;
    Statement s{.kind = Kind::kItems};
    std::vector<Statement> body = statements(random_.between(1, 3), 2);
    const std::uint32_t outputs = k_.wide ? 5 : 4;
    for (std::uint32_t id = 0; id < outputs; ++id) {
      const auto slot = static_cast<std::uint32_t>(random_.below(kSlots));
      body.push_back({.kind = Kind::kStoreOutput, .id = id,
                      .e = {uint_literal(slot), value(output_type(id), 3)}});
    }
    // Private values go to the outputs at the end.
    for (std::uint32_t i = 0; i < std::min(k_.private_count, kSlots); ++i) {
      const E kept = make({.op = Op::kPrivate, .type = k_.private_type, .of = {uint_literal(i)}});
      const bool real = is_float(k_.private_type);
      const std::uint32_t id = !real ? 0 : k_.private_type == Type::kDouble ? 4 : 2;
      body.push_back({.kind = Kind::kStoreOutput, .id = id,
                      .e = {uint_literal(i), convert(kept, real ? k_.private_type : Type::kUint)}});
    }
    s.bodies.push_back(std::move(body));
    k_.body.push_back(std::move(s));
  }

  bool in_loop_ = false, atomics_in_block_ = false, is_return_possible_ = false;
  Type function_type_ = Type::kInt;
  Op counters_op_ = Op::kAdd, buffer_op_ = Op::kAdd;
};

}  // namespace

Kernel draw(std::uint64_t seed) { return Draw(seed).run(); }

}  // namespace halyard::testing::random_kernel
