// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/cuda/ptx/lexer.h"

#include <algorithm>
#include <array>

#include "simulation/cuda/ptx/syntax.h"

namespace halyard::inline v0::sim::ptx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$'; }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::size_t word_end(std::string_view text, std::size_t at) {
  while (at < text.size() && is_word(text[at])) ++at;
  return at;
}

// Includes signs of exponents: 1.5e-3.
std::size_t number_end(std::string_view text) {
  const bool is_decimal =
      text.size() < 2 || text[0] != '0' || is_digit(text[1]) || text[1] == '.' || text[1] == 'e';
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    const bool is_exponent_sign = is_decimal && (c == '-' || c == '+') && at > 0 &&
                                  (text[at - 1] == 'e' || text[at - 1] == 'E');
    if (!is_digit(c) && !is_letter(c) && !(is_decimal && c == '.') && !is_exponent_sign) break;
    ++at;
  }
  return at;
}

}  // namespace

void Lexer::drop(std::size_t count) {
  line_ += static_cast<std::uint32_t>(
      std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(count), '\n'));
  rest_.remove_prefix(count);
}

void Lexer::skip_line() {
  const std::size_t at = rest_.find('\n');
  drop(at == rest_.npos ? rest_.size() : at + 1);
}

void Lexer::skip_blank() {
  for (;;) {
    std::size_t at = 0;
    while (at < rest_.size() && is_blank(rest_[at])) ++at;
    drop(at);
    if (rest_.starts_with("//")) {
      skip_line();
    } else if (rest_.starts_with("/*")) {
      const std::size_t end = rest_.find("*/", 2);
      if (end == rest_.npos) throw SyntaxError{line_, "Unterminated comment"};
      drop(end + 2);
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  skip_blank();
  Token token;
  token.line = line_;
  if (rest_.empty() || rest_[0] == '\0') return token;
  const char first = rest_[0];
  const char second = rest_.size() > 1 ? rest_[1] : '\0';
  std::size_t size = 1;
  if (is_digit(first)) {
    token.kind = Token::Kind::kNumber;
    size = number_end(rest_);
  } else if (is_letter(first) || first == '_' || first == '$' ||
             (first == '%' && (is_letter(second) || second == '_' || second == '$'))) {
    token.kind = Token::Kind::kWord;
    size = word_end(rest_, 1);
  } else if (first == '.' && is_word(second)) {
    token.kind = Token::Kind::kDotWord;
    size = word_end(rest_, 1);
    while (rest_.substr(size).starts_with("::")) size = word_end(rest_, size + 2);
  } else if (first == '"') {
    const std::size_t end = rest_.find('"', 1);
    if (end == rest_.npos) throw SyntaxError{line_, "Unterminated string"};
    token.kind = Token::Kind::kString;
    token.text = rest_.substr(1, end - 1);
    drop(end + 1);
    return token;
  } else {
    constexpr std::array<std::string_view, 8> kPairs = {
        "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    token.kind = Token::Kind::kPunctuation;
    if (std::ranges::find(kPairs, rest_.substr(0, 2)) != kPairs.end()) size = 2;
  }
  token.text = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return token;
}

}  // namespace halyard::inline v0::sim::ptx
