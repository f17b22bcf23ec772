// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/reflection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/format.h"

namespace halyard::inline v0::compiler {
namespace {

constexpr std::size_t kMaxParameters = 40;  // halyard/kernel.h

class Reflector {
 public:
  explicit Reflector(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  Reflected run(const Json& node) {
    const std::string name = text_of(node, "name").substr(kReflectPrefix.size());
    Kernel kernel{.name = name, .workgroup_size = {}, .bindings = {}, .constants = {}};
    kernel.line = location_of(node).line;
    check_name(node, name, diagnostics_);
    std::set<std::string> privates;
    std::map<std::string, std::uint32_t> counts;
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
      if (!parameter.empty()) check_name(node, parameter, diagnostics_);
      const auto type = static_cast<kernel::ElementType>(value);
      if (key == "x" || key == "y" || key == "z") {
        kernel.workgroup_size[static_cast<std::size_t>(key[0] - 'x')] = value;
      } else if (key == "constants") {
        kernel.constants_bytes = value;
      } else if (key == "shared") {
        kernel.static_shared_bytes = value;
      } else if (key == "may_overlap") {
        kernel.may_overlap = true;
      } else if (key == "in") {
        kernel.bindings.push_back({parameter, kernel::Access::kRead, type});
      } else if (key == "out") {
        kernel.bindings.push_back({parameter, kernel::Access::kWrite, type});
      } else if (key == "inout") {
        kernel.bindings.push_back({parameter, kernel::Access::kReadWrite, type});
      } else if (key == "own") {
        privates.insert(parameter);
      } else if (key == "count") {
        counts[parameter] = value;
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
    const std::size_t count = parameters.size() + statements.size() + (kernel.may_overlap ? 1 : 0);
    if (count > kMaxParameters) {
      diagnostics_.complain(node, fmt::format("kernel {}: {} parameters and statements; {} are the "
                                              "most",
                                              name, count, kMaxParameters));
    }
    // Tensors may follow the statements about them.
    for (const Statement& statement : statements) equate(node, statement, kernel);
    return {std::move(kernel), std::move(privates), std::move(counts)};
  }

 private:
  // HY_SAME_SHAPE(x, y), or HY_SAME_SIZE(x, d, y, e).
  struct Statement {
    std::string text() const {
      return of_shapes ? fmt::format("HY_SAME_SHAPE({}, {})", x, y)
                       : fmt::format("HY_SAME_SIZE({}, {}, {}, {})", x, d, y, e);
    }

    bool of_shapes;
    std::string x = {}, y = {}, d = {}, e = {};
  };

  // Parses x$y or d$e$x$y, where x has `length` characters: a name may contain a $.
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

  // Adds the statement's sizes to the kernel, or reports an error.
  void equate(const Json& node, const Statement& statement, Kernel& kernel) {
    const auto refuse = [&](std::string_view what) {
      diagnostics_.complain(node,
                            fmt::format("kernel {}: {}: {}", kernel.name, statement.text(), what));
    };
    std::array<const Binding*, 2> tensors = {};
    std::array<std::uint32_t, 2> index = {}, dimension = {};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string& name = i == 0 ? statement.x : statement.y;
      const auto found = std::ranges::find(kernel.bindings, name, &Binding::name);
      if (found == kernel.bindings.end() || found->rank == 0) {
        return refuse(fmt::format("'{}' is not a tensor of the kernel", name));
      }
      tensors[i] = &*found;
      index[i] = static_cast<std::uint32_t>(found - kernel.bindings.begin());
      if (statement.of_shapes) continue;
      const std::string& digits = i == 0 ? statement.d : statement.e;
      const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), dimension[i]);
      if (end.ec != std::errc() || end.ptr != digits.data() + digits.size() ||
          dimension[i] >= found->rank) {
        return refuse(fmt::format("'{}' is not a dimension of '{}', which has rank {}", digits,
                                  name, found->rank));
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

  Diagnostics& diagnostics_;
};

}  // namespace

Reflected reflect(const Json& enumeration, Diagnostics& diagnostics) {
  return Reflector(diagnostics).run(enumeration);
}

void check_name(const Json& node, const std::string& name, Diagnostics& diagnostics) {
  if (name.starts_with("hy_") || name.starts_with("HY_")) {
    diagnostics.complain(node,
                         fmt::format("'{}': names that begin with hy_ or HY_ are reserved", name));
  }
}

}  // namespace halyard::inline v0::compiler
