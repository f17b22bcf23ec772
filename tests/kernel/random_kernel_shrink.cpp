// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel/random_kernel_shrink.h"

#include <bit>
#include <utility>

namespace halyard::testing::random_kernel {
namespace {

constexpr int kTries = 400;

bool mentions(const Expression& e, Op op, std::uint32_t id) {
  if (e.op == op && e.id == id) return true;
  for (const E& each : e.of) {
    if (mentions(*each, op, id)) return true;
  }
  return false;
}

bool mentions(const std::vector<Statement>& all, Op op, std::uint32_t id) {
  for (const Statement& s : all) {
    const bool assigns = op == Op::kVariable
                             ? s.kind == Kind::kAssign || s.kind == Kind::kCompound ||
                                   s.kind == Kind::kExchange
                             : s.kind == Kind::kStoreArray;
    if (assigns && s.id == id) return true;
    for (const E& each : s.e) {
      if (mentions(*each, op, id)) return true;
    }
    for (const auto& body : s.bodies) {
      if (mentions(body, op, id)) return true;
    }
  }
  return false;
}

// Makes one edit of a kernel, by its number.
class Editor {
 public:
  Editor(Kernel& kernel, int wanted) : kernel_(kernel), left_(wanted) {}

  // False if there are fewer edits.
  bool run() {
    // Keeps the first block: later blocks may read all its values.
    for (std::size_t i = 1; i < kernel_.body.size(); ++i) {
      if (take()) {
        kernel_.body.erase(kernel_.body.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      }
    }
    for (std::size_t i = 1; i < kernel_.body.size(); ++i) {
      for (auto& body : kernel_.body[i].bodies) {
        if (edit(body)) return true;
      }
    }
    for (Statement& s : kernel_.body[0].bodies[0]) {
      for (E& e : s.e) {
        if (edit(e)) return true;
      }
    }
    for (Function& function : kernel_.functions) {
      if (edit(function.body) || edit(function.result)) return true;
    }
    return false;
  }

 private:
  bool take() { return left_-- == 0; }

  bool is_unused(const Statement& s) const {
    if (s.kind != Kind::kDeclare && s.kind != Kind::kDeclareArray) return true;
    const Op op = s.kind == Kind::kDeclare ? Op::kVariable : Op::kArray;
    for (const Function& function : kernel_.functions) {
      if (mentions(function.body, op, s.id) || mentions(*function.result, op, s.id)) return false;
    }
    return !mentions(kernel_.body, op, s.id);
  }

  bool edit(std::vector<Statement>& all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      Statement& s = all[i];
      const auto place = all.begin() + static_cast<std::ptrdiff_t>(i);
      const bool is_block = s.kind >= Kind::kItems;
      if (is_unused(s) && take()) {
        all.erase(place);
        return true;
      }
      // The condition goes, its statements stay.
      if (s.kind == Kind::kIf && take()) {
        std::vector<Statement> inner = std::move(s.bodies[0]);
        all.erase(place);
        all.insert(all.begin() + static_cast<std::ptrdiff_t>(i), inner.begin(), inner.end());
        return true;
      }
      for (auto& body : s.bodies) {
        if (edit(body)) return true;
      }
      if (is_block) continue;
      for (E& e : s.e) {
        // Edits only within the expressions: a statement with fewer of them would be a different
        // statement.
        if (edit(e)) return true;
      }
    }
    return false;
  }

  bool replace(E& e, const E& by) {
    if (by->type != e->type || !e->range.holds(by->range) || !take()) return false;
    e = by;
    return true;
  }

  bool edit(E& e) {
    if (e->op == Op::kLiteral) return false;
    const E whole = e;  // keeps its operands alive
    for (const std::uint64_t value : {0, 1}) {
      if (is_float(e->type)) continue;
      const auto number = static_cast<Wide>(value);
      Expression literal{.type = e->type, .value = value, .range = {number, number}};
      if (replace(e, std::make_shared<const Expression>(std::move(literal)))) return true;
    }
    if (is_float(e->type)) {
      const std::uint64_t bits = e->type == Type::kFloat ? std::bit_cast<std::uint32_t>(1.5f)
                                                         : std::bit_cast<std::uint64_t>(1.5);
      Expression literal{.type = e->type, .value = bits};
      if (replace(e, std::make_shared<const Expression>(std::move(literal)))) return true;
    }
    for (const E& operand : whole->of) {
      if (whole->op != Op::kOpaque && replace(e, operand)) return true;
    }
    for (std::size_t i = 0; i < whole->of.size(); ++i) {
      E operand = whole->of[i];
      if (!edit(operand)) continue;
      Expression changed = *whole;
      changed.of[i] = std::move(operand);
      e = std::make_shared<const Expression>(std::move(changed));
      return true;
    }
    return false;
  }

  Kernel& kernel_;
  int left_;
};

bool is_called(const std::vector<Statement>& all, std::uint32_t id) {
  return mentions(all, Op::kCall, id);
}

}  // namespace

Kernel shrink(Kernel kernel, const std::function<bool(const Kernel&)>& fails) {
  for (int number = 0, tries = 0; tries < kTries; ++tries) {
    Kernel candidate = kernel;
    if (!Editor(candidate, number).run()) break;
    if (fails(candidate)) {
      kernel = std::move(candidate);  // `number` now names another edit
    } else {
      ++number;
    }
  }
  // Calls refer to functions by index, so only the last functions can be removed.
  while (!kernel.functions.empty() &&
         !is_called(kernel.body, static_cast<std::uint32_t>(kernel.functions.size() - 1))) {
    kernel.functions.pop_back();
  }
  return kernel;
}

}  // namespace halyard::testing::random_kernel
