// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/group_flow.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/format.h"
#include "compiler/expression.h"

namespace halyard::inline v0::compiler {
namespace {

// An element of a parameter: clang's id of the parameter, and the index if it is a constant.
using Elements = std::set<std::pair<std::string, std::string>>;

void add(Elements& to, const Elements& from) { to.insert(from.begin(), from.end()); }

// The id that all bindings share if they may overlap.
constexpr std::string_view kAnyBinding = "any binding";

bool is_parameter(const Json& declaration) { return is_kind(declaration, "ParmVarDecl"); }

// True for parameter[index], unless that is an array itself.
bool is_plain_element(const Json& expression) {
  return is_kind(expression, "ArraySubscriptExpr") &&
         is_kind(without_casts(expression.at("inner").at(0)), "DeclRefExpr");
}

// True if the condition of a loop always holds.
bool is_endless(const Json& condition) {
  if (condition.empty()) return true;
  const Json& number = without_casts(condition);
  return is_kind(number, "IntegerLiteral") && text_of(number, "value") != "0";
}

bool is_never(const Json& condition) {
  const Json& number = without_casts(condition);
  return is_kind(number, "IntegerLiteral") && text_of(number, "value") == "0";
}

class Flow {
 public:
  Flow(const Kernel& kernel, Diagnostics& diagnostics)
      : kernel_(kernel), diagnostics_(diagnostics) {}

  // Follows a statement or expression. `read` is what may have been read since the latest block;
  // empty if the code is unreachable.
  void follow(const Json& node, Elements& read) {
    const std::string kind = text_of(node, "kind");
    const auto inner = node.find("inner");
    if (kind == "BreakStmt") {
      if (at_break_ != nullptr) add(*at_break_, std::exchange(read, {}));
    } else if (kind == "ContinueStmt") {
      if (at_continue_ != nullptr) add(*at_continue_, std::exchange(read, {}));
    } else if (inner == node.end()) {
      if (kind == "ReturnStmt") read.clear();
    } else if (kind == "OMPSimdDirective") {
      if (const Json* loop = loop_of_block(node)) check_block(*loop, read);
      read.clear();
    } else if (kind == "IfStmt") {
      follow(inner->at(0), read);
      Elements otherwise = read;
      follow(inner->at(1), read);
      if (inner->size() > 2) follow(inner->at(2), otherwise);
      add(read, otherwise);
    } else if (kind == "ForStmt") {  // start, a variable of the condition, condition, step, body
      follow(inner->at(0), read);
      follow_loop({inner->at(2), inner->at(4), inner->at(3), is_endless(inner->at(2))}, read);
    } else if (kind == "WhileStmt") {
      follow_loop({inner->at(0), inner->at(1), nothing_, is_endless(inner->at(0))}, read);
    } else if (kind == "DoStmt") {
      const Json& again = inner->at(1);
      follow_loop({nothing_, inner->at(0), again, is_endless(again), is_never(again)}, read);
    } else if (kind == "SwitchStmt") {
      follow_switch(inner->at(0), inner->at(1), read);
    } else if (kind == "CaseStmt" || kind == "DefaultStmt") {
      if (kind == "DefaultStmt") switch_->has_default = true;
      add(read, switch_->start);
      follow(inner->back(), read);
    } else if (kind != "UnaryExprOrTypeTraitExpr") {  // sizeof does not read
      note_reads(node, kind, read);
      for (const Json& child : *inner) follow(child, read);
      if (kind == "ReturnStmt") read.clear();
    }
  }

 private:
  std::pair<std::string, std::string> element_of(const Json& expression,
                                                 const Json& declaration) const {
    // A parameter that has the name of a tensor but is not a pointer holds its sizes.
    if (kernel_.may_overlap && is_parameter(declaration) && has_pointer_type(declaration) &&
        std::ranges::find(kernel_.bindings, user_name(declaration), &Binding::name) !=
            kernel_.bindings.end()) {
      return {std::string(kAnyBinding), ""};
    }
    const Json& element = without_casts(expression);
    std::string index;
    if (is_plain_element(element)) {
      const Json& number = without_casts(element.at("inner").at(1));
      if (is_kind(number, "IntegerLiteral")) index = text_of(number, "value");
    }
    return {text_of(declaration, "id"), index};
  }

  struct Switch {
    const Elements& start;
    bool& has_default;
  };

  struct Loop {
    const Json& condition;  // before each iteration
    const Json& body;
    const Json& step;  // after each iteration
    bool is_endless = false;
    bool is_once = false;
  };

  // Assumes that a loop runs, so that its blocks count, and repeats it until no more reads are
  // added, because reads at its end precede the blocks at its start.
  void follow_loop(const Loop& loop, Elements& read) {
    Elements left, continued;
    Elements* const outer_break = std::exchange(at_break_, &left);
    Elements* const outer_continue = std::exchange(at_continue_, &continued);
    // Keeps all reads found at the loop's start so far, so that nested loops take linear time.
    Elements& start = starts_[&loop.body];
    std::size_t known = 0;
    do {
      add(start, read);
      known = start.size();
      read = start;
      follow(loop.condition, read);
      follow(loop.body, read);
      add(read, std::exchange(continued, {}));
      follow(loop.step, read);
      if (!loop.is_once) add(start, read);
    } while (start.size() != known);
    follow(loop.condition, read);
    at_break_ = outer_break;
    at_continue_ = outer_continue;
    if (loop.is_endless) read.clear();
    add(read, left);
  }

  void follow_switch(const Json& condition, const Json& body, Elements& read) {
    follow(condition, read);
    const Elements start = std::exchange(read, {});
    Elements left;
    bool has_default = false;
    const Switch here{start, has_default};
    const Switch* const outer = std::exchange(switch_, &here);
    Elements* const outer_break = std::exchange(at_break_, &left);
    follow(body, read);
    at_break_ = outer_break;
    switch_ = outer;
    if (!has_default) add(read, start);
    add(read, left);
  }

  void note_reads(const Json& node, const std::string& kind, Elements& read) {
    const auto note = [&](const Json& expression, bool may_write) {
      const Json* declaration = referent(expression);
      if (declaration == nullptr) {
        if (!may_write) {
          diagnostics_.complain(node, "cannot tell what this reads; index the parameter itself");
        }
      } else if (is_parameter(*declaration)) {
        read.insert(element_of(expression, *declaration));
      }
    };
    const auto arrow = node.find("isArrow");
    if (kind == "ArraySubscriptExpr" ||
        (kind == "UnaryOperator" && text_of(node, "opcode") == "*") ||
        (arrow != node.end() && arrow->get<bool>())) {
      note(node, false);
    }
    for_each_address(node, note);  // a call that may write is checked elsewhere
  }

  void check_block(const Json& node, const Elements& read) {
    const auto check = [&](const Json& target) {
      const Json* declaration = referent(target);
      if (declaration == nullptr) return;
      const auto [id, index] = element_of(target, *declaration);
      const bool race = std::any_of(read.begin(), read.end(), [&](const auto& element) {
        return element.first == id &&
               (element.second == index || element.second.empty() || index.empty());
      });
      if (!race) return;
      diagnostics_.complain(
          node, fmt::format("a block writes '{}', which {} read between it and the "
                            "previous block; on a GPU an item may still be reading: put "
                            "HY_ITEMS {{}} after the read",
                            user_name(*declaration),
                            id == kAnyBinding ? "may overlap (HY_MAY_OVERLAP) what is" : "is"));
    };
    if (const Json* element = atomic_operand(node)) check(*element);
    for_each_written(node, check);
    const auto inner = node.find("inner");
    if (inner == node.end()) return;
    for (const Json& child : *inner) check_block(child, read);
  }

  const Json nothing_;
  const Kernel& kernel_;
  Diagnostics& diagnostics_;
  std::map<const Json*, Elements> starts_;  // by a loop's body
  // Of the current loop or switch; null outside.
  Elements* at_break_ = nullptr;
  Elements* at_continue_ = nullptr;
  const Switch* switch_ = nullptr;
};

}  // namespace

void check_group_flow(const Json& body, const Kernel& kernel, Diagnostics& diagnostics) {
  Elements read;
  Flow(kernel, diagnostics).follow(body, read);
}

}  // namespace halyard::inline v0::compiler
