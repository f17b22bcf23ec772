// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/msl/rewrite.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "simulation/metal/msl/rewriter.h"

namespace halyard::inline v0::sim::msl {
namespace {

constexpr std::string_view kFunctionWords[] = {"kernel", "vertex", "fragment", "visible"};

// Names with a meaning in OpenCL but not in Metal.
constexpr std::string_view kForeign[] = {
    "local",        "global",        "generic",     "pipe",         "event_t",      "queue_t",
    "read_only",    "write_only",    "read_write",  "uniform",      "reserve_id_t", "clk_event_t",
    "ndrange_t",    "atomic_int",    "atomic_uint", "atomic_float", "atomic_bool",  "atomic_long",
    "atomic_ulong", "atomic_double", "atomic_flag", "__global",     "__local"};

}  // namespace

void Rewriter::replace_words() {
  for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
    Token& t = tokens_[i];
    if (t.kind != Token::Kind::kWord) continue;
    if (t.is("device") || t.is("ray_data") || t.is("object_data")) {
      t.out = "__global";
    } else if (t.is("threadgroup")) {
      t.out = "__local";
    } else if (t.is("thread")) {
      t.out = "__private";
    } else if (t.is("constant")) {
      t.out = constant_space_;
    } else if (std::ranges::find(kForeign, t.text) != std::end(kForeign)) {
      t.out = "__hy_" + std::string(t.text);
    } else if (t.is("coherent") && tokens_[i + 1].is("(")) {
      blank(i, closing(tokens_, i + 1) + 1);
    } else if (t.is("coherent") && tokens_[i + 1].is("device")) {
      t.out.clear();
    }
  }
}

void Rewriter::blank(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    tokens_[i].out.clear();
    tokens_[i].before.clear();
    tokens_[i].after.clear();
  }
}

// Takes out every [[...]]; those of the entry functions are read from the tokens, which stay.
void Rewriter::take_attributes() {
  for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
    if (!is_attribute(i)) continue;
    const std::size_t end = closing(tokens_, i) + 1;
    blank(i, end);
    i = end - 1;
  }
}

bool Rewriter::is_attribute(std::size_t i) const {
  return tokens_[i].is("[") && tokens_[i + 1].is("[") && tokens_[i + 1].space.empty() &&
         tokens_[i + 2].kind == Token::Kind::kWord;
}

// Turns the operands of ?: into values (__hy_value in shim/traits.h).
void Rewriter::wrap_conditionals() {
  for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
    if (!tokens_[i].is("?")) continue;
    std::size_t colon = i + 1;
    int nested = 0;
    while (colon < tokens_.size()) {
      const Token& t = tokens_[colon];
      if (t.is("(") || t.is("[") || t.is("{")) colon = closing(tokens_, colon);
      if (t.is("?")) ++nested;
      if (t.is(":") && nested-- == 0) break;
      if (t.is(";") || t.kind == Token::Kind::kEnd) return;
      ++colon;
    }
    std::size_t end = colon + 1;
    nested = 0;
    while (end < tokens_.size()) {
      const Token& t = tokens_[end];
      if (t.is("(") || t.is("[") || t.is("{")) {
        end = closing(tokens_, end);
      } else if (t.is("<") && tokens_[end - 1].kind == Token::Kind::kWord) {
        const std::size_t behind = behind_angles(tokens_, end);
        if (behind != end &&
            (tokens_[behind].is("(") || tokens_[behind].is("{") || tokens_[behind].is("::"))) {
          end = behind;
          continue;
        }
      } else if (t.is("?")) {
        ++nested;
      } else if (t.is(":") && nested-- == 0) {
        break;
      } else if (t.is(",") || t.is(";") || t.is(")") || t.is("]") || t.is("}") ||
                 t.kind == Token::Kind::kEnd) {
        break;
      }
      ++end;
    }
    wrap_value(i + 1, colon);
    wrap_value(colon + 1, end);
  }
}

void Rewriter::wrap_value(std::size_t begin, std::size_t end) {
  if (end <= begin || tokens_[begin].is("{") || tokens_[begin].is("throw")) return;
  // A literal is a value; 0 must stay a null pointer.
  if (end == begin + 1 &&
      (tokens_[begin].kind != Token::Kind::kWord || tokens_[begin].is("nullptr")))
    return;
  tokens_[begin].before.insert(0, " ::metal::__hy_value(");
  tokens_[end - 1].after += ")";
}

// `is_function_constant_defined(c)` and `constant T c [[function_constant(n)]];`
void Rewriter::function_constant(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    if (!is_attribute(i) || !tokens_[i + 2].is("function_constant")) continue;
    if (i == begin || tokens_[i - 1].kind != Token::Kind::kWord) return;
    WrittenConstant constant;
    constant.name = tokens_[i - 1].text;
    constant.index = static_cast<std::uint32_t>(
        std::strtoul(std::string(tokens_[i + 4].text).c_str(), nullptr, 0));
    for (std::size_t k = begin; k + 1 < i; ++k) {
      const Token& t = tokens_[k];
      if (t.is("constant") || t.is("const") || t.is("static") || t.is("constexpr")) continue;
      if (!constant.type.empty()) constant.type += ' ';
      constant.type += t.text;
    }
    if (i + 1 < tokens_.size()) {
      tokens_[i - 1].after += " = __HY_VALUE_" + constant.name;
    }
    result_.constants.push_back(std::move(constant));
    return;
  }
}

void Rewriter::defined_constants() {
  for (std::size_t i = 0; i + 3 < tokens_.size(); ++i) {
    if (!tokens_[i].is("is_function_constant_defined") || !tokens_[i + 1].is("(")) continue;
    const std::string name(tokens_[i + 2].text);
    for (WrittenConstant& constant : result_.constants) {
      if (constant.name == name) constant.required = false;
    }
    const std::size_t end = closing(tokens_, i + 1) + 1;
    blank(i, end);
    tokens_[i].out = "__HY_DEFINED_" + name;
  }
}

// A `threadgroup` variable in a function: memory of the group, as a reference.
bool Rewriter::threadgroup_variable(std::size_t begin, std::size_t end, std::size_t function) {
  std::size_t i = begin;
  bool found = false;
  std::string alignment;
  while (i < end) {
    const Token& t = tokens_[i];
    if (t.is("alignas") || t.is("__attribute__")) {
      const std::size_t close = closing(tokens_, i + 1) + 1;
      for (std::size_t k = i; k < close; ++k) (alignment += tokens_[k].text) += ' ';
      i = close;
    } else if (t.is("static") || t.is("volatile") || t.is("const")) {
      ++i;
    } else if (t.is("threadgroup")) {
      found = true;
      ++i;
    } else {
      break;
    }
  }
  // `volatile T threadgroup x` and the like: the space may also follow the type.
  const std::size_t type_begin = i;
  std::size_t name = 0;
  for (std::size_t k = i; k <= end; ++k) {
    const Token& t = tokens_[k];
    if (t.is("<")) {
      const std::size_t behind = behind_angles(tokens_, k);
      if (behind != k) {
        k = behind - 1;
        continue;
      }
    }
    if (t.is("threadgroup")) found = true;
    if (t.is("alignas") || t.is("__attribute__")) {
      if (k != i && tokens_[k - 1].kind == Token::Kind::kWord && name == 0 &&
          !tokens_[k - 1].is("threadgroup") && k > type_begin + 1) {
        name = k - 1;
        break;
      }
      k = closing(tokens_, k + 1);
      continue;
    }
    if (t.is("*") || t.is("&") || t.is("(") || t.is("=") || t.is("{")) return false;
    if (t.is("[") || t.is(",") || t.is(";")) {
      name = k - 1;
      break;
    }
  }
  if (!found || name <= type_begin || tokens_[name].kind != Token::Kind::kWord) return false;
  std::string type;
  for (std::size_t k = type_begin; k < name; ++k) {
    if (tokens_[k].is("threadgroup")) continue;
    if (tokens_[k].out.empty()) continue;
    (type += tokens_[k].out) += ' ';
  }
  std::string text;
  std::size_t k = name;
  while (k < end) {
    const std::string variable(tokens_[k].out);
    ++k;
    std::string dimensions, own_alignment = alignment;
    while (k < end && !tokens_[k].is(",")) {
      if (tokens_[k].is("[") && !is_attribute(k)) {
        const std::size_t close = closing(tokens_, k) + 1;
        for (; k < close; ++k) (dimensions += tokens_[k].out) += ' ';
      } else if (tokens_[k].is("__attribute__") || tokens_[k].is("alignas")) {
        const std::size_t close = closing(tokens_, k + 1) + 1;
        for (; k < close; ++k) (own_alignment += tokens_[k].text) += ' ';
      } else if (is_attribute(k)) {
        k = closing(tokens_, k) + 1;
      } else {
        return false;  // an initial value, which clang reports
      }
    }
    ++k;
    const std::uint32_t id = next_variable_++;
    result_.mentions[function].variables.push_back(id);
    const std::string number = std::to_string(id);
    const std::string holder = "__hy_variable_" + number;
    if (!text.empty()) text += "; ";
    text += "typedef " + type + "__hy_type_" + number + " " + dimensions + "; struct " + holder +
            " { " + own_alignment + " __hy_type_" + number + " x; }; __HY_VARIABLE(" + number +
            ", " + holder + ") __local __hy_type_" + number + "& " + variable +
            " = *(__local __hy_type_" + number +
            "*)__hy_variable_at((ulong)__PRETTY_FUNCTION__ * 4096ul + " + number + "ul, sizeof(" +
            holder + "), alignof(" + holder + "))";
  }
  blank(begin, end);
  tokens_[begin].out = text;
  return true;
}

// An array or a scalar in `constant` in a function has static storage.
void Rewriter::local_constant(std::size_t begin, std::size_t end) {
  bool constant = false;
  for (std::size_t i = begin; i < end; ++i) {
    const Token& t = tokens_[i];
    if (t.is("static")) return;
    if (t.is("constant")) constant = true;
    if (t.is("<")) {
      const std::size_t behind = behind_angles(tokens_, i);
      if (behind != i) i = behind - 1;
      continue;
    }
    if (t.is("*") || t.is("&") || t.is("(")) return;
    if (t.is("=") || t.is("[") || t.is("{")) break;
  }
  const Token& first = tokens_[begin];
  if (constant && (first.is("constant") || first.is("constexpr") || first.is("const")))
    tokens_[begin].before.insert(0, "static ");
}

Rewritten rewrite(std::string_view preprocessed, std::string_view constant_space) {
  Rewriter rewriter(preprocessed, constant_space);
  return rewriter.run();
}

bool is_function_word(std::string_view word) noexcept {
  return std::ranges::find(kFunctionWords, word) != std::end(kFunctionWords);
}

}  // namespace halyard::inline v0::sim::msl
