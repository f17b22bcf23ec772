// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/format.h"
#include "compiler/shader_emitter.h"
#include "halyard/base/half.h"

namespace halyard::inline v0::compiler {
namespace {

using Base = Type::Base;

bool is_cast(const Json& node) {
  return is_kind(node, "ImplicitCastExpr") || is_kind(node, "CStyleCastExpr");
}

bool is_pointer(const Json& node) {
  return text_of(node.at("type"), "qualType").find('*') != std::string::npos;
}

bool is_float(const Json& node) {
  const Json& type = node.at("type");
  const std::string name =
      text_of(type, type.contains("desugaredQualType") ? "desugaredQualType" : "qualType");
  return name == "float" || name == "const float";
}

// The value of "2.0" or "-2.0".
std::optional<double> literal_of(const Json& node) {
  const Json* literal = &bare(node);
  const bool minus = is_kind(*literal, "UnaryOperator") && text_of(*literal, "opcode") == "-";
  if (minus) literal = &bare(child(*literal, 0));
  if (!is_kind(*literal, "FloatingLiteral")) return {};
  const double number = std::strtod(text_of(*literal, "value").c_str(), nullptr);
  return minus ? -number : number;
}

bool is_step(const Json& node) {
  const std::string opcode = text_of(node, "opcode");
  return is_kind(node, "UnaryOperator") && (opcode == "++" || opcode == "--");
}

// The array or pointer of a subscript expression.
const Json& indexed(const Json& node) { return child(node, is_pointer(child(node, 1)) ? 1 : 0); }

}  // namespace

const Json& child(const Json& node, std::size_t index) { return node.at("inner").at(index); }

const Json& bare(const Json& node) {
  const std::string kind = text_of(node, "kind");
  const std::string cast = text_of(node, "castKind");
  if (kind == "ParenExpr" || kind == "ConstantExpr" || text_of(node, "opcode") == "__extension__" ||
      cast == "NoOp" || cast == "LValueToRValue" || cast == "FunctionToPointerDecay" ||
      cast == "BuiltinFnToFnPtr" || cast == "ArrayToPointerDecay") {
    return bare(child(node, 0));
  }
  if (kind == "GenericSelectionExpr") {
    for (const Json& part : node.at("inner")) {
      if (part.contains("selected")) return bare(part.at("inner").back());
    }
  }
  return node;
}

std::string function_name(const Json& call) {
  const Json& callee = bare(child(call, 0));
  return is_kind(callee, "DeclRefExpr") ? text_of(callee.at("referencedDecl"), "name") : "";
}

bool has_effects(const Json& node) {
  const std::string kind = text_of(node, "kind");
  const std::string opcode = text_of(node, "opcode");
  if (kind == "CallExpr" || kind == "CompoundAssignOperator" || opcode == "=" || opcode == "++" ||
      opcode == "--") {
    return true;
  }
  const auto inner = node.find("inner");
  if (inner == node.end()) return false;
  for (const Json& part : *inner) {
    if (has_effects(part)) return true;
  }
  return false;
}

const Json& initial_value(const Json& variable) {
  // The node also has attributes.
  for (const Json& part : variable.at("inner")) {
    if (part.contains("valueCategory")) return part;
  }
  return child(variable, 0);
}

std::string Emitter::value(const Json& node) {
  Text text = expression(node);
  if (!text.truth || types_.of(node).base == Base::kBool) return std::move(text.text);
  return fmt::format("int({})", text.text);
}

std::string Emitter::operand(const Json& node) {
  Text text = expression(node);
  if (text.truth && types_.of(node).base != Base::kBool) return fmt::format("int({})", text.text);
  return text.atom ? std::move(text.text) : fmt::format("({})", text.text);
}

std::string Emitter::condition(const Json& node) {
  Text text = expression(node);
  if (text.truth) return std::move(text.text);
  const std::string operand = text.atom ? std::move(text.text) : fmt::format("({})", text.text);
  switch (type_of(node).base) {
    case Base::kInt:
      return operand + " != 0";
    case Base::kUint:
      return operand + " != 0u";
    case Base::kFloat:
      return operand + " != 0.0f";
    default:
      reject(node, "this is not a condition");
  }
}

Emitter::Text Emitter::expression(const Json& node) {
  const Json& inside = bare(node);
  // The nodes that bare() skips have no text of their own, except an array that becomes a pointer.
  if (&inside != &node) {
    if (is_pointer(node)) reject(node, "a pointer, other than to index it at once");
    return expression(inside);
  }
  if (is_step(node) && node.at("isPostfix").get<bool>() && type_of(node).is_narrow()) {
    reject(node, "the value of ++ or -- after an 8- or 16-bit number");
  }
  if (!is_stored(node)) return place(node);
  return {language_.loaded(type_of(node), place(node).text), true};
}

Emitter::Text Emitter::place(const Json& node) {
  const Json& inside = bare(node);
  if (&inside != &node) return is_pointer(node) ? expression(node) : place(inside);
  const std::string kind = text_of(node, "kind");
  if (kind == "DeclRefExpr") return reference(node);
  if (kind == "IntegerLiteral") {
    const bool is_unsigned = type_of(node).base == Base::kUint;
    return {text_of(node, "value") + (is_unsigned ? "u" : ""), true};
  }
  if (kind == "CharacterLiteral") {
    // The tree prints it as unsigned.
    const auto code = static_cast<std::int32_t>(node.at("value").get<std::uint32_t>());
    return {std::to_string(code), code >= 0};
  }
  if (is_float(node)) {
    if (const auto known = constant(node)) return number(*known);
  }
  if (is_cast(node)) return cast(node);
  if (kind == "UnaryOperator") return unary(node);
  if (kind == "CompoundAssignOperator") return compound_assignment(node);
  if (kind == "BinaryOperator") return binary(node);
  if (kind == "CallExpr") return call(node);
  if (kind == "ConditionalOperator") {
    const Type type = type_of(node);
    if (type.is_array() || type.pointer) reject(node, "a choice between arrays");
    const std::string left = operand(child(node, 1));
    return {fmt::format("({}) ? {} : {}", condition(child(node, 0)), left, operand(child(node, 2))),
            false, type.base == Base::kBool};
  }
  if (kind == "ArraySubscriptExpr") {
    const Json& array = indexed(node);
    return element(array, value(child(node, &array == &child(node, 0) ? 1 : 0)));
  }
  if (kind == "MemberExpr") {
    if (node.at("isArrow").get<bool>()) reject(node, "a member through a pointer");
    const Type type = type_of(node);
    return {fmt::format("{}.{}", operand(child(node, 0)),
                        shader_name(NameKind::kOrdinary, text_of(node, "name"))),
            true, type.base == Base::kBool && !type.is_array()};
  }
  if (kind == "InitListExpr") return initializer(node);
  if (kind == "ImplicitValueInitExpr") return {zero(type_of(node)), true};
  if (kind == "CompoundLiteralExpr") {
    if (type_of(node).is_array()) reject(node, "an array without a name");
    return initializer(child(node, 0));
  }
  if (kind == "UnaryExprOrTypeTraitExpr" && text_of(node, "name") == "sizeof") {
    const auto named = node.find("argType");
    Type type =
        named != node.end() ? types_.parse(text_of(*named, "qualType")) : types_.of(child(node, 0));
    if (!type.problem.empty()) reject(node, fmt::format("the size of what {}", type.problem));
    return {fmt::format("{}u", type.bytes()), true};
  }
  if (kind == "StmtExpr") reject(node, "statements within an expression");
  if (kind == "AtomicExpr") reject(node, "an atomic other than those of halyard/kernel.h");
  reject(node, fmt::format("an expression of this kind ({})", kind));
}

// A float whose value is a constant: a shader compiler may round constants differently from C.
std::optional<float> Emitter::constant(const Json& node) const {
  const Json& inside = bare(node);
  const std::string kind = text_of(inside, "kind");
  const std::string opcode = text_of(inside, "opcode");
  if (text_of(inside, "castKind") == "FloatingCast" && is_float(inside)) {
    // "2.0" where a float is expected.
    const auto number = literal_of(child(inside, 0));
    return number ? std::optional(static_cast<float>(*number)) : std::nullopt;
  }
  if (!is_float(inside)) return {};
  if (kind == "FloatingLiteral") return std::strtof(text_of(inside, "value").c_str(), nullptr);
  if (kind == "DeclRefExpr") {
    const Json& declaration = inside.at("referencedDecl");
    const auto found = program_.variables.find(text_of(declaration, "name"));
    if (found == program_.variables.end() || !found->second->contains("init") ||
        text_of(*found->second, "id") != text_of(declaration, "id")) {
      return {};
    }
    return constant(initial_value(*found->second));
  }
  if (text_of(inside, "castKind") == "IntegralToFloating") {
    const Json& literal = bare(child(inside, 0));
    if (!is_kind(literal, "IntegerLiteral")) return {};
    return static_cast<float>(std::strtoull(text_of(literal, "value").c_str(), nullptr, 10));
  }
  if (kind == "UnaryOperator" && (opcode == "-" || opcode == "+")) {
    const auto known = constant(child(inside, 0));
    return known && opcode == "-" ? -*known : known;
  }
  if (kind == "BinaryOperator" && opcode.size() == 1) {
    const auto left = constant(child(inside, 0));
    const auto right = left ? constant(child(inside, 1)) : left;
    if (!right) return {};
    switch (opcode[0]) {
      case '+':
        return *left + *right;
      case '-':
        return *left - *right;
      case '*':
        return *left * *right;
      case '/':
        return *left / *right;
      default:
        return {};
    }
  }
  if (kind == "CallExpr") {
    const std::string name = function_name(inside);
    if (name == "__builtin_inff" || name == "__builtin_huge_valf") return HUGE_VALF;
    if (name == "__builtin_nanf") return std::nanf("");
  }
  return {};
}

// The value of a constant, rounded to half. A double must be exact as a float.
std::optional<float> Emitter::half_constant(const Json& node) const {
  std::optional<float> known = constant(node);
  if (const auto literal = known ? std::nullopt : literal_of(node)) {
    if (static_cast<double>(static_cast<float>(*literal)) == *literal) {
      known = static_cast<float>(*literal);
    }
  } else if (const Json& inside = bare(node); is_kind(inside, "IntegerLiteral")) {
    known = static_cast<float>(std::strtoull(text_of(inside, "value").c_str(), nullptr, 10));
  }
  return known ? std::optional<float>(Half(*known)) : std::nullopt;
}

Emitter::Text Emitter::number(float number) const {
  // Shaders have no text for infinity, and may treat a denormal as 0.
  if (!std::isnormal(number) && (number != 0.0f || std::signbit(number))) {
    return {fmt::format("{}(0x{:08x}u)", language_.float_from_bits(),
                        std::isnan(number) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(number)),
            true};
  }
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return {text + "f", number >= 0.0f};
}

// Without `narrow`, returns the value before truncation or rounding.
Emitter::Text Emitter::cast(const Json& node, bool narrow) {
  const std::string kind = text_of(node, "castKind");
  const Json& from = child(node, 0);
  if (kind == "IntegralToBoolean" || kind == "FloatingToBoolean") {
    return {condition(from), false, true};
  }
  if (kind == "ToVoid") return expression(from);
  const Type to = type_of(node);
  if (kind == "IntegralCast" || kind == "IntegralToFloating" || kind == "FloatingToIntegral" ||
      kind == "FloatingCast" || kind == "BooleanToSignedIntegral") {
    if (const auto known =
            to.is_narrow() && to.base == Base::kFloat ? half_constant(from) : std::nullopt) {
      return number(*known);
    }
    const Type given = type_of(from);
    const bool same = to.base == given.base;
    if (same && to.bits >= given.bits) return expression(from);
    const Json& literal = bare(from);
    Text text{{}, true};
    if (same) {
      text = {value(from)};
    } else if (is_kind(literal, "IntegerLiteral") && to.base == Base::kUint) {
      text.text = text_of(literal, "value") + "u";
    } else {
      text.text = fmt::format("{}({})", type_name(to), expression(from).text);
    }
    if (!narrow || !to.is_narrow()) return text;
    return {language_.narrowed(to, text.text), true};
  }
  reject(node, fmt::format("a conversion of this kind ({})", kind));
}

Emitter::Text Emitter::unary(const Json& node) {
  const std::string opcode = text_of(node, "opcode");
  const Json& inner = child(node, 0);
  if (opcode == "!") {
    const std::string text = condition(inner);
    return {fmt::format("!({})", text), false, true};
  }
  if (opcode == "*") return element(inner, "0");
  if (opcode == "&") reject(node, "an address");
  if (is_pointer(node)) reject(node, "a pointer that moves");
  const Type type = type_of(node);
  if (opcode == "+") return {operand(inner), true};
  if (opcode == "-" || opcode == "~") return {opcode + operand(inner)};
  if (opcode == "++" || opcode == "--") {
    if (type.base == Base::kBool) reject(node, "++ or -- on a _Bool");
    if (type.is_narrow()) {
      if (has_effects(inner)) reject(node, "++ or -- on an expression with side effects");
      const std::string next =
          fmt::format("{} {} {}(1)", operand(inner), opcode.substr(1), type_name(type));
      return {fmt::format(
          "{} = {}", place(inner).text,
          is_stored(inner) ? language_.stored(type, next) : language_.narrowed(type, next))};
    }
    return {node.at("isPostfix").get<bool>() ? operand(inner) + opcode : opcode + operand(inner)};
  }
  reject(node, fmt::format("the operator '{}'", opcode));
}

std::string Emitter::operate(const std::string& opcode, Base type, const std::string& left,
                             const std::string& right) const {
  const std::string_view function = language_.operation(opcode, type);
  return function.empty() ? fmt::format("{} {} {}", left, opcode, right)
                          : fmt::format("{}({}, {})", function, left, right);
}

Emitter::Text Emitter::binary(const Json& node) {
  const std::string opcode = text_of(node, "opcode");
  const Json& left = child(node, 0);
  const Json& right = child(node, 1);
  if (opcode == "&&" || opcode == "||") {
    const std::string first = condition(left);
    return {fmt::format("({}) {} ({})", first, opcode, condition(right)), false, true};
  }
  if (opcode == ",") {
    // C's comma discards its left side, which is omitted if it has no side effects.
    if (!has_effects(left)) return expression(right);
    const std::string first = place(left).text;
    return {fmt::format("({}, {})", first, value(right)), true,
            types_.of(node).base == Base::kBool};
  }
  if (is_pointer(node) || is_pointer(left)) {
    reject(node, "a pointer, other than to index it at once");
  }
  const Type type = type_of(left);
  if (opcode == "=") {
    const std::string to = place(left).text;
    if (is_stored(left)) {
      const Json& from = bare(right);
      const std::string text = is_cast(from) ? cast(from, false).text : value(right);
      return {fmt::format("{} = {}", to, language_.stored(type, text))};
    }
    return {fmt::format("{} = {}", to, value(right)), false, type.base == Base::kBool};
  }
  const std::string first = operand(left);
  static constexpr std::array<std::string_view, 6> kComparisons = {
      "<", ">", "<=", ">=", "==", "!="};
  for (const std::string_view comparison : kComparisons) {
    if (opcode == comparison) {
      return {fmt::format("{} {} {}", first, opcode, operand(right)), false, true};
    }
  }
  return {operate(opcode, type_of(node).base, first, operand(right))};
}

Emitter::Text Emitter::compound_assignment(const Json& node) {
  std::string opcode = text_of(node, "opcode");
  const Json& left = child(node, 0);
  if (is_pointer(left)) reject(node, "a pointer that moves");
  const Type to = type_of(left);
  Json computed = Json::object();
  computed["type"] = node.at("computeLHSType");
  const Type type = types_.of(computed);
  if (!type.problem.empty()) {
    reject(node, fmt::format("a computation in what {}", type.problem));
  }
  const std::string target = place(left).text;
  const std::string by = operand(child(node, 1));
  const std::string plain = opcode.substr(0, opcode.size() - 1);
  if (to.base == type.base && !to.is_narrow() && language_.operation(plain, type.base).empty()) {
    return {fmt::format("{} {} {}", target, opcode, by)};
  }
  // Expanded to a binary operation, so the left side is evaluated twice.
  if (has_effects(left)) {
    reject(node, fmt::format("'{}' on an expression with side effects", opcode));
  }
  const std::string current = is_stored(left) ? language_.loaded(to, target) : target;
  const std::string before =
      to.base == type.base ? current : fmt::format("{}({})", type_name(type), current);
  std::string after = operate(plain, type.base, before, by);
  if (to.base == Base::kBool) {
    after = fmt::format("({}) != {}(0)", after, type_name(type));
  } else if (to.base != type.base) {
    after = fmt::format("{}({})", type_name(to), after);
  }
  if (to.is_narrow()) {
    after = is_stored(left) ? language_.stored(to, after) : language_.narrowed(to, after);
  }
  return {fmt::format("{} = {}", target, after), false, to.base == Base::kBool};
}

Emitter::Text Emitter::reference(const Json& node) {
  const Json& declaration = node.at("referencedDecl");
  const std::string kind = text_of(declaration, "kind");
  const std::string id = text_of(declaration, "id");
  const std::string name = text_of(declaration, "name");
  if (kind == "EnumConstantDecl") {
    const auto found = enumerators_.find(id);
    if (found == enumerators_.end()) reject(node, fmt::format("the enumerator '{}'", name));
    return {found->second, !found->second.starts_with('-')};
  }
  const Type type = type_of(node);
  const bool truth = type.base == Base::kBool && !type.is_array();
  if (const auto found = parameters_.find(id); found != parameters_.end()) {
    return {found->second.name, true, truth};
  }
  if (const auto found = program_.variables.find(name);
      found != program_.variables.end() && text_of(*found->second, "id") == id) {
    tables_.insert(name);
  }
  return {shader_name(NameKind::kOrdinary, name), true, truth};
}

bool Emitter::is_stored(const Json& node) {
  const Json* at = &bare(node);
  // The value of an assignment is the value of its left side.
  while (is_kind(*at, "CompoundAssignOperator") || text_of(*at, "opcode") == "=" || is_step(*at)) {
    at = &bare(child(*at, 0));
  }
  const bool indirect = is_kind(*at, "UnaryOperator") && text_of(*at, "opcode") == "*";
  if (!indirect && !is_kind(*at, "ArraySubscriptExpr")) return false;
  if (!types_.of(*at).is_narrow()) return false;
  at = &bare(indirect ? child(*at, 0) : indexed(*at));
  while (is_kind(*at, "BinaryOperator")) at = &bare(indexed(*at));
  if (!is_kind(*at, "DeclRefExpr")) return false;
  const auto found = parameters_.find(text_of(at->at("referencedDecl"), "id"));
  return found != parameters_.end() && found->second.space == Space::kBuffer;
}

// p[index], where p is a parameter, an array, or one of these plus an offset.
Emitter::Text Emitter::element(const Json& pointer, std::string index) {
  const Json& inside = bare(pointer);
  if (is_kind(inside, "BinaryOperator") && is_pointer(inside)) {
    const bool reversed = is_pointer(child(inside, 1));
    const bool minus = text_of(inside, "opcode") == "-";
    if (text_of(inside, "opcode") != "+" && !minus) {
      reject(inside, "a pointer, other than to index it at once");
    }
    const std::string offset = operand(child(inside, reversed ? 0 : 1));
    return element(child(inside, reversed ? 1 : 0), minus
                                                        ? fmt::format("({}) - {}", index, offset)
                                                        : fmt::format("{} + ({})", offset, index));
  }
  const std::string kind = text_of(inside, "kind");
  if (kind != "DeclRefExpr" && kind != "ArraySubscriptExpr" && kind != "MemberExpr") {
    reject(inside, "a pointer, other than to index it at once");
  }
  const Type type = types_.of(inside);
  if (!type.problem.empty()) reject(inside, fmt::format("what {}", type.problem));
  const bool inmost = type.pointer ? !type.is_array() : type.extents.size() == 1;
  return {fmt::format("{}[{}]", expression(inside).text, index), true,
          inmost && type.base == Base::kBool};
}

std::string Emitter::zero(const Type& type) const {
  std::vector<std::string> members;
  if (type.is_array()) {
    members.assign(type.extents[0], zero(type.element()));
    return language_.aggregate(type, members);
  }
  switch (type.base) {
    case Base::kRecord:
      for (const Field& field : type.record->fields) members.push_back(zero(field.type));
      return language_.aggregate(type, members);
    case Base::kBool:
      return "false";
    case Base::kUint:
      return "0u";
    case Base::kFloat:
      return "0.0f";
    default:
      return "0";
  }
}

Emitter::Text Emitter::initializer(const Json& node) {
  const Json& list = bare(node);
  if (!is_kind(list, "InitListExpr")) return expression(list);
  const Type type = type_of(list);
  if (!type.is_array() && type.base != Base::kRecord) {
    return list.contains("inner") ? expression(child(list, 0)) : Text{zero(type), true};
  }
  // The first element of array_filler represents all missing ones.
  const auto filler = list.find("array_filler");
  const auto inner = list.find("inner");
  std::vector<std::string> members;
  const std::size_t skip = filler != list.end() ? 1 : 0;
  const auto given = skip == 1 ? filler : inner;
  if (given != list.end()) {
    for (std::size_t i = skip; i < given->size(); ++i) {
      const Json& member = given->at(i);
      members.push_back(is_kind(bare(member), "InitListExpr") ? initializer(member).text
                                                              : value(member));
    }
  }
  while (type.is_array() && members.size() < type.extents[0])
    members.push_back(zero(type.element()));
  return {language_.aggregate(type, members), true};
}

Emitter::Text Emitter::call(const Json& node) {
  const std::string name = function_name(node);
  if (name.empty()) reject(node, "a call through a pointer");
  if (name.starts_with("hy_text_")) return atomic(node, std::string_view(name).substr(8));
  if (name == "hy_barrier") return {std::string(language_.barrier()), true};
  if (name.starts_with("hy_local_"))
    return {fmt::format("{}.{}", language_.local(), name[9]), true};
  if (name == "__builtin_trap") reject(node, "__builtin_trap(), since it cannot stop a launch");

  std::string arguments;
  for (std::size_t i = 1; i < node.at("inner").size(); ++i) {
    const Json& argument = child(node, i);
    if (is_pointer(argument)) {
      reject(argument, fmt::format("a pointer or array as an argument (of '{}')", name));
    }
    if (i > 1) arguments += ", ";
    arguments += value(argument);
  }
  const auto called = [&](std::string_view function) {
    return Text{fmt::format("{}({})", function, arguments), true,
                types_.of(node).base == Base::kBool};
  };
  // The headers implement these with unions.
  if (name == "hy_float_as_uint") return called(language_.bits_from_float());
  if (name == "hy_uint_as_float") return called(language_.float_from_bits());
  if (const std::string_view builtin = language_.builtin(name); !builtin.empty()) {
    // Some of these functions return an int in one language and a uint in another.
    if (type_of(node).base != Base::kInt) return called(builtin);
    return {fmt::format("int({}({}))", builtin, arguments), true};
  }
  if (!program_.functions.contains(name)) {
    reject(node, fmt::format("a call of '{}', which has no body here", name));
  }
  need(name, node);
  return called(shader_name(NameKind::kOrdinary, name));
}

Emitter::Text Emitter::atomic(const Json& node, std::string_view name) {
  // "compare_exchange_uint" (&element, ...)
  const std::string_view operation = name.substr(0, name.rfind('_'));
  const Json& address = bare(child(node, 1));
  if (text_of(address, "opcode") != "&") reject(node, "an atomic on a pointer");
  const Json* root = &bare(child(address, 0));
  while (!is_kind(*root, "DeclRefExpr") && root->contains("inner")) root = &bare(child(*root, 0));
  const auto found = is_kind(*root, "DeclRefExpr")
                         ? parameters_.find(text_of(root->at("referencedDecl"), "id"))
                         : parameters_.end();
  if (found == parameters_.end() || found->second.space == Space::kOwn) {
    reject(node, "an atomic on something other than a buffer or shared array");
  }
  std::string values = value(child(node, 2));
  for (std::size_t i = 3; i < node.at("inner").size(); ++i) values += ", " + value(child(node, i));
  const std::string element = operand(child(address, 0));
  return {language_.atomic(operation, type_of(node).base, found->second.space, element, values),
          true};
}

}  // namespace halyard::inline v0::compiler
