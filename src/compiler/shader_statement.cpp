// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cctype>
#include <utility>

#include "base/format.h"
#include "compiler/shader_emitter.h"

namespace halyard::inline v0::compiler {
namespace {

// An enumerator without a value has the value of the previous one plus 1.
void enumerate(const Json& declaration, std::map<std::string, std::string>& enumerators) {
  const auto inner = declaration.find("inner");
  if (inner == declaration.end()) return;
  long long next = 0;
  for (const Json& enumerator : *inner) {
    for (const Json* at = &enumerator; at->contains("inner") && !at->at("inner").empty();) {
      at = &at->at("inner").front();
      if (is_kind(*at, "ConstantExpr")) next = std::stoll(text_of(*at, "value"));
    }
    enumerators[text_of(enumerator, "id")] = std::to_string(next++);
  }
}

// The step of a block's loop is "..., hy_barrier()": returns the part before the barrier, else
// null.
const Json* before_barrier(const Json& step) {
  if (text_of(step, "opcode") != ",") return nullptr;
  const Json& last = bare(child(step, 1));
  return is_kind(last, "CallExpr") && function_name(last) == "hy_barrier" ? &child(step, 0)
                                                                          : nullptr;
}

// True if a `continue` in the statement belongs to the surrounding loop.
bool continues(const Json& node) {
  if (is_kind(node, "ContinueStmt")) return true;
  if (is_kind(node, "ForStmt") || is_kind(node, "WhileStmt") || is_kind(node, "DoStmt")) {
    return false;
  }
  const auto inner = node.find("inner");
  return inner != node.end() && std::ranges::any_of(*inner, continues);
}

bool mentions(const Json& node, const std::string& id) {
  if (is_kind(node, "DeclRefExpr")) return text_of(node.at("referencedDecl"), "id") == id;
  const auto inner = node.find("inner");
  return inner != node.end() &&
         std::ranges::any_of(*inner, [&](const Json& part) { return mentions(part, id); });
}

}  // namespace

Program::Program(const Json& tree) : unit(tree) {
  for (const Json& node : unit.at("inner")) {
    const std::string kind = text_of(node, "kind");
    if (kind == "EnumDecl") {
      enumerate(node, enumerators);
    } else if (kind == "VarDecl") {
      variables[text_of(node, "name")] = &node;
    } else if (kind == "FunctionDecl" && node.contains("inner")) {
      for (const Json& part : node.at("inner")) {
        if (is_kind(part, "CompoundStmt")) functions[text_of(node, "name")] = &node;
      }
    }
  }
}

// ---- Lines -----------------------------------------------------------------------------------

void ShaderText::at(const Location& location) {
  if (location.line == 0 || (location.line == next_ && location.file == file_)) return;
  next_ = location.line;
  file_ = location.file;
  // The file name only, so that the same source gives the same text in every directory.
  std::string name = file_.substr(file_.rfind('/') + 1);
  for (char& c : name) {
    if (c == '"' || c == '\\' || std::iscntrl(static_cast<unsigned char>(c)) != 0) c = '_';
  }
  text_ += fmt::format("#line {} \"{}\"\n", next_, name);
}

void ShaderText::line(std::string_view text) {
  text_ += fmt::format("{}{}\n", indent_, text);
  if (next_ != 0) ++next_;
}

void ShaderText::open(std::string_view text) {
  line(fmt::format("{}{}{{", text, text.empty() ? "" : " "));
  indent_ += "  ";
}

void ShaderText::close(std::string_view text) {
  indent_.resize(indent_.size() - 2);
  line(text);
}

void ShaderText::close_and_open(std::string_view text) {
  close(text);
  indent_ += "  ";
}

// ---- Statements ------------------------------------------------------------------------------

Emitter::Emitter(const Program& program, const ShaderLanguage& language)
    : program_(program), language_(language), enumerators_(program.enumerators) {
  for (const Json& node : program.unit.at("inner")) {
    const std::string kind = text_of(node, "kind");
    if (kind == "RecordDecl" || kind == "TypedefDecl") types_.declare(node);
  }
}

void Emitter::reject(const Json& node, std::string_view what) const {
  throw Rejection{location_of(node),
                  fmt::format("not possible in {}: {}", language_.target(), what)};
}

Type Emitter::type_of(const Json& node) {
  Type type = types_.of(node);
  if (!type.problem.empty()) reject(node, fmt::format("a value that {}", type.problem));
  return type;
}

Type Emitter::variable_type(const Json& node) {
  Type type = types_.of(node);
  if (type.pointer) type.problem = "is a pointer";
  if (!type.problem.empty()) {
    reject(node, fmt::format("'{}' {}", text_of(node, "name"), type.problem));
  }
  return type;
}

void Emitter::block(const Json& node) {
  if (!is_kind(node, "CompoundStmt")) return statement(node);
  const auto inner = node.find("inner");
  if (inner == node.end()) return;
  types_.open_scope();
  for (const Json& part : *inner) statement(part);
  types_.close_scope();
}

void Emitter::statement(const Json& node) {
  const std::string kind = text_of(node, "kind");
  text_->at(location_of(node));
  if (kind == "CompoundStmt") {
    text_->open("");
    block(node);
    text_->close();
  } else if (kind == "DeclStmt") {
    declaration(node, false);
  } else if (kind == "IfStmt") {
    text_->open(fmt::format("if ({})", condition(child(node, 0))));
    block(child(node, 1));
    if (node.at("inner").size() > 2) {
      text_->close_and_open("} else {");
      block(child(node, 2));
    }
    text_->close();
  } else if (kind == "ForStmt") {
    loop(node);
  } else if (kind == "AttributedStmt") {
    const Json& inside = node.at("inner").back();
    bool hint = false;
    for (const Json& part : node.at("inner")) hint |= is_kind(part, "LoopHintAttr");
    if (hint) text_->line(language_.unroll());
    statement(inside);
  } else if (kind == "WhileStmt") {
    text_->open(fmt::format("while ({})", condition(child(node, 0))));
    block(child(node, 1));
    text_->close();
  } else if (kind == "DoStmt") {
    text_->open("do");
    block(child(node, 0));
    text_->close(fmt::format("}} while ({});", condition(child(node, 1))));
  } else if (kind == "SwitchStmt") {
    selection(node);
  } else if (kind == "ReturnStmt") {
    text_->line(node.contains("inner") ? fmt::format("return {};", value(child(node, 0)))
                                       : "return;");
  } else if (kind == "BreakStmt") {
    text_->line("break;");
  } else if (kind == "ContinueStmt") {
    text_->line("continue;");
  } else if (kind == "NullStmt") {
    // Nothing to write.
  } else if (kind == "CaseStmt" || kind == "DefaultStmt") {
    reject(node, "a case nested in a statement of its switch");
  } else if (kind == "GotoStmt" || kind == "LabelStmt" || kind == "IndirectGotoStmt") {
    reject(node, "goto");
  } else if (node.contains("type")) {
    if (!has_effects(node)) return;  // "(void)x;"
    text_->line(place(node).text + ";");
  } else {
    reject(node, fmt::format("a statement of this kind ({})", kind));
  }
}

// `split`: without an initialiser, which a jump to a case must not skip.
void Emitter::variable(const Json& node, bool split) {
  const Type type = variable_type(node);
  const std::string name = shader_name(NameKind::kOrdinary, text_of(node, "name"));
  std::string text = declare(type, name);
  if (node.contains("init")) {
    const Json& start = initial_value(node);
    if (split && type.is_array()) {
      reject(node, "an array with values directly in a switch; put it into braces");
    }
    if (split) {
      text_->line(text + ";");
      text = name;
    }
    const bool list = is_kind(bare(start), "InitListExpr");
    text += " = " + (list ? initializer(start).text : value(start));
  }
  text_->line(text + ";");
}

void Emitter::declaration(const Json& node, bool split) {
  for (const Json& part : node.at("inner")) {
    const std::string kind = text_of(part, "kind");
    if (kind == "RecordDecl" || kind == "TypedefDecl") {
      if (const Record* const defined = types_.declare(part)) record(*defined, *text_);
    } else if (kind == "EnumDecl") {
      enumerate(part, enumerators_);
    } else if (kind == "VarDecl") {
      variable(part, split);
    } else if (kind != "StaticAssertDecl" && kind != "EmptyDecl") {
      reject(part, fmt::format("a declaration of this kind ({})", kind));
    }
  }
}

// "uint i = 0u, j = 1u", or empty if a for-statement cannot hold it.
std::string Emitter::for_declarations(const Json& node) {
  std::string text;
  for (const Json& part : node.at("inner")) {
    if (!is_kind(part, "VarDecl")) return {};
    const Type type = variable_type(part);
    if (type.is_array() || type.base == Type::Base::kRecord) return {};
    text += text.empty() ? type_name(type) + " " : ", ";
    text += shader_name(NameKind::kOrdinary, text_of(part, "name"));
    if (part.contains("init")) text += " = " + value(initial_value(part));
  }
  return text;
}

void Emitter::loop(const Json& node) {
  const Json& init = child(node, 0);
  const Json& until = child(node, 2);
  const Json& step = child(node, 3);
  const Json& repeated = child(node, 4);
  // All items meet after a block. A barrier there is equivalent to one in the step, easier to read,
  // and better for compilers.
  const Json* const blocks_step = step.empty() ? nullptr : before_barrier(step);
  if (blocks_step != nullptr && !continues(repeated)) {
    // A block runs once; its loop exists for `continue` only.
    text_->open("");
    for (const Json& part : init.at("inner")) {
      if (mentions(repeated, text_of(part, "id"))) variable(part, false);
    }
    block(repeated);
    text_->close();
    text_->line(fmt::format("{};", language_.barrier()));
    return;
  }
  std::string first;
  bool outside = false;
  if (is_kind(init, "DeclStmt")) {
    first = for_declarations(init);
    outside = first.empty();
  } else if (!init.empty()) {
    first = place(init).text;
  }
  if (outside) {
    text_->open("");
    declaration(init, false);
  }
  const std::string next = blocks_step != nullptr ? expression(*blocks_step).text
                           : step.empty()         ? std::string()
                                                  : place(step).text;
  text_->open(fmt::format("for ({}; {}; {})", first, until.empty() ? "" : condition(until), next));
  block(repeated);
  text_->close();
  if (blocks_step != nullptr) text_->line(fmt::format("{};", language_.barrier()));
  if (outside) text_->close();
}

void Emitter::selection(const Json& node) {
  const Json& body = child(node, 1);
  if (!is_kind(body, "CompoundStmt")) reject(node, "a switch without braces");
  text_->open(fmt::format("switch ({})", value(child(node, 0))));
  types_.open_scope();
  const auto inner = body.find("inner");
  bool in_case = false;
  for (const Json& part : inner != body.end() ? *inner : Json::array()) {
    const Json* inside = &part;
    while (is_kind(*inside, "CaseStmt") || is_kind(*inside, "DefaultStmt")) {
      in_case = true;
      text_->at(location_of(*inside));
      const bool has_value = is_kind(*inside, "CaseStmt");
      if (has_value && inside->at("inner").size() > 2) reject(*inside, "a range of cases");
      text_->line(has_value ? fmt::format("case {}:", value(child(*inside, 0))) : "default:");
      inside = &inside->at("inner").back();
    }
    if (!in_case) reject(*inside, "a statement before the first case");
    if (is_kind(*inside, "DeclStmt")) {
      text_->at(location_of(*inside));
      declaration(*inside, true);
    } else {
      statement(*inside);
    }
  }
  // The last case must not be empty.
  text_->line("break;");
  types_.close_scope();
  text_->close();
}

// ---- Functions and the declarations they refer to ---------------------------------------------

void Emitter::body(const Json& function, std::map<std::string, Parameter> parameters,
                   ShaderText& text) {
  parameters_ = std::move(parameters);
  text_ = &text;
  for (const Json& part : function.at("inner")) {
    if (is_kind(part, "CompoundStmt")) block(part);
  }
  text_ = nullptr;
  parameters_.clear();
}

void Emitter::need(const std::string& name, const Json& caller) {
  const auto [known, is_new] = functions_.emplace(name, false);
  if (!is_new) {
    if (!known->second) reject(caller, fmt::format("'{}' calls itself", name));
    return;
  }
  const auto parameters = std::exchange(parameters_, {});
  auto scopes = types_.leave();
  ShaderText* const outer = text_;
  function(*program_.functions.find(name)->second);
  text_ = outer;
  types_.come_back(std::move(scopes));
  parameters_ = parameters;
  functions_[name] = true;
}

void Emitter::function(const Json& node) {
  const std::string name = text_of(node, "name");
  const std::string spelling = text_of(node.at("type"), "qualType");
  const Type result = types_.parse(spelling.substr(0, spelling.find('(')));
  if (!result.problem.empty() || result.pointer) {
    reject(node, fmt::format("the result of '{}' {}", name,
                             result.pointer ? "is a pointer" : result.problem));
  }
  std::string parameters;
  ShaderText text;
  for (const Json& part : node.at("inner")) {
    if (is_kind(part, "ParmVarDecl")) {
      const Type type = variable_type(part);
      if (!parameters.empty()) parameters += ", ";
      parameters += declare(type, shader_name(NameKind::kOrdinary, text_of(part, "name")));
    } else if (is_kind(part, "CompoundStmt")) {
      text.at(location_of(node));
      text.open(fmt::format("{}{} {}({})", language_.function_prefix(), type_name(result),
                            shader_name(NameKind::kOrdinary, name), parameters));
      text_ = &text;
      block(part);
      text.close();
    }
  }
  function_text_ += text.text();
}

void Emitter::record(const Record& record, ShaderText& text) const {
  text.open("struct " + record.name);
  for (const Field& field : record.fields) text.line(declare(field.type, field.name) + ";");
  text.close("};");
}

std::string Emitter::definitions(std::string_view text) {
  ShaderText tables;
  for (const Json& node : program_.unit.at("inner")) {
    const std::string name = text_of(node, "name");
    if (!is_kind(node, "VarDecl") || !tables_.contains(name)) continue;
    const Type type = variable_type(node);
    if (!node.contains("init")) reject(node, fmt::format("'{}' has no value", name));
    tables.at(location_of(node));
    tables.line(fmt::format("{} {} = {};", language_.constant(),
                            declare(type, shader_name(NameKind::kOrdinary, name)),
                            initializer(initial_value(node)).text));
  }
  ShaderText records;
  for (const Record* const used : types_.file_records()) {
    if (used->used && used->problem.empty()) record(*used, records);
  }
  const std::string helpers =
      language_.helpers_of(fmt::format("{}{}{}", tables.text(), function_text_, text));
  return records.text() + helpers + tables.text() + function_text_;
}

}  // namespace halyard::inline v0::compiler
