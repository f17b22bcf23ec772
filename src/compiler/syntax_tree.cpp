// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/syntax_tree.h"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/format.h"
#include "compiler/diagnostics.h"
#include "compiler/expression.h"
#include "compiler/group_flow.h"
#include "compiler/reflection.h"

namespace halyard::inline v0::compiler {
namespace {

constexpr std::string_view kBodyPrefix = "hy_body_";
constexpr std::string_view kIndexParameter = "index the parameter itself";

// Indices of a ForStmt's parts; index 1 is a variable of the condition, which C lacks.
constexpr std::size_t kForStart = 0, kForBody = 4;

// The surroundings of a part of a function.
struct Place {
  bool in_block = false;
  bool in_expression = false;
};

class Analyzer {
 public:
  explicit Analyzer(std::string_view headers) : headers_(headers) {}

  Analysis run(const Json& unit) {
    for (const Json& node : unit.at("inner")) {
      const std::string kind = text_of(node, "kind");
      const std::string name = text_of(node, "name");
      if (kind == "EnumDecl" && name.starts_with(kReflectPrefix)) {
        Reflected reflected = reflect(node, diagnostics_);
        analysis_.kernels.push_back(std::move(reflected.kernel));
        privates_ = std::move(reflected.privates);
        counts_ = std::move(reflected.counts);
      } else if (kind == "FunctionDecl" && !is_entry(name)) {
        in_body_ = name.starts_with(kBodyPrefix) && !analysis_.kernels.empty();
        outside_.clear();
        indices_.clear();
        walk(node, {});
        if (in_body_) check_group_flow(node, analysis_.kernels.back(), diagnostics_);
        in_body_ = false;
      } else if (kind == "FileScopeAsmDecl") {
        complain(node, kAssembly);
      } else if (kind == "VarDecl" || kind == "RecordDecl" || kind == "TypedefDecl" ||
                 kind == "EnumDecl") {
        if (kind == "VarDecl") {
          check_constant(node, fmt::format("variable '{}' at file scope", name));
        }
        walk(node, {});
      }
    }
    analysis_.diagnostics = diagnostics_.take();
    return std::move(analysis_);
  }

 private:
  static constexpr std::string_view kAssembly = "assembly, which differs between targets";

  void complain(const Json& node, std::string_view what) { diagnostics_.complain(node, what); }

  // True for the function that a driver calls, which consists of the header's own tokens.
  bool is_entry(const std::string& name) const {
    return std::ranges::any_of(analysis_.kernels,
                               [&](const Kernel& kernel) { return kernel.name == name; });
  }

  bool is_users(const Json& node) const {
    const std::string file = spelling_file(node);
    return !file.empty() && !file.starts_with('<') && !file.starts_with(headers_);
  }

  void walk(const Json& node, Place place) {
    const std::string kind = text_of(node, "kind");
    if (kind.starts_with("OMP") && kind.ends_with("Directive")) return walk_block(node, place);
    if (kind == "ForStmt" && is_head_of_block(node)) return walk_head(node, place);
    check_names(node, kind);
    check_types(node, kind, place);
    if (kind == "GCCAsmStmt" || kind == "MSAsmStmt") complain(node, kAssembly);
    if (in_body_ && !place.in_block && (kind == "GotoStmt" || kind == "IndirectGotoStmt")) {
      complain(node, "goto outside blocks; the control flow of the group is loops, if and switch");
    }
    if (in_body_) {
      if (is_write(node)) check_target(node.at("inner").at(0));
      for_each_written(node, [&](const Json& target) { check_write(node, target, place); });
      if (place.in_block) check_reads(node);  // those outside: check_group_flow()
      if (kind == "ArraySubscriptExpr") check_index(node);
    }
    if (const Json* element = atomic_operand(node)) check_atomic(node, *element, place);
    if (kind == "StmtExpr") place.in_expression = true;
    const auto inner = node.find("inner");
    if (inner == node.end()) return;
    for (const Json& child : *inner) walk(child, place);
  }

  // ---- Blocks ----------------------------------------------------------------------------------

  void walk_block(const Json& node, Place place) {
    const Json* loop = loop_of_block(node);
    if (loop == nullptr || is_users(*loop)) {
      return complain(node, "a loop of OpenMP; use HY_ITEMS for the work of items");
    }
    if (place.in_block) complain(node, "a block is inside another (rule 2)");
    if (place.in_expression) complain(node, "a block is in an expression");
    place.in_block = true;
    note_indices(*loop);
    walk(loop->at("inner").at(kForBody), place);
  }

  // True for a loop around the innermost one of a block.
  bool is_head_of_block(const Json& loop) const {
    const Json* at = &loop;
    while (is_kind(*at, "ForStmt")) at = &at->at("inner").at(kForBody);
    return is_kind(*at, "OMPSimdDirective") && !is_users(loop);
  }

  void walk_head(const Json& loop, Place place) {
    note_indices(loop);
    // On a GPU each item evaluates the number of items itself, as part of the block.
    walk(loop.at("inner").at(kForStart), {true, place.in_expression});
    walk(loop.at("inner").at(kForBody), place);
  }

  void note_indices(const Json& loop) {
    for (const Json& variable : loop.at("inner").at(kForStart).at("inner")) {
      indices_.insert(text_of(variable, "id"));
    }
  }

  // ---- Names and types -------------------------------------------------------------------------

  // Names that are reserved for the header may be used by the header's macros only.
  void check_names(const Json& node, const std::string& kind) {
    static constexpr std::array<std::string_view, 8> kDeclarations = {
        "VarDecl",     "ParmVarDecl", "FunctionDecl", "RecordDecl",
        "TypedefDecl", "FieldDecl",   "EnumDecl",     "EnumConstantDecl"};
    if (kind == "DeclRefExpr") {
      const Json& declaration = node.at("referencedDecl");
      const std::string name = text_of(declaration, "name");
      // Functions with such names may be called by every source, except the bodies of kernels.
      const bool callable = is_kind(declaration, "FunctionDecl") && !name.starts_with(kBodyPrefix);
      if (!callable && is_users(node)) check_name(node, name, diagnostics_);
      if (is_kind(declaration, "FunctionDecl") && is_entry(name)) {
        complain(node, fmt::format("'{}' is a kernel, which kernels cannot call", name));
      }
    } else if (std::ranges::find(kDeclarations, kind) != kDeclarations.end() && is_users(node)) {
      check_name(node, text_of(node, "name"), diagnostics_);
    }
  }

  void check_types(const Json& node, const std::string& kind, Place place) {
    static constexpr std::array<std::string_view, 3> kElsewhereAnother = {"long double", "_Float16",
                                                                          "__bf16"};
    const std::string type = resolved_type(node);
    for (const std::string_view another : kElsewhereAnother) {
      if (type.find(another) == std::string::npos) continue;
      complain(node, fmt::format("'{}' is a type that differs between targets", another));
    }
    const std::string cast = text_of(node, "castKind");
    if (kind == "TypedefDecl") {
      typedefs_[text_of(node, "name")] = declared_type(node);
    } else if (kind == "VarDecl") {
      if (const std::string storage = text_of(node, "storageClass");
          storage == "static" || storage == "extern") {
        check_constant(node, fmt::format("{} variable '{}'", storage, text_of(node, "name")));
      }
      check_pointer(node);
      if (!place.in_block) outside_.insert(text_of(node, "id"));
    } else if (kind == "FieldDecl") {
      check_pointer(node);
    } else if (cast == "IntegralToPointer") {
      complain(node, fmt::format("an address is made from an integer; {}", kIndexParameter));
    } else if (cast == "LValueToRValue" && has_pointer_type(node) &&
               !is_kind(without_parentheses(node.at("inner").at(0)), "DeclRefExpr")) {
      complain(node, fmt::format("a pointer is read from memory; {}", kIndexParameter));
    }
  }

  void check_pointer(const Json& declaration) {
    if (!is_pointer(declared_type(declaration))) return;
    complain(declaration,
             fmt::format("'{}' is a pointer; {}", text_of(declaration, "name"), kIndexParameter));
  }

  void check_constant(const Json& variable, std::string_view what) {
    const std::string type = declared_type(variable);
    // Pointers are reported elsewhere.
    if (type.starts_with("const ") || is_pointer(type)) return;
    complain(variable, fmt::format("{} is not a constant", what));
  }

  // Resolves a typedef of an array's element: `place[2]`, of typedef int* place.
  std::string declared_type(const Json& declaration) const {
    const std::string type = resolved_type(declaration);
    const std::size_t end = std::min(type.find('['), type.size());
    std::size_t begin = type.rfind(' ', end);
    begin = begin == std::string::npos ? 0 : begin + 1;
    const auto found = typedefs_.find(type.substr(begin, end - begin));
    if (found == typedefs_.end() || end == type.size()) return type;
    return type.substr(0, begin) + found->second + type.substr(end);
  }

  // ---- Writes ----------------------------------------------------------------------------------

  // Reports an assignment to a parameter itself. The parameter would refer to another object, on a
  // CPU for the whole group.
  void check_target(const Json& target) {
    const Json* declaration = referent(target);
    if (!has_pointer_type(target) || declaration == nullptr) return;
    complain(target,
             fmt::format("'{}' is a pointer; {}", user_name(*declaration), kIndexParameter));
  }

  void check_write(const Json& node, const Json& target, Place place) {
    const Json* declaration = referent(target);
    if (declaration == nullptr) {
      return complain(node, fmt::format("cannot tell what this writes; {}", kIndexParameter));
    }
    const std::string kind = text_of(*declaration, "kind");
    const std::string id = text_of(*declaration, "id");
    const std::string name = user_name(*declaration);
    if (indices_.contains(id)) {
      complain(node,
               fmt::format("'{}' is the index of this block, which only the block itself changes",
                           index_name(name)));
    } else if (kind == "VarDecl" && place.in_block && outside_.contains(id)) {
      complain(node,
               fmt::format("a block writes '{}', which is declared outside it; use HY_PRIVATE "
                           "or HY_SHARED",
                           name));
    } else if (kind == "ParmVarDecl" && resolved_type(*declaration).starts_with("const ")) {
      complain(node, fmt::format("'{}' is only read: inputs and scalars are never written", name));
    } else if (kind == "ParmVarDecl" && !place.in_block) {
      complain(node, fmt::format("'{}' is written outside a block; write it in HY_ITEMS", name));
    }
  }

  void check_reads(const Json& node) {
    const auto check = [&](const Json& read) {
      if (referent(read) != nullptr) return;
      complain(read, fmt::format("cannot tell what this reads; {}", kIndexParameter));
    };
    if (text_of(node, "castKind") == "LValueToRValue") check(node.at("inner").at(0));
    for_each_address(node, [&](const Json& argument, bool may_write) {
      if (!may_write) check(argument);
    });
  }

  // Clang itself checks inner dimensions (-Warray-bounds).
  void check_index(const Json& node) {
    const Json& array = without_casts(node.at("inner").at(0));
    if (!is_kind(array, "DeclRefExpr")) return;
    const Json& declaration = array.at("referencedDecl");
    const std::string name = user_name(declaration);
    const auto found = counts_.find(name);
    const std::optional<std::int64_t> index = constant_of(node.at("inner").at(1));
    if (found == counts_.end() || !is_kind(declaration, "ParmVarDecl") || !index) return;
    if (*index >= 0 && *index < found->second) return;
    complain(node,
             fmt::format("'{}' has {} elements; index {} is outside", name, found->second, *index));
  }

  // HY_X is hy_x.
  static std::string index_name(std::string name) {
    if (!name.starts_with("hy_")) return name;
    for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return name;
  }

  void check_atomic(const Json& node, const Json& element, Place place) {
    const Json* declaration = referent(element);
    const std::string name = declaration == nullptr ? "?" : user_name(*declaration);
    if (!in_body_ || !place.in_block) {
      complain(node, fmt::format("an atomic on '{}' outside the blocks of a kernel", name));
    } else if (declaration == nullptr || !is_kind(*declaration, "ParmVarDecl") ||
               privates_.contains(name)) {
      complain(node, fmt::format("an atomic on '{}', which is neither a buffer nor a shared array",
                                 name));
    } else {
      // An atomic reads the previous value from memory, so even an output is read and written.
      for (Binding& binding : analysis_.kernels.back().bindings) {
        if (binding.name == name) binding.access = kernel::Access::kReadWrite;
      }
    }
  }

  const std::string headers_;  // prefix of the paths of the header's own files
  Diagnostics diagnostics_;
  Analysis analysis_;
  std::map<std::string, std::string> typedefs_;
  std::set<std::string> privates_;  // parameters of this kernel of which each item has its own
  std::map<std::string, std::uint32_t> counts_;  // elements of its shared and private arrays
  bool in_body_ = false;
  // Variables of this function, by clang's ids:
  std::set<std::string> outside_;  // locals that no block contains
  std::set<std::string> indices_;  // loop variables of blocks
};

}  // namespace

Result<Analysis> analyze(std::string_view json, std::string_view headers) {
  try {
    return Analyzer(headers).run(parse_tree(json));
  } catch (const std::exception& exception) {
    return error(StatusCode::kInternal, "clang's syntax tree cannot be interpreted: {}",
                 exception.what());
  }
}

}  // namespace halyard::inline v0::compiler
