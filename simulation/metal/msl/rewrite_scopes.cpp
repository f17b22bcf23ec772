// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over scopes: the kind of each {, and the begin and end of statements.
#include <algorithm>
#include <cstdlib>

#include "simulation/metal/msl/rewriter.h"

namespace halyard::inline v0::sim::msl {

Rewritten Rewriter::run() {
  const std::size_t pragma = source_.find("METAL fp math_mode(safe)");
  result_.safe_math = pragma != source_.npos;
  replace_words();
  wrap_conditionals();
  walk();
  defined_constants();
  take_attributes();
  result_.text = write(tokens_);
  return std::move(result_);
}

void Rewriter::walk() {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const Token& t = tokens_[i];
    if (t.kind != Token::Kind::kPunctuation) continue;
    const char c = t.text[0];
    if (c == '(' || c == '[') {
      ++depth_;
    } else if (c == ')' || c == ']') {
      --depth_;
    } else if (c == '{') {
      open_brace(i);
    } else if (c == '}') {
      close_brace(i);
    } else if (c == ';' && depth_ <= 0) {
      statement(statement_, i);
      statement_ = i + 1;
    } else if (c == ':' && t.text.size() == 1 && depth_ <= 0 && i > 0) {
      const Token& word = tokens_[i - 1];
      if (word.is("public") || word.is("private") || word.is("protected") || word.is("default"))
        statement_ = i + 1;
    }
  }
}

std::string Rewriter::scope_name(std::string_view name) const {
  std::string full;
  for (const Open& open : open_) {
    if ((open.scope == Scope::kNamespace || open.scope == Scope::kStruct) && !open.name.empty())
      full += open.name + "::";
  }
  return full + std::string(name);
}

std::size_t Rewriter::new_mention(std::string name) {
  result_.mentions.push_back({std::move(name), {}, {}});
  return result_.mentions.size() - 1;
}

void Rewriter::note_words(std::size_t mention, std::size_t begin, std::size_t end) {
  std::vector<std::string>& words = result_.mentions[mention].words;
  for (std::size_t i = begin; i < end; ++i) {
    if (tokens_[i].kind == Token::Kind::kWord) words.emplace_back(tokens_[i].text);
  }
  std::ranges::sort(words);
  words.erase(std::ranges::unique(words).begin(), words.end());
}

std::size_t Rewriter::behind_template(std::size_t begin, std::size_t end) const {
  std::size_t i = begin;
  while (i + 1 < end && tokens_[i].is("template") && tokens_[i + 1].is("<")) {
    int depth = 0;
    for (++i; i < end; ++i) {
      if (tokens_[i].is("(")) i = closing(tokens_, i);
      if (tokens_[i].is("<")) ++depth;
      if (tokens_[i].is(">") && --depth == 0) break;
    }
    ++i;
  }
  return i;
}

std::size_t Rewriter::parameters_of(std::size_t begin, std::size_t end) const {
  for (std::size_t i = begin; i < end; ++i) {
    const Token& t = tokens_[i];
    if (t.is("alignas") || t.is("__attribute__") || t.is("decltype")) {
      i = closing(tokens_, i + 1);
    } else if (t.is("[")) {
      i = closing(tokens_, i);
    } else if (t.is("<")) {
      const std::size_t behind = behind_angles(tokens_, i);
      if (behind != i) i = behind - 1;
    } else if (t.is("=")) {
      return end;
    } else if (t.is("operator")) {
      // operator(), operator<, operator T: the parameters are in the last parentheses before the
      // end.
      std::size_t k = i + 1;
      if (tokens_[k].is("(")) k = closing(tokens_, k) + 1;
      while (k < end && !tokens_[k].is("(")) ++k;
      return k;
    } else if (t.is("(")) {
      return i;
    }
  }
  return end;
}

void Rewriter::open_brace(std::size_t i) {
  const bool in_code = !open_.empty() && (open_.back().scope == Scope::kFunction ||
                                          open_.back().scope == Scope::kBlock);
  Open open{in_code ? Scope::kBlock : Scope::kOther, statement_, depth_, i, {}};
  if (!open_.empty()) open.mention = open_.back().mention;
  const std::size_t head = behind_template(statement_, i);
  std::size_t record = i;
  bool is_namespace = false, is_enum = false;
  for (std::size_t k = head; k < i; ++k) {
    const Token& t = tokens_[k];
    if (t.is("namespace") || t.is("extern")) is_namespace = true;
    if (t.is("enum")) is_enum = true;
    if ((t.is("struct") || t.is("class") || t.is("union")) && record == i) record = k;
  }
  const std::size_t parameters = parameters_of(head, i);
  if (depth_ > 0) {
    // An initializer or a lambda within an expression.
  } else if (!in_code && is_namespace) {
    open.scope = Scope::kNamespace;
    if (tokens_[i - 1].kind == Token::Kind::kWord && !tokens_[i - 1].is("namespace"))
      open.name = tokens_[i - 1].text;
    if (tokens_[i - 1].is("namespace") || tokens_[i - 1].kind == Token::Kind::kString)
      open.name = "";
  } else if (is_enum) {
    open.scope = Scope::kOther;
  } else if (record != i && parameters == i) {
    open.scope = Scope::kStruct;
    WrittenStruct s;
    open.is_template = head != statement_;
    for (std::size_t k = record + 1; k < i; ++k) {
      const Token& t = tokens_[k];
      if (t.is("alignas") || t.is("__attribute__")) {
        k = closing(tokens_, k + 1);
      } else if (is_attribute(k)) {
        k = closing(tokens_, k);
      } else if (t.is(":")) {
        s.simple = false;
        break;
      } else if (t.kind == Token::Kind::kWord && !t.is("final")) {
        open.name = t.text;
      }
    }
    s.name = scope_name(open.name);
    s.simple = s.simple && !in_code && !open.is_template && !open.name.empty();
    open.mention = new_mention(open.name);
    open_structs_.push_back(std::move(s));
  } else if (!in_code && parameters != i) {
    open.scope = Scope::kFunction;
    open.name = parameters > head ? std::string(tokens_[parameters - 1].text) : std::string();
    const bool in_struct = !open_.empty() && open_.back().scope == Scope::kStruct;
    if (in_struct) {
      // Of two members that differ only in `constant` and `device`, one is enough: here both are
      // device memory.
      bool device = false, constant = false;
      for (std::size_t k = closing(tokens_, parameters); k < i; ++k) {
        if (tokens_[k].is("device")) device = true;
        if (tokens_[k].is("constant")) constant = true;
      }
      std::string key;
      for (std::size_t k = head; k < closing(tokens_, parameters); ++k) {
        if (!tokens_[k].is("constant") && !tokens_[k].is("device") && !tokens_[k].is("const"))
          (key += tokens_[k].text) += ' ';
      }
      if (device) open_.back().device_members.insert(key);
      if (constant && open_.back().device_members.contains(key))
        blank(statement_, closing(tokens_, i) + 1);
    }
    open.mention = new_mention(open.name);
    if (!in_struct) entry_function(statement_, i);
  }
  open_.push_back(std::move(open));
  depth_ = 0;
  statement_ = i + 1;
}

void Rewriter::close_brace(std::size_t i) {
  if (open_.empty()) {
    statement_ = i + 1;
    depth_ = 0;
    return;
  }
  Open open = std::move(open_.back());
  open_.pop_back();
  depth_ = open.depth;
  if (open.scope == Scope::kFunction) note_words(open.mention, open.statement, i);
  if (open.scope == Scope::kStruct) {
    note_words(open.mention, open.brace, i);
    result_.structs.push_back(std::move(open_structs_.back()));
    open_structs_.pop_back();
  }
  bool goes_on = open.scope == Scope::kStruct || open.scope == Scope::kOther || open.depth > 0;
  if (open.scope == Scope::kBlock && open.depth <= 0 && open.brace > 0) {
    const Token& t = tokens_[open.brace - 1];
    goes_on = t.is("=") || t.is(",") || t.is(">") || t.is("return") ||
              (t.kind == Token::Kind::kWord && !t.is("else") && !t.is("do"));
  }
  statement_ = goes_on ? open.statement : i + 1;
}

void Rewriter::statement(std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  const Scope scope = open_.empty() ? Scope::kNamespace : open_.back().scope;
  if (scope == Scope::kFunction || scope == Scope::kBlock) {
    // Behind labels and the heads of cases.
    if (!threadgroup_variable(begin, end, open_.back().mention)) local_constant(begin, end);
    return;
  }
  if (scope == Scope::kStruct) {
    if (!open_structs_.empty()) member(open_structs_.back(), begin, end);
    return;
  }
  if (scope != Scope::kNamespace) return;
  if (tokens_[begin].is("using") || tokens_[begin].is("typedef")) return;
  if (tokens_[begin].is("template") && !tokens_[begin + 1].is("<")) {
    explicit_instance(begin, end);
    return;
  }
  function_constant(begin, end);
  const std::size_t head = behind_template(begin, end);
  if (parameters_of(head, end) != end) {
    WrittenFunction ignored;
    (void)entry_words(ignored, begin, end);  // a declaration
    return;
  }
  // A variable: its name is before the first of = [ {.
  for (std::size_t i = head; i < end; ++i) {
    if (tokens_[i].is("=") || tokens_[i].is("[") || tokens_[i].is("{") || i + 1 == end) {
      const std::size_t name = tokens_[i].kind == Token::Kind::kWord ? i : i - 1;
      if (name < begin) return;
      note_words(new_mention(std::string(tokens_[name].text)), begin, end);
      return;
    }
  }
}

// Records the members with their [[id(n)]], except functions and static members.
void Rewriter::member(WrittenStruct& s, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const Token& t = tokens_[i];
    if (t.is("static") || t.is("typedef") || t.is("using") || t.is("template") || t.is("friend") ||
        t.is("enum"))
      return;
  }
  if (parameters_of(begin, end) != end && !tokens_[begin].is("union")) return;
  std::size_t part = begin;
  int depth = 0;
  for (std::size_t i = begin; i <= end; ++i) {
    const Token& t = tokens_[i];
    if (t.is("<")) {
      const std::size_t behind = behind_angles(tokens_, i);
      if (behind != i) {
        i = behind - 1;
        continue;
      }
    }
    if (t.is("(") || t.is("{")) {
      i = closing(tokens_, i);
      continue;
    }
    if ((!t.is(",") && !t.is(";") && i != end) || depth != 0) continue;
    WrittenMember m;
    for (std::size_t k = part; k < i; ++k) {
      if (is_attribute(k)) {
        if (tokens_[k + 2].is("id"))
          m.id = static_cast<std::int32_t>(
              std::strtol(std::string(tokens_[k + 4].text).c_str(), nullptr, 0));
        k = closing(tokens_, k);
      } else if (tokens_[k].is("[")) {
        k = closing(tokens_, k);
      } else if (tokens_[k].is("<")) {
        const std::size_t behind = behind_angles(tokens_, k);
        if (behind != k) k = behind - 1;
      } else if (tokens_[k].is("=") || tokens_[k].is(":")) {
        if (tokens_[k].is(":")) s.simple = false;  // bits have no offset
        break;
      } else if (tokens_[k].kind == Token::Kind::kWord && !tokens_[k].is("__attribute__")) {
        m.name = tokens_[k].out;
      }
    }
    if (!m.name.empty()) s.members.push_back(std::move(m));
    part = i + 1;
  }
}

}  // namespace halyard::inline v0::sim::msl
