// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/syntax_tree.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/format.h"
#include "compiler/clang_tree.h"

namespace halyard::inline v0::compiler {
namespace {

constexpr std::string_view kReflectPrefix = "hy_reflect_";
constexpr std::string_view kBodyPrefix = "hy_body_";
constexpr std::size_t kMaxParameters = 40;  // halyard/kernel.h

class Analyzer {
 public:
  Analysis run(const Json& unit) {
    for (const Json& node : unit.at("inner")) {
      const std::string kind = text_of(node, "kind");
      const std::string name = text_of(node, "name");
      if (kind == "EnumDecl" && name.starts_with(kReflectPrefix)) {
        reflect(node, name.substr(kReflectPrefix.size()));
      } else if (kind == "FunctionDecl") {
        in_body_ = name.starts_with(kBodyPrefix);
        outside_.clear();
        walk(node, false);
        Elements read;
        if (in_body_) follow(node, read);
      } else if (kind == "VarDecl" && !is_constant(node)) {
        complain(node, fmt::format("variable '{}' at file scope is not a constant", name));
      } else if (kind == "RecordDecl" && !name.starts_with("hy_")) {
        walk(node, false);
      }
    }
    return std::move(analysis_);
  }

 private:
  void complain(const Json& node, std::string_view what) {
    const Location at = location_of(node);
    analysis_.diagnostics +=
        fmt::format("{}:{}:{}: error: {}\n", at.file, at.line, at.column, what);
  }

  // A kernel, from the enumerators that HY_KERNEL leaves behind.
  void reflect(const Json& node, const std::string& name) {
    Kernel kernel{.name = name, .workgroup_size = {}, .bindings = {}, .constants = {}};
    kernel.line = location_of(node).line;
    check_name(node, name);
    privates_.clear();
    std::vector<Statement> statements;
    std::set<std::string> parameters;
    for (const Json& enumerator : node.at("inner")) {
      const std::string whole = text_of(enumerator, "name");
      const std::uint32_t value = value_of(enumerator);
      // hy$<key>$<kernel>, or hy$<key>$<kernel>$<parameter>
      const std::string_view rest = std::string_view(whole).substr(3);
      const std::string_view key = rest.substr(0, rest.find('$'));
      const std::string parameter(
          rest.substr(std::min(rest.size(), key.size() + 1 + name.size() + 1)));
      if (!parameter.empty()) check_name(node, parameter);
      const auto type = static_cast<kernel::ElementType>(value);
      if (key == "x" || key == "y" || key == "z") {
        kernel.workgroup_size[static_cast<std::size_t>(key[0] - 'x')] = value;
      } else if (key == "constants") {
        kernel.constants_bytes = value;
      } else if (key == "shared") {
        kernel.static_shared_bytes = value;
      } else if (key == "in") {
        kernel.bindings.push_back({parameter, kernel::Access::kRead, type});
      } else if (key == "out") {
        kernel.bindings.push_back({parameter, kernel::Access::kWrite, type});
      } else if (key == "inout") {
        kernel.bindings.push_back({parameter, kernel::Access::kReadWrite, type});
      } else if (key == "own") {
        privates_.insert(parameter);
      } else if (key == "scalar") {
        add_constant(kernel, parameter, type);
      } else if (key == "same_shape" || key == "same_size") {
        statements.push_back(statement_of(key == "same_shape", parameter, value));
        continue;
      } else if (key.starts_with("tile")) {
        std::vector<std::uint32_t>& tile = kernel.bindings.back().tile;
        if (tile.size() < kernel.bindings.back().rank) tile.push_back(value);
      } else if (key.starts_with("in_tensor") || key.starts_with("hy_")) {
        add_tensor(kernel, key, parameter, type);
      }
      if (!parameter.empty()) parameters.insert(parameter);
    }
    if (const std::size_t count = parameters.size() + statements.size(); count > kMaxParameters) {
      complain(node,
               fmt::format("kernel {}: {} parameters and statements on sizes; {} are the most",
                           name, count, kMaxParameters));
    }
    // Tensors may stand behind what is said of them.
    for (const Statement& statement : statements) equate(node, statement, kernel);
    analysis_.kernels.push_back(std::move(kernel));
  }

  // HY_SAME_SHAPE(x, y), or HY_SAME_SIZE(x, d, y, e).
  struct Statement {
    std::string text() const {
      return of_shapes ? fmt::format("HY_SAME_SHAPE({}, {})", x, y)
                       : fmt::format("HY_SAME_SIZE({}, {}, {}, {})", x, d, y, e);
    }

    bool of_shapes;
    std::string x = {}, y = {}, d = {}, e = {};
  };

  // From x$y or d$e$x$y, x having so many characters: there may be a $ in a name.
  static Statement statement_of(bool of_shapes, std::string_view text, std::size_t length) {
    Statement statement{.of_shapes = of_shapes};
    const auto take = [&](std::size_t count) {
      const std::string_view taken = text.substr(0, count);
      text.remove_prefix(std::min(text.size(), taken.size() + 1));
      return std::string(taken);
    };
    if (!of_shapes) {
      statement.d = take(text.find('$'));
      statement.e = take(text.find('$'));
    }
    statement.x = take(length);
    statement.y = text;
    return statement;
  }

  // Adds what the statement says to the kernel, or says why it cannot be.
  void equate(const Json& node, const Statement& statement, Kernel& kernel) {
    const auto refuse = [&](std::string_view what) {
      complain(node, fmt::format("kernel {}: {}: {}", kernel.name, statement.text(), what));
    };
    std::array<const Binding*, 2> tensors = {};
    std::array<std::uint32_t, 2> index = {}, dimension = {};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string& name = i == 0 ? statement.x : statement.y;
      const auto found = std::ranges::find(kernel.bindings, name, &Binding::name);
      if (found == kernel.bindings.end() || found->rank == 0) {
        return refuse(fmt::format("'{}' is no tensor of the kernel", name));
      }
      tensors[i] = &*found;
      index[i] = static_cast<std::uint32_t>(found - kernel.bindings.begin());
      if (statement.of_shapes) continue;
      const std::string& digits = i == 0 ? statement.d : statement.e;
      const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), dimension[i]);
      if (end.ec != std::errc() || end.ptr != digits.data() + digits.size() ||
          dimension[i] >= found->rank) {
        return refuse(fmt::format("'{}' is no dimension of '{}', which has rank {}", digits, name,
                                  found->rank));
      }
    }
    if (statement.of_shapes && tensors[0]->rank != tensors[1]->rank) {
      return refuse(fmt::format("'{}' has rank {}, '{}' rank {}", statement.x, tensors[0]->rank,
                                statement.y, tensors[1]->rank));
    }
    if (index[0] == index[1] && dimension[0] == dimension[1]) {
      return refuse("compares a size with itself");
    }
    const std::uint32_t count = statement.of_shapes ? tensors[0]->rank : 1;
    for (std::uint32_t d = 0; d < count; ++d) {
      kernel.equal_sizes.push_back({index[0], dimension[0] + d, index[1], dimension[1] + d});
    }
  }

  static void add_constant(Kernel& kernel, std::string name, kernel::ElementType type) {
    const auto size = static_cast<std::uint32_t>(kernel::size_of(type));
    std::uint32_t end = 0;
    if (!kernel.constants.empty()) {
      const Constant& last = kernel.constants.back();
      end = last.offset + static_cast<std::uint32_t>(kernel::size_of(last.type));
    }
    kernel.constants.push_back({std::move(name), type, (end + size - 1) / size * size});
  }

  // A key ends with the rank: in_tensor2, hy_out_tensor3, hy_inout_tile1.
  static void add_tensor(Kernel& kernel, std::string_view key, const std::string& name,
                         kernel::ElementType type) {
    const int rank = key.back() - '0';
    const bool in = key.starts_with("in");
    const auto access = in                            ? kernel::Access::kRead
                        : key.starts_with("hy_inout") ? kernel::Access::kReadWrite
                                                      : kernel::Access::kWrite;
    kernel.bindings.push_back({name, access, type, static_cast<std::uint8_t>(rank)});
    for (const auto& [field, count] :
         {std::pair("size", rank), std::pair("stride", rank - 1),
          std::pair("tile", !in && key.find("tensor") != key.npos ? rank : 0)}) {
      for (int d = 0; d < count; ++d) {
        add_constant(kernel, fmt::format("{}.{}{}", name, field, d), kernel::ElementType::kUint32);
      }
    }
  }

  void check_name(const Json& node, const std::string& name) {
    if (name.starts_with("hy_") || name.starts_with("HY_")) {
      complain(node, fmt::format("'{}': names that begin with hy_ or HY_ are taken", name));
    }
  }

  // The value of an enumerator: clang folds it into the first ConstantExpr below it.
  static std::uint32_t value_of(const Json& node) {
    for (const Json* at = &node; at->contains("inner") && !at->at("inner").empty();) {
      at = &at->at("inner").at(0);
      if (text_of(*at, "kind") != "ConstantExpr") continue;
      const std::string value = text_of(*at, "value");
      std::uint32_t number = 0;
      const auto end = std::from_chars(value.data(), value.data() + value.size(), number);
      if (end.ec == std::errc() && end.ptr == value.data() + value.size()) return number;
    }
    throw std::runtime_error("no value for enumerator " + text_of(node, "name"));
  }

  static bool is_constant(const Json& variable) {
    const std::string type = text_of(variable.at("type"), "qualType");
    // `const T x`, `const T x[n]`, and a pointer only if it is itself constant.
    return type.find('*') == std::string::npos ? type.starts_with("const ")
                                               : type.ends_with("*const");
  }

  void walk(const Json& node, bool in_block) {
    const std::string kind = text_of(node, "kind");
    if (kind == "OMPSimdDirective") {
      if (in_block) complain(node, "a block stands inside another");
      in_block = true;
    }
    if (kind == "VarDecl") {
      if (text_of(node, "storageClass") == "static" && !is_constant(node)) {
        complain(node,
                 fmt::format("static variable '{}' is not a constant", text_of(node, "name")));
      }
      if (in_body_ && text_of(node.at("type"), "qualType").ends_with('*')) {
        complain(node, fmt::format("'{}' is a pointer; index the parameter itself",
                                   text_of(node, "name")));
      }
      if (!in_block) outside_.insert(text_of(node, "id"));
    }
    if (kind == "FieldDecl" &&
        text_of(node.at("type"), "qualType").find('*') != std::string::npos) {
      complain(node,
               fmt::format("'{}' is a pointer; index the parameter itself", text_of(node, "name")));
    }
    if (in_body_) {
      for_each_written(node, kind,
                       [&](const Json& target) { check_write(node, target, in_block); });
    }
    if (const Json* element = atomic_operand(node, kind)) check_atomic(node, *element, in_block);
    const auto inner = node.find("inner");
    if (inner == node.end()) return;
    for (const Json& child : *inner) walk(child, in_block);
  }

  static bool is_write(const Json& node, const std::string& kind) {
    if (kind == "CompoundAssignOperator") return true;
    const std::string opcode = text_of(node, "opcode");
    return (kind == "BinaryOperator" && opcode == "=") ||
           (kind == "UnaryOperator" && (opcode == "++" || opcode == "--"));
  }

  // fn(expression) for what the expression `node` assigns to, and for what it gives a function the
  // address of, unless that may only read.
  template <class F>
  static void for_each_written(const Json& node, const std::string& kind, F&& fn) {
    if (is_write(node, kind)) fn(node.at("inner").at(0));
    for_each_address(node, kind, [&](const Json& argument, bool may_write) {
      if (may_write) fn(argument);
    });
  }

  // fn(argument, may_write) for the addresses, also of arrays, that a call gives away.
  template <class F>
  static void for_each_address(const Json& node, const std::string& kind, F&& fn) {
    if (kind != "CallExpr" || atomic_operand(node, kind) != nullptr) return;
    const Json& inner = node.at("inner");  // the function, and its arguments
    for (std::size_t i = 1; i < inner.size(); ++i) {
      const std::string type = text_of(inner[i].at("type"), "qualType");
      if (type.find('*') != std::string::npos) fn(inner[i], !type.starts_with("const "));
    }
  }

  void check_write(const Json& node, const Json& target, bool in_block) {
    const Json* declaration = written_variable(target);
    if (declaration == nullptr) return;
    const std::string kind = text_of(*declaration, "kind");
    const std::string name = user_name(*declaration);
    if (in_block && kind == "VarDecl" && outside_.contains(text_of(*declaration, "id"))) {
      complain(node,
               fmt::format("a block writes '{}', which is declared outside it; use HY_PRIVATE "
                           "or HY_SHARED",
                           name));
    } else if (!in_block && kind == "ParmVarDecl") {
      complain(node, fmt::format("'{}' is written outside a block; write it in HY_ITEMS", name));
    }
  }

  // The pointer of an output tensor y is called hy_out<rank>_y.
  static std::string user_name(const Json& declaration) {
    const std::string name = text_of(declaration, "name");
    return name.starts_with("hy_out") ? name.substr(name.find('_', 3) + 1) : name;
  }

  // What an atomic operation works on; null if the expression is none.
  static const Json* atomic_operand(const Json& node, const std::string& kind) {
    if (kind == "AtomicExpr") return &node.at("inner").at(0);
    if (kind != "CallExpr" || node.at("inner").size() < 2) return nullptr;
    const Json* callee = written_variable(node.at("inner").at(0));
    const bool atomic = callee != nullptr && text_of(*callee, "name").starts_with("__sync_");
    return atomic ? &node.at("inner").at(1) : nullptr;
  }

  void check_atomic(const Json& node, const Json& element, bool in_block) {
    const Json* declaration = written_variable(element);
    const std::string name = declaration == nullptr ? "?" : user_name(*declaration);
    if (!in_body_ || !in_block) {
      complain(node, fmt::format("an atomic on '{}' outside the blocks of a kernel", name));
    } else if (declaration == nullptr || text_of(*declaration, "kind") != "ParmVarDecl" ||
               privates_.contains(name)) {
      complain(node, fmt::format("an atomic on '{}', which is neither a buffer nor a shared array",
                                 name));
    } else {
      // The value before comes from memory, also of an output.
      for (Binding& binding : analysis_.kernels.back().bindings) {
        if (binding.name == name) binding.access = kernel::Access::kReadWrite;
      }
    }
  }

  // The variable that an assignable expression is part of or points through; null if not known.
  static const Json* written_variable(const Json& expression) {
    static constexpr std::array<std::string_view, 8> kTransparent = {
        "ParenExpr",  "ImplicitCastExpr", "CStyleCastExpr", "ArraySubscriptExpr",
        "MemberExpr", "UnaryOperator",    "BinaryOperator", "GenericSelectionExpr"};
    for (const Json* at = &expression;;) {
      const std::string kind = text_of(*at, "kind");
      if (kind == "DeclRefExpr") return &at->at("referencedDecl");
      if (std::find(kTransparent.begin(), kTransparent.end(), kind) == kTransparent.end() ||
          !at->contains("inner")) {
        return nullptr;
      }
      at = &at->at("inner").at(0);
    }
  }

  // An element of a parameter: clang's id of the parameter, and the index if it is a number.
  using Elements = std::set<std::pair<std::string, std::string>>;

  static const Json& without_casts(const Json& expression) {
    const Json* at = &expression;
    while (text_of(*at, "kind") == "ImplicitCastExpr" || text_of(*at, "kind") == "ParenExpr") {
      at = &at->at("inner").at(0);
    }
    return *at;
  }

  // Whether it is parameter[index], and not an array's array.
  static bool is_plain_element(const Json& expression) {
    return text_of(expression, "kind") == "ArraySubscriptExpr" &&
           text_of(without_casts(expression.at("inner").at(0)), "kind") == "DeclRefExpr";
  }

  static std::pair<std::string, std::string> element_of(const Json& expression,
                                                        const Json& declaration) {
    const Json& element = without_casts(expression);
    std::string index;
    if (is_plain_element(element)) {
      const Json& number = without_casts(element.at("inner").at(1));
      if (text_of(number, "kind") == "IntegerLiteral") index = text_of(number, "value");
    }
    return {text_of(declaration, "id"), index};
  }

  // Rule 6: what is read outside blocks, the next block does not write. Follows the control flow of
  // the group; `read` is what was read since the latest block. Loops are taken to run, twice at
  // least: what their end reads meets the blocks at their start.
  void follow(const Json& node, Elements& read) {
    const std::string kind = text_of(node, "kind");
    const auto inner = node.find("inner");
    if (kind == "OMPSimdDirective") {
      check_block(node, read);
      read.clear();
    } else if (kind == "ArraySubscriptExpr" ||
               (kind == "UnaryOperator" && text_of(node, "opcode") == "*")) {
      const Json* declaration = written_variable(node);
      if (declaration != nullptr && text_of(*declaration, "kind") == "ParmVarDecl") {
        read.insert(element_of(node, *declaration));
      }
      for (const Json& child : *inner) follow(child, read);
    } else if (inner == node.end()) {
      return;
    } else if (kind == "CallExpr") {
      for_each_address(node, kind, [&](const Json& argument, bool) {
        const Json* declaration = written_variable(argument);
        if (declaration != nullptr && text_of(*declaration, "kind") == "ParmVarDecl") {
          read.insert({text_of(*declaration, "id"), ""});
        }
      });
      for (const Json& child : *inner) follow(child, read);
    } else if (kind == "IfStmt") {
      follow(inner->at(0), read);
      Elements otherwise = read;
      follow(inner->at(1), read);
      if (inner->size() > 2) follow(inner->at(2), otherwise);
      read.merge(otherwise);
    } else if (kind == "ForStmt") {  // start, a variable of the condition, condition, step, body
      follow(inner->at(0), read);
      for (const std::size_t part : {2, 4, 3, 2, 4, 3, 2}) follow(inner->at(part), read);
    } else {
      const bool loop = kind == "WhileStmt" || kind == "DoStmt";
      for (int round = 0; round < (loop ? 2 : 1); ++round) {
        for (const Json& child : *inner) follow(child, read);
      }
      if (kind == "WhileStmt") follow(inner->at(0), read);
    }
  }

  void check_block(const Json& node, const Elements& read) {
    const std::string kind = text_of(node, "kind");
    const auto check = [&](const Json& target) {
      const Json* declaration = written_variable(target);
      if (declaration == nullptr) return;
      const auto [id, index] = element_of(target, *declaration);
      const bool race = std::any_of(read.begin(), read.end(), [&](const auto& element) {
        return element.first == id &&
               (element.second == index || element.second.empty() || index.empty());
      });
      if (race && raced_.insert(text_of(node, "id")).second) {
        complain(node, fmt::format("a block writes '{}', which is read between it and the block "
                                   "before; on a GPU an item may still be reading: put HY_ITEMS "
                                   "{{}} behind what reads",
                                   user_name(*declaration)));
      }
    };
    if (const Json* element = atomic_operand(node, kind)) check(*element);
    for_each_written(node, kind, check);
    const auto inner = node.find("inner");
    if (inner == node.end()) return;
    for (const Json& child : *inner) check_block(child, read);
  }

  Analysis analysis_;
  bool in_body_ = false;
  std::set<std::string> raced_;     // writes that were complained of
  std::set<std::string> outside_;   // locals of this body that no block contains, by clang's id
  std::set<std::string> privates_;  // parameters of this kernel that each item has for itself
};

}  // namespace

Result<Analysis> analyze(std::string_view json) {
  try {
    return Analyzer().run(parse_tree(json));
  } catch (const std::exception& exception) {
    return error(StatusCode::kInternal, "clang's syntax tree was not understood: {}",
                 exception.what());
  }
}

}  // namespace halyard::inline v0::compiler
