// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/msl/tokens.h"

namespace halyard::inline v0::sim::msl {
namespace {

bool starts_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 128;
}
bool digit(char c) noexcept { return c >= '0' && c <= '9'; }

}  // namespace

std::vector<Token> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  bool line_start = true;
  while (true) {
    const std::size_t begin = at;
    while (at < text.size()) {
      const char c = text[at];
      if (c == '\n') {
        line_start = true;
        ++at;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++at;
      } else if (c == '#' && line_start) {
        while (at < text.size() && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
      } else if (text.substr(at, 2) == "//") {
        while (at < text.size() && text[at] != '\n') ++at;
      } else if (text.substr(at, 2) == "/*") {
        at = text.find("*/", at + 2);
        at = at == text.npos ? text.size() : at + 2;
      } else {
        break;
      }
    }
    if (at > text.size()) at = text.size();
    Token token;
    token.space = text.substr(begin, at - begin);
    const std::size_t first = at;
    line_start = false;
    if (at == text.size()) {
      tokens.push_back(std::move(token));
      return tokens;
    }
    const char c = text[at];
    if (starts_word(c)) {
      token.kind = Token::Kind::kWord;
      while (at < text.size() && (starts_word(text[at]) || digit(text[at]))) ++at;
    } else if (digit(c) || (c == '.' && at + 1 < text.size() && digit(text[at + 1]))) {
      token.kind = Token::Kind::kNumber;
      while (at < text.size() && (starts_word(text[at]) || digit(text[at]) || text[at] == '.' ||
                                  ((text[at] == '+' || text[at] == '-') &&
                                   (text[at - 1] == 'e' || text[at - 1] == 'E' ||
                                    text[at - 1] == 'p' || text[at - 1] == 'P') &&
                                   (text.substr(first, 2) == "0x" || text.substr(first, 2) == "0X"
                                        ? text[at - 1] == 'p' || text[at - 1] == 'P'
                                        : true)))) {
        ++at;
      }
    } else if (c == '"' || c == '\'') {
      token.kind = Token::Kind::kString;
      ++at;
      while (at < text.size() && text[at] != c && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
      at = at + 1 < text.size() ? at + 1 : text.size();
    } else {
      token.kind = Token::Kind::kPunctuation;
      at += text.substr(at, 2) == "::" ? 2 : 1;
    }
    token.text = text.substr(first, at - first);
    token.out = token.text;
    tokens.push_back(std::move(token));
  }
}

std::string write(const std::vector<Token>& tokens) {
  std::string text;
  for (const Token& token : tokens) {
    text += token.space;
    text += token.before;
    text += token.out;
    text += token.after;
  }
  return text;
}

std::size_t closing(const std::vector<Token>& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i].kind != Token::Kind::kPunctuation) continue;
    const char c = tokens[i].text[0];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) return i;
  }
  return tokens.size() - 1;
}

std::size_t behind_angles(const std::vector<Token>& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.is("<")) {
      ++depth;
    } else if (t.is(">")) {
      if (--depth == 0) return i + 1;
    } else if (t.is("(")) {
      i = closing(tokens, i);
    } else if (t.is(";") || t.is("{") || t.is("}") || t.is(")") || t.is("]") || t.is("?") ||
               t.kind == Token::Kind::kEnd) {
      return open;
    } else if ((t.is("&") && tokens[i + 1].is("&")) || (t.is("|") && tokens[i + 1].is("|"))) {
      return open;
    }
  }
  return open;
}

}  // namespace halyard::inline v0::sim::msl
