// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry functions: their names, parameters and attributes.
#include <algorithm>
#include <cstdlib>

#include "simulation/metal/msl/rewriter.h"

namespace halyard::inline v0::sim::msl {
namespace {

std::uint32_t number(const Token& token) {
  return static_cast<std::uint32_t>(std::strtoul(std::string(token.text).c_str(), nullptr, 0));
}

FunctionKind kind_of(std::string_view word) noexcept {
  if (word == "vertex") return FunctionKind::kVertex;
  if (word == "fragment") return FunctionKind::kFragment;
  if (word == "visible") return FunctionKind::kVisible;
  return FunctionKind::kKernel;
}

std::string unquoted(std::string_view text) {
  return text.size() < 2 ? std::string() : std::string(text.substr(1, text.size() - 2));
}

}  // namespace

void Rewriter::read_attributes(WrittenFunction& f, std::size_t begin, std::size_t end) const {
  for (std::size_t i = begin; i < end; ++i) {
    if (!is_attribute(i)) continue;
    const std::size_t close = closing(tokens_, i);
    for (std::size_t k = i + 2; k < close; ++k) {
      const Token& t = tokens_[k];
      if (t.is("host_name")) f.host_name = unquoted(tokens_[k + 2].text);
      if (t.is("max_total_threads_per_threadgroup")) f.max_total_threads = number(tokens_[k + 2]);
      if (t.is("required_threads_per_threadgroup")) {
        int dimension = 0;
        for (std::size_t n = k + 2; n < close && dimension < 3; ++n) {
          if (tokens_[n].kind == Token::Kind::kNumber)
            f.required_threads[dimension++] = number(tokens_[n]);
        }
        while (dimension < 3) f.required_threads[dimension++] = 1;
      }
    }
    i = close;
  }
}

// True if the head of a declaration makes it an entry function. Removes these words.
bool Rewriter::entry_words(WrittenFunction& f, std::size_t begin, std::size_t end) {
  bool found = false;
  for (std::size_t i = begin; i < end; ++i) {
    if (is_attribute(i)) {
      const std::size_t close = closing(tokens_, i);
      for (std::size_t k = i + 2; k < close; ++k) {
        if (!is_function_word(tokens_[k].text)) continue;
        f.kind = kind_of(tokens_[k].text);
        found = true;
      }
      i = close;
    } else if (tokens_[i].is("(")) {
      break;
    } else if (tokens_[i].kind == Token::Kind::kWord && !tokens_[i].is("visible") &&
               is_function_word(tokens_[i].text)) {
      f.kind = kind_of(tokens_[i].text);
      tokens_[i].out.clear();
      found = true;
    }
  }
  return found;
}

void Rewriter::entry_function(std::size_t begin, std::size_t end) {
  WrittenFunction f;
  if (!entry_words(f, begin, end)) return;
  const std::size_t head = behind_template(begin, end);
  const std::size_t open = parameters_of(head, end);
  if (open == end || open == begin) return;
  const std::string_view name = tokens_[open - 1].text;
  f.name = scope_name(name);
  f.expression = "::" + f.name;  // `metal` may have the name, too
  f.host_name = name;
  read_attributes(f, head, open);
  read_attributes(f, closing(tokens_, open), end);
  read_parameters(f, open);
  if (head != begin) {
    // Not before `template <...>`.
    templates_.push_back(std::move(f));
    return;
  }
  tokens_[head].before.insert(0, "__attribute__((internal_linkage)) ");
  result_.functions.push_back(std::move(f));
}

// `template [[host_name("x")]] [[kernel]] void f<float>(...);` or with `decltype(f<float>)
// f<float>`.
void Rewriter::explicit_instance(std::size_t begin, std::size_t end) {
  WrittenFunction f;
  read_attributes(f, begin, end);
  (void)entry_words(f, begin + 1, end);
  const std::size_t open = parameters_of(begin + 1, end);
  // The name precedes the parameters, or the end: words, ::, and <...>.
  std::size_t first = begin + 1;
  std::size_t name = end;
  for (std::size_t i = begin + 1; i < open; ++i) {
    const Token& t = tokens_[i];
    if (t.is("decltype") || t.is("__attribute__")) {
      i = closing(tokens_, i + 1);
    } else if (is_attribute(i)) {
      i = closing(tokens_, i);
    } else if (t.is("<")) {
      const std::size_t behind = behind_angles(tokens_, i);
      if (behind != i) i = behind - 1;
    } else if (t.kind == Token::Kind::kWord) {
      if (name == end || !tokens_[i - 1].is("::")) first = i;
      name = i;
    }
  }
  if (name == end) return;
  std::string simple(tokens_[name].text);
  const auto base = std::ranges::find_if(templates_, [&](const WrittenFunction& t) {
    return t.name == simple || t.name == scope_name(simple) || t.name.ends_with("::" + simple);
  });
  if (base == templates_.end()) return;
  f.kind = base->kind;
  f.name = base->name;
  if (f.max_total_threads == 0) f.max_total_threads = base->max_total_threads;
  std::string expression = "::" + base->name;
  for (std::size_t i = name + 1; i < open; ++i) {
    if (is_attribute(i)) {
      i = closing(tokens_, i);
      continue;
    }
    (expression += tokens_[i].before) += tokens_[i].out;
    expression += tokens_[i].after + ' ';
  }
  (void)first;
  f.expression = expression;
  if (f.host_name.empty()) f.host_name = expression.substr(2);
  f.parameters = base->parameters;
  if (open != end) {
    // Attributes may be repeated, or given only here.
    WrittenFunction own;
    read_parameters(own, open);
    if (own.parameters.size() == f.parameters.size()) {
      for (std::size_t i = 0; i < own.parameters.size(); ++i) {
        WrittenParameter& to = f.parameters[i];
        const WrittenParameter& from = own.parameters[i];
        if (to.index < 0) to.index = from.index;
        if (to.input.empty()) to.input = from.input;
        if (!from.struct_name.empty()) to.struct_name = from.struct_name;
      }
    }
  }
  result_.functions.push_back(std::move(f));
}

void Rewriter::read_parameters(WrittenFunction& f, std::size_t open) {
  const std::size_t close = closing(tokens_, open);
  std::size_t begin = open + 1;
  for (std::size_t i = open + 1; i <= close; ++i) {
    const Token& t = tokens_[i];
    if (t.is("<")) {
      const std::size_t behind = behind_angles(tokens_, i);
      if (behind != i) {
        i = behind - 1;
        continue;
      }
    }
    if (i != close && (t.is("(") || t.is("[") || t.is("{"))) {
      i = closing(tokens_, i);
      continue;
    }
    if (i != close && !t.is(",")) continue;
    if (i > begin && !(i == begin + 1 && tokens_[begin].is("void")))
      f.parameters.push_back(read_parameter(begin, i));
    begin = i + 1;
  }
}

WrittenParameter Rewriter::read_parameter(std::size_t begin, std::size_t end) const {
  WrittenParameter p;
  std::string last_word, type_word;
  for (std::size_t i = begin; i < end; ++i) {
    const Token& t = tokens_[i];
    if (is_attribute(i)) {
      const std::size_t close = closing(tokens_, i);
      for (std::size_t k = i + 2; k < close; ++k) {
        const Token& a = tokens_[k];
        if (a.kind != Token::Kind::kWord) continue;
        if (a.is("buffer") || a.is("threadgroup") || a.is("texture") || a.is("sampler")) {
          p.kind = a.is("buffer")        ? ArgumentKind::kBuffer
                   : a.is("threadgroup") ? ArgumentKind::kThreadgroup
                   : a.is("texture")     ? ArgumentKind::kTexture
                                         : ArgumentKind::kSampler;
          if (tokens_[k + 1].is("(")) p.index = static_cast<std::int32_t>(number(tokens_[k + 2]));
          k = std::min(close, k + 3);
        } else if (a.is("function_constant")) {
          p.function_constant = tokens_[k + 2].text;
          k = std::min(close, k + 3);
        } else {
          p.input = a.text;
        }
      }
      i = close;
    } else if (t.is("<")) {
      const std::size_t behind = behind_angles(tokens_, i);
      if (behind != i) i = behind - 1;
      last_word.clear();
    } else if (t.is("=")) {
      break;
    } else if (t.is("*") || t.is("&")) {
      if (!p.indirect) type_word = last_word;
      p.indirect = true;
    } else if (t.is("threadgroup")) {
      if (!p.indirect) p.kind = ArgumentKind::kThreadgroup;
    } else if (t.is("constant")) {
      if (!p.indirect) p.constant_space = p.is_const = true;
    } else if (t.is("const")) {
      if (!p.indirect) p.is_const = true;
    } else if (t.kind == Token::Kind::kWord && !t.is("device") && !t.is("volatile") &&
               !t.is("__restrict") && !t.is("restrict") && !t.is("struct") && !t.is("thread")) {
      if (p.indirect || !t.is("__attribute__")) last_word = t.text;
    }
  }
  p.name = last_word;
  if (p.indirect) p.struct_name = type_word;
  return p;
}

}  // namespace halyard::inline v0::sim::msl
